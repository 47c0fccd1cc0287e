"""The pictures of `python -m penstock_evaluation abt`. Means, and the 95 % confidence intervals of these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from penstock._bench.patterns import size_text

from .background_plots import WIDTH, about_run, make_panels, place_of, put_legend
from .background_report import PROGRAMS, program_title, rank_sizes
from .confidence import interval
from .plots import BEFORE_LINES, MARKERS, WHISKERS, save
from .report import Record, distinct

WAYS = {"memcpy": "plain memory copy", "unbuffered": "unbuffered", "half": "room for half the data",
        "twice": "room for twice the data"}
COLORS = {"memcpy": "black", "unbuffered": "C7", "half": "C9", "twice": "C0"}
INTERVALS = "bars: means and their 95 % confidence intervals"


def abt(records: list[Record], folder: Path) -> list[Path]:
    pictures = []
    draw: dict[str, Callable[[list[Record], Path], Path]] = {"pretest": _pretest, "throughput": _throughput, "servers": _servers}
    for name, picture in draw.items():
        chosen = [r for r in records if r["experiment"] == name]
        if chosen:
            pictures.append(picture(chosen, folder / f"abt-{name}.png"))
    for name in PROGRAMS:
        for n in distinct((r for r in records if r["experiment"] == name), "ranks"):
            chosen = [r for r in records if r["experiment"] == name and r["ranks"] == n]
            pictures.append(_program(chosen, folder / f"abt-{name}-{n}ranks.png"))
    return pictures


def intervals(values: Sequence[Sequence[float]]) -> tuple[list[float], list[float]]:
    """Means, and how far their intervals reach; 0 where there is one value only."""
    found = [interval(v) for v in values]
    return [mean for mean, _ in found], [half or 0.0 for _, half in found]


def _grid(records: list[Record], key: str, title: str, axis: str, draw: Callable[[Any, list[Record]], None]) -> Any:
    """A row for each of `key`, a column for each device."""
    rows, devices = distinct(records, key), distinct(records, "device")
    figure, panels = make_panels(len(rows), len(devices), 4.4, 3.2)
    for row, name in zip(panels, rows):
        for panel, device in zip(row, devices):
            chosen = [r for r in records if r[key] == name and r["device"] == device]
            if chosen:
                draw(panel, chosen)
            panel.set_title(f"{f'{name} ranks' if key == 'ranks' else name}\n{device}", fontsize=9)
        row[0].set_ylabel(axis)
    put_legend(figure, panels)
    figure.suptitle(f"{title}\n{about_run(records[0])}", fontsize=11)
    return figure


def _throughput(records: list[Record], path: Path) -> Path:
    """Apparent throughput beside memcpy (Ma and others, Figures 2 and 4)."""
    title = (f"Writes with time to think between them, {rank_sizes(records)} a rank\n{INTERVALS}; figures: of a memory copy's throughput (medians)")
    return save(_grid(records, "pattern", title, "apparent throughput, GB/s", _throughput_panel), path)


def _throughput_panel(panel: Any, records: list[Record]) -> None:
    counts = distinct(records, "ranks")
    for bar, (method, text) in enumerate(WAYS.items()):
        of_method = {r["ranks"]: r for r in records if r["method"] == method}
        places = [place_of(group, bar, len(WAYS)) for group, n in enumerate(counts) if n in of_method]
        found = [of_method[n] for n in counts if n in of_method]
        middle, around = intervals([[r["bytes"] / seconds / 1e9 for seconds in r["times"]] for r in found])
        drawn = panel.bar(places, middle, WIDTH / len(WAYS) * 0.92, color=COLORS[method], label=text, yerr=around,
                          error_kw=WHISKERS)
        if method != "memcpy":
            panel.bar_label(drawn, [f"{r['of_memcpy']:.2f}" for r in found], fontsize=7, padding=2, **BEFORE_LINES)
    panel.set_xticks(range(len(counts)), [f"{n} ranks" for n in counts])
    panel.margins(y=0.12)
    panel.set_ylim(bottom=0)


def _pretest(records: list[Record], path: Path) -> Path:
    """Writes concurrent with computation and broadcasts, by request size (Ma and others, section 3.1)."""
    title = (f"A thread that writes {rank_sizes(records)} a rank, in parallel with other work\n{INTERVALS}")
    found = [r for r in records if r["method"] == "parallel"]
    return save(_grid(found, "ranks", title, "of the time in series; slower by", _pretest_panel), path)


def _pretest_panel(panel: Any, records: list[Record]) -> None:
    names = distinct(records, "foreground")
    curves = [(name, key) for name in names for key in ("of_serial_pairs", "slowdowns")]
    words = {"of_serial_pairs": "total, of that in series", "slowdowns": "how much slower it is"}
    for i, (name, key) in enumerate(curves):
        found = sorted((r for r in records if r["foreground"] == name), key=lambda r: r["request"])
        middle, around = intervals([r[key] for r in found])
        panel.errorbar([r["request"] * 1.03 ** (i - 1.5) for r in found], middle, yerr=around, color=f"C{names.index(name)}", marker=MARKERS[i],
                       linestyle="-" if key == "of_serial_pairs" else ":", elinewidth=1, capsize=2, label=f"{name}: {words[key]}")
    sizes = sorted(distinct(records, "request"))
    panel.set_xscale("log")
    panel.set_xticks(sizes, [size_text(n) for n in sizes])
    panel.minorticks_off()
    # With few repetitions the intervals would leave no room for the rest.
    panel.set_ylim(max(panel.get_ylim()[0], -1), min(panel.get_ylim()[1], 3))
    panel.axhline(1, color="0.4", linewidth=0.8)
    panel.axhline(0, color="0.4", linewidth=0.8)


def _servers(records: list[Record], path: Path) -> Path:
    """The total time of a write to servers of varying speed: in rounds that all ranks wait for, and from a buffer."""
    title = f"A write of {rank_sizes(records)} a rank to servers that vary in speed, until it is in the file\n{INTERVALS}"
    return save(_grid(records, "ranks", title, "write and close, ms", _servers_panel), path)


def _servers_panel(panel: Any, records: list[Record]) -> None:
    variances, methods = distinct(records, "variance"), distinct(records, "method")
    for bar, method in enumerate(methods):
        found = [next(r for r in records if (r["variance"], r["method"]) == (v, method)) for v in variances]
        middle, around = intervals([[1e3 * seconds for seconds in r["times"]] for r in found])
        drawn = panel.bar([place_of(group, bar, len(methods)) for group in range(len(variances))], middle, WIDTH / len(methods) * 0.92,
                          yerr=around, error_kw=WHISKERS, color=COLORS[method], label=WAYS[method])
        panel.bar_label(drawn, [f"{r['of_unbuffered']:.2f}" for r in found], fontsize=8, padding=2, **BEFORE_LINES)
    panel.set_xticks(range(len(variances)), [f"variance {v:g}" for v in variances])
    panel.margins(y=0.14)


def _program(records: list[Record], path: Path) -> Path:
    """Computation and visible I/O over the number of snapshots (Ma and others, Figure 3): a panel a device."""
    devices, first = distinct(records, "device"), records[0]
    figure, panels = make_panels(1, len(devices), 4.8, 4.0)
    for panel, device in zip(panels[0], devices):
        _program_panel(panel, [r for r in records if r["device"] == device])
        panel.set(xlabel="snapshots")
        panel.set_title(device, fontsize=9)
    panels[0][0].set_ylabel("total time, s")
    put_legend(figure, panels)
    figure.suptitle(f"{program_title(first)}, {first['ranks']} ranks, {about_run(first)}\n"
                    f"pale: computation; above it: visible I/O; {INTERVALS}", fontsize=11)
    return save(figure, path)


def _program_panel(panel: Any, records: list[Record]) -> None:
    taken = [r for r in records if r["snapshots"]]
    counts, methods = distinct(taken, "snapshots"), [m for m in WAYS if m in distinct(taken, "method")]
    for bar, method in enumerate(methods):
        found = [r for r in taken if r["method"] == method]
        at = [place_of(counts.index(r["snapshots"]), bar, len(methods)) for r in found]
        totals, around = intervals([r["times"] for r in found])
        parts = [min(r["computation"], total) for r, total in zip(found, totals)]
        style: dict[str, Any] = {"width": WIDTH / len(methods) * 0.92, "color": COLORS[method]}
        panel.bar(at, parts, alpha=0.35, **style)
        panel.bar(at, [total - part for total, part in zip(totals, parts)], bottom=parts, label=WAYS[method], yerr=around,
                  error_kw=WHISKERS, **style)
    for r in records:
        if not r["snapshots"]:
            panel.axhline(interval(r["times"])[0], color="black", linestyle="--", linewidth=1, label="no snapshots")
    panel.set_xticks(range(len(counts)), [str(n) for n in counts])
    panel.margins(y=0.06)
    panel.set_ylim(bottom=0)
