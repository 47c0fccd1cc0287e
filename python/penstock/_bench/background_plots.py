"""The pictures of `penstock bench split` and `abt`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from .background_report import experiment, rank_sizes
from .plots import BEFORE_LINES, WHISKERS, plt, save, whiskers
from .report import MODES, Record, distinct

WAYS = {"memcpy": "plain memory copy", "unbuffered": "unbuffered", "half": "room for half the data",
        "twice": "room for twice the data"}
COLORS = {"none": "C7", "storage": "C0", "all": "C1", "memcpy": "black", "unbuffered": "C7", "half": "C9", "twice": "C0"}
HATCHES = {"auto": "", "other": "..", "batch": "xx", "nice": "\\\\\\\\", "idle": "////"}  # of priorities
WIDTH = 0.8  # of a group of bars


def _about(r: Record) -> str:
    return f"{r['mpi']}, {r['cores']} cores"


def _panels(rows: int, columns: int, width: float, height: float) -> tuple[Any, Any]:
    figure, panels = plt.subplots(rows, columns, figsize=(max(width * columns + 1.0, 9.0), height * rows + 1.2), squeeze=False,
                                  layout="constrained")
    for panel in panels.flat:
        panel.grid(axis="y", alpha=0.3)
        panel.set_axisbelow(True)
    return figure, panels


def _legend(figure: Any, panels: Any) -> None:
    entries: dict[str, Any] = {}
    for panel in panels.flat:
        for handle, text in zip(*panel.get_legend_handles_labels()):
            entries.setdefault(text, handle)
    figure.legend(entries.values(), entries, loc="outside lower center", ncols=3 if any(len(text) > 30 for text in entries) else min(len(entries), 5),
                  frameon=False)


def _at(group: int, bar: int, bars: int) -> float:
    return group + (bar + 0.5) * WIDTH / bars - WIDTH / 2


def split(records: list[Record], folder: Path) -> list[Path]:
    """Time of one round of I/O and foreground, and how far the foreground was slowed down."""
    pictures = []
    for operation in distinct(records, "operation"):
        chosen = [r for r in records if r["operation"] == operation]
        title = f"Split {operation}s beside computation and communication: medians and quartiles; figures: times `none`"
        pictures.append(_split_picture(chosen, title, "time of a round, ms", _split_panel, folder / f"split-{operation}.png"))
        title = f"How much longer the foreground takes while a {operation} is under way, as against alone: medians"
        pictures.append(_split_picture(chosen, title, "slower by, %", _slowdown_panel, folder / f"split-{operation}-slowdown.png"))
    return pictures


def _split_picture(records: list[Record], title: str, axis: str, draw: Callable[[Any, list[Record]], None], path: Path) -> Path:
    """A row a device, a column an experiment."""
    devices, experiments = distinct(records, "device"), distinct(records, "experiment")
    figure, panels = _panels(len(devices), len(experiments), 4.6, 3.0)
    for row, device in zip(panels, devices):
        for panel, name in zip(row, experiments):
            chosen = [r for r in records if r["device"] == device and r["experiment"] == name]
            if chosen:
                draw(panel, chosen)
                panel.set_title(f"{experiment(chosen[0])}\n{device}", fontsize=9)
        row[0].set_ylabel(axis)
    for panel in panels[-1]:
        panel.set_xlabel("ranks")
    _legend(figure, panels)
    figure.suptitle(f"{title}\n{_about(records[0])}", fontsize=11)
    return save(figure, path)


def _methods(records: list[Record]) -> list[Record]:
    """One record of each mode and priority, modes in their order."""
    found = {r["method"]: r for r in records if "mode" in r}
    return sorted(found.values(), key=lambda r: (list(MODES).index(r["mode"]), list(HATCHES).index(r["priority"])))


def _look(r: Record) -> dict[str, Any]:
    label = MODES[r["mode"]] + ("" if r["priority"] == "auto" else f"; its thread: {r['priority']}")
    return {"color": COLORS[r["mode"]], "hatch": HATCHES[r["priority"]], "edgecolor": "white", "linewidth": 0, "label": label}


def _split_panel(panel: Any, records: list[Record]) -> None:
    counts, methods = distinct(records, "ranks"), _methods(records)
    for group, n in enumerate(counts):
        of_count = {r["method"]: r for r in records if r["ranks"] == n}
        for bar, kind in enumerate(methods):
            place, r = _at(group, bar, len(methods)), of_count.get(kind["method"])
            if r is not None and "seconds" in r:
                middle, around = whiskers([[1e3 * seconds for seconds in r["times"]]])
                drawn = panel.bar(place, middle, WIDTH / len(methods) * 0.92, yerr=around, error_kw=WHISKERS, **_look(r))
                panel.bar_label(drawn, [f"{r['of_none']:.2f}"], fontsize=7, padding=2, **BEFORE_LINES)
            elif r is not None:
                panel.text(place, 0, f" {r['unavailable']}", rotation=90, ha="center", va="bottom", fontsize=7)
        ends = (group - WIDTH / 2, group + WIDTH / 2)
        if "io" in of_count:
            panel.hlines(1e3 * of_count["io"]["io"], *ends, color="black", linestyle=":", label="I/O alone")
            panel.hlines(1e3 * of_count["io"]["alone"], *ends, color="black", linestyle="--",
                         label="computation or communication alone")
    panel.set_xticks(range(len(counts)), [str(n) for n in counts])
    panel.margins(y=0.12)


def _slowdown_panel(panel: Any, records: list[Record]) -> None:
    """Below zero the machine was slower while the foreground ran alone."""
    counts, methods = distinct(records, "ranks"), _methods(records)
    for bar, kind in enumerate(methods):
        found = {r["ranks"]: r for r in records if r["method"] == kind["method"] and "slowdown" in r}
        at = [_at(group, bar, len(methods)) for group, n in enumerate(counts) if n in found]
        heights = [100 * found[n]["slowdown"] for n in counts if n in found]
        drawn = panel.bar(at, heights, WIDTH / len(methods) * 0.92, **_look(kind))
        panel.bar_label(drawn, [f"{height:.0f}" for height in heights], fontsize=7, padding=2)
    panel.axhline(0, color="black", linewidth=0.8)
    panel.set_xticks(range(len(counts)), [str(n) for n in counts])
    panel.margins(y=0.14)


def abt(records: list[Record], folder: Path) -> list[Path]:
    pictures = []
    throughput = [r for r in records if r["experiment"] == "throughput"]
    if throughput:
        pictures.append(_throughput(throughput, folder / "abt-throughput.png"))
    for n in distinct((r for r in records if r["experiment"] == "jacobi"), "ranks"):
        chosen = [r for r in records if r["experiment"] == "jacobi" and r["ranks"] == n]
        pictures.append(_jacobi(chosen, folder / f"abt-jacobi-{n}ranks.png"))
    return pictures


def _throughput(records: list[Record], path: Path) -> Path:
    """Apparent throughput beside memcpy (Ma and others, Figure 2): a row a distribution, a column a device."""
    patterns, devices = distinct(records, "pattern"), distinct(records, "device")
    figure, panels = _panels(len(patterns), len(devices), 4.4, 3.2)
    for row, pattern in zip(panels, patterns):
        for panel, device in zip(row, devices):
            chosen = [r for r in records if r["pattern"] == pattern and r["device"] == device]
            _throughput_panel(panel, chosen)
            panel.set_title(f"{pattern}\n{device}", fontsize=9)
        row[0].set_ylabel("apparent throughput, GB/s")
    for panel in panels[-1]:
        panel.set_xlabel("ranks")
    _legend(figure, panels)
    figure.suptitle(f"Writes with time to think between them, {rank_sizes(records)} a rank; figures: of a memory copy's "
                    f"throughput\n{_about(records[0])}", fontsize=11)
    return save(figure, path)


def _throughput_panel(panel: Any, records: list[Record]) -> None:
    counts = distinct(records, "ranks")
    for bar, (method, text) in enumerate(WAYS.items()):
        of_method = {r["ranks"]: r for r in records if r["method"] == method}
        places = [_at(group, bar, len(WAYS)) for group, n in enumerate(counts) if n in of_method]
        found = [of_method[n] for n in counts if n in of_method]
        middle, around = whiskers([[r["bytes"] / seconds / 1e9 for seconds in r["times"]] for r in found])
        drawn = panel.bar(places, middle, WIDTH / len(WAYS) * 0.92, color=COLORS[method], label=text, yerr=around,
                          error_kw=WHISKERS)
        if method != "memcpy":
            panel.bar_label(drawn, [f"{r['of_memcpy']:.2f}" for r in found], fontsize=7, padding=2, **BEFORE_LINES)
    panel.set_xticks(range(len(counts)), [str(n) for n in counts])
    panel.margins(y=0.12)


def _jacobi(records: list[Record], path: Path) -> Path:
    """Computation and visible I/O over the number of snapshots (Ma and others, Figure 3): a panel a device."""
    devices, first = distinct(records, "device"), records[0]
    figure, panels = _panels(1, len(devices), 4.8, 4.0)
    for panel, device in zip(panels[0], devices):
        _jacobi_panel(panel, [r for r in records if r["device"] == device])
        panel.set(xlabel="snapshots")
        panel.set_title(device, fontsize=9)
    panels[0][0].set_ylabel("total time, s")
    _legend(figure, panels)
    figure.suptitle(f"Jacobi, {first['grid']} x {first['grid']} doubles, {first['iterations']} iterations, "
                    f"{first['ranks']} ranks ({first['pattern']}), {_about(first)}\n"
                    "pale: computation; above it: visible I/O", fontsize=11)
    return save(figure, path)


def _jacobi_panel(panel: Any, records: list[Record]) -> None:
    taken = [r for r in records if r["snapshots"]]
    counts, methods = distinct(taken, "snapshots"), [m for m in WAYS if m in distinct(taken, "method")]
    for bar, method in enumerate(methods):
        found = [r for r in taken if r["method"] == method]
        at = [_at(counts.index(r["snapshots"]), bar, len(methods)) for r in found]
        parts = [r["computation"] for r in found]
        style: dict[str, Any] = {"width": WIDTH / len(methods) * 0.92, "color": COLORS[method]}
        panel.bar(at, parts, alpha=0.35, **style)
        _, around = whiskers([r["times"] for r in found])  # of the total, where there are repetitions
        panel.bar(at, [r["visible"] for r in found], bottom=parts, label=WAYS[method], yerr=around, error_kw=WHISKERS,
                  **style)
    for r in records:
        if not r["snapshots"]:
            panel.axhline(r["seconds"], color="black", linestyle="--", linewidth=1, label="no snapshots")
    panel.set_xticks(range(len(counts)), [str(n) for n in counts])
    panel.margins(y=0.06)
