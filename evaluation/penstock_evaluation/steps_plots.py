"""The pictures of `python -m penstock_evaluation steps`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from penstock._bench.patterns import size_text
from penstock._bench.phases import PARTS, REST, share
from penstock._bench.ratios import Record, paired, quartiles

from .plots import BEFORE_LINES, MARKERS, ROD, WHISKERS, about, plt, save, whiskers
from .report import distinct

SET_UPS = {"default": "Penstock's set-up", "paper": "the paper's: each rank its whole share"}
# The exchanges that Dickens and Thakur show (their Figure 2), and their replacements here.
SHOWN = ("direct", "step1", "step2", "step5", "node")
WORDS = {"exchange": "plan and exchange", "copy": "copy", "storage": "storage", "wait": "wait for ranks", REST: "rest"}
COLORS = {"exchange": "C0", "copy": "C2", "storage": "C3", "wait": "0.65", REST: "0.88"}


def steps(records: list[Record], folder: Path) -> list[Path]:
    """MB/s over ranks (Dickens and Thakur, Figure 2), over sizes (Figure 3), phases, and staggered writes."""
    pictures = []
    exchanges = [r for r in records if r["experiment"] == "exchange"]
    for pattern in distinct(exchanges, "pattern"):
        of_pattern = [r for r in exchanges if r["pattern"] == pattern]
        ranks, sizes = distinct(of_pattern, "ranks"), distinct(of_pattern, "size")
        for size in sizes:
            chosen, name = [r for r in of_pattern if r["size"] == size], size_text(size).replace(" ", "")
            title = f"{pattern}, {size_text(size)}"
            if len(ranks) > 1 or len(sizes) == 1:
                pictures.append(_speeds(chosen, "ranks", title, folder / f"steps-{pattern}-ranks-{name}.png"))
            pictures += _phases(chosen, title, folder / f"steps-{pattern}-phases-{name}.png")
        for n in ranks if len(sizes) > 1 else []:
            chosen = [r for r in of_pattern if r["ranks"] == n]
            pictures.append(_speeds(chosen, "size", f"{pattern}, {n} ranks", folder / f"steps-{pattern}-sizes-{n}ranks.png"))
    staggered = [r for r in records if r["experiment"] == "staggered"]
    return pictures + ([_staggered(staggered, folder / "steps-staggered.png")] if staggered else [])


def _of_set_up(records: Sequence[Record], set_up: str) -> list[Record]:
    """Including those without a set-up: the baseline, and writes without exchange."""
    return [r for r in records if r.get("set_up", "any") in (set_up, "any")]


def _set_ups(records: Sequence[Record]) -> list[str]:
    named = {r.get("set_up") for r in records}
    return [name for name in SET_UPS if name in named] or ["default"]


def _columns(records: Sequence[Record]) -> list[tuple[str, str]]:
    return [(operation, set_up) for operation in distinct(records, "operation") for set_up in _set_ups(records)]


def _speeds(records: list[Record], key: str, title: str, path: Path) -> Path:
    """MB/s over `key`, a line a method; bars where `key` has one value. With quartiles.

    A row of panels for each device, a column for each operation and set-up.
    """
    devices, columns, many = distinct(records, "device"), _columns(records), len(distinct(records, key)) > 1
    figure, panels = plt.subplots(len(devices), len(columns), figsize=(4.3 * len(columns) + 1.6, 4.0 * len(devices) + 0.8),
                                  squeeze=False, layout="constrained")
    for row, device in zip(panels, devices):
        for panel, (operation, set_up) in zip(row, columns):
            chosen = [r for r in records if (r["device"], r["operation"]) == (device, operation)]
            panel.set_title(f"{operation}, {SET_UPS[set_up]}\n{device}", fontsize=9)
            panel.grid(alpha=0.3, axis="both" if many else "y")
            panel.set_axisbelow(True)
            (_draw_lines if many else _draw_bars)(panel, _of_set_up(chosen, set_up), key)
            panel.set_ylim(0, None)
        row[0].set_ylabel("MB/s")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", frameon=False)
    figure.suptitle(f"{title}, median and quartiles\n{_machine(records)}", fontsize=11)
    return save(figure, path)


def _machine(records: list[Record]) -> str:
    return f"{records[0]['mpi']}, {records[0]['cores']} cores" if len(distinct(records, "device")) > 1 else about(records)


def _of_times(r: Record) -> list[float]:
    """MB/s of each repetition."""
    return [r["bytes"] / seconds / 1e6 for seconds in r["times"]]


def _name(r: Record) -> str:
    return str(r.get("step", r["method"]))


def _draw_lines(panel: Any, records: list[Record], key: str) -> None:
    names = list(dict.fromkeys(map(_name, records)))
    others = [name for name in names if name != "rod"]
    for name in names:
        found = sorted((r for r in records if _name(r) == name), key=lambda r: r[key])
        middle, around = whiskers([_of_times(r) for r in found])
        i = 0 if name == "rod" else others.index(name)
        style = ROD if name == "rod" else {"color": f"C{i}", "marker": MARKERS[i % len(MARKERS)], "label": name}
        # Whiskers of methods stand beside each other.
        at = [r[key] * 1.02 ** (i - (len(names) - 1) / 2) for r in found]
        panel.errorbar(at, middle, yerr=around, markersize=5, elinewidth=1, capsize=2, **style)
    panel.set(xscale="log", xlabel="ranks" if key == "ranks" else "bytes of all ranks")
    panel.xaxis.set_major_locator(FixedLocator(distinct(records, key)))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.xaxis.set_major_formatter(FuncFormatter(lambda x, _: size_text(round(x)) if key == "size" else f"{x:.0f}"))


def _draw_bars(panel: Any, records: list[Record], key: str) -> None:
    speeds = {_name(r): _of_times(r) for r in records}
    if "rod" in speeds:
        (rod,), ((below,), (above,)) = whiskers([speeds.pop("rod")])
        panel.axhline(rod, **ROD)
        panel.axhspan(rod - below, rod + above, color="black", alpha=0.08, linewidth=0)
    middle, around = whiskers(list(speeds.values()))
    drawn = panel.bar(list(speeds), middle, yerr=around, error_kw=WHISKERS, color=[f"C{i}" for i in range(len(speeds))])
    panel.bar_label(drawn, [f"{speed:.0f}" for speed in middle], fontsize=8, padding=2, **BEFORE_LINES)
    panel.tick_params(axis="x", labelrotation=40)


def _phases(records: list[Record], title: str, path: Path) -> list[Path]:
    """Phases of a write: rows are devices, columns set-ups, stacks rank counts and steps."""
    chosen = [r for r in records if r["operation"] == "write" and r.get("step") in SHOWN]
    if not chosen:
        return []
    devices, set_ups, stacks = distinct(chosen, "device"), _set_ups(chosen), distinct(chosen, "step")
    wide = 0.34 * len(stacks) * len(distinct(chosen, "ranks")) + 1.6
    figure, panels = plt.subplots(len(devices), len(set_ups), figsize=(max(wide * len(set_ups), 7.0), 2.9 * len(devices) + 1.3),
                                  squeeze=False, sharey=True, layout="constrained")
    for row, device in zip(panels, devices):
        for panel, set_up in zip(row, set_ups):
            _stacks(panel, _of_set_up([r for r in chosen if r["device"] == device], set_up))
            panel.set_title(f"{SET_UPS[set_up]}\n{device}", fontsize=9)
        row[0].set_ylabel("part of the time, %")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
    figure.suptitle(f"Where a write's time goes: {title}, means of the ranks\n{_machine(chosen)}", fontsize=11)
    return [save(figure, path)]


def _stacks(panel: Any, records: list[Record]) -> None:
    places: list[float] = []
    for group, n in enumerate(distinct(records, "ranks")):
        of_group = [r for r in records if r["ranks"] == n]
        begin = len(places) + 0.7 * group
        for place, r in enumerate(of_group):
            places.append(begin + place)
            bottom = 0.0
            for part in (*PARTS, REST):
                height = 100 * share(r, part)
                panel.bar(places[-1], height, bottom=bottom, width=0.85, color=COLORS[part],
                          label=WORDS[part] if len(places) == 1 else None)
                bottom += height
        panel.text(begin + (len(of_group) - 1) / 2, 102, f"{n} ranks", ha="center", fontsize=8)
    names = [_name(r) for n in distinct(records, "ranks") for r in records if r["ranks"] == n]
    panel.set_xticks(places, names, rotation=60, fontsize=7)
    panel.set_ylim(0, 112)
    panel.set_yticks(range(0, 101, 20))


def _staggered(records: list[Record], path: Path) -> Path:
    """MB/s of writes that begin together or staggered: rows are devices, columns sizes."""
    devices, sizes = distinct(records, "device"), distinct(records, "size")
    figure, panels = plt.subplots(len(devices), len(sizes), figsize=(max(4.6 * len(sizes) + 1.4, 7.0), 3.0 * len(devices) + 1.2),
                                  squeeze=False, layout="constrained")
    for row, device in zip(panels, devices):
        for panel, size in zip(row, sizes):
            _stagger_panel(panel, [r for r in records if (r["device"], r["size"]) == (device, size)])
            panel.set_title(f"{size_text(size)}\n{device}", fontsize=9)
        row[0].set_ylabel("MB/s")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
    figure.suptitle(f"Every rank writes one piece of the file; figures: times `at once`, medians of pairs\n{_machine(records)}", fontsize=11)
    return save(figure, path)


def _stagger_panel(panel: Any, records: list[Record]) -> None:
    counts = distinct(records, "ranks")
    methods = [name for name in distinct(records, "method") if name != "rod"]
    for i, method in enumerate(methods):
        found = [next(r for r in records if (r["ranks"], r["method"]) == (n, method)) for n in counts]
        alone = [next(r for r in records if (r["ranks"], r["method"]) == (n, "at once")) for n in counts]
        middle, around = whiskers([_of_times(r) for r in found])
        drawn = panel.bar([g + (i - (len(methods) - 1) / 2) * 0.8 / len(methods) for g in range(len(counts))], middle, yerr=around,
                          width=0.74 / len(methods), color=f"C{i}", label=method, error_kw=WHISKERS)
        panel.bar_label(drawn, [f"{quartiles(paired(r['times'], a['times']))[1]:.2f}" for a, r in zip(alone, found)], fontsize=7, padding=2,
                        **BEFORE_LINES)
    panel.set_xticks(range(len(counts)), [f"{n} ranks" for n in counts])
    panel.grid(axis="y", alpha=0.3)
    panel.set_axisbelow(True)
    panel.margins(y=0.14)
