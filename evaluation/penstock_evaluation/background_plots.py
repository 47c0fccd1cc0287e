"""The pictures of `python -m penstock_evaluation split`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from .background_report import experiment
from .plots import BEFORE_LINES, WHISKERS, plt, save, whiskers
from .report import MODES, Record, distinct

COLORS = {"none": "C7", "storage": "C0", "all": "C1"}
HATCHES = {"auto": "", "other": "..", "batch": "xx", "nice": "\\\\\\\\"}  # of priorities
WIDTH = 0.8  # of a group of bars


def about_run(r: Record) -> str:
    return f"{r['mpi']}, {r['cores']} cores"


def make_panels(rows: int, columns: int, width: float, height: float) -> tuple[Any, Any]:
    figure, panels = plt.subplots(rows, columns, figsize=(max(width * columns + 1.0, 9.0), height * rows + 1.2), squeeze=False,
                                  layout="constrained")
    for panel in panels.flat:
        panel.grid(axis="y", alpha=0.3)
        panel.set_axisbelow(True)
    return figure, panels


def put_legend(figure: Any, panels: Any) -> None:
    entries: dict[str, Any] = {}
    for panel in panels.flat:
        for handle, text in zip(*panel.get_legend_handles_labels()):
            entries.setdefault(text, handle)
    figure.legend(entries.values(), entries, loc="outside lower center", ncols=3 if any(len(text) > 30 for text in entries) else min(len(entries), 5),
                  frameon=False)


def place_of(group: int, bar: int, bars: int) -> float:
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
    """Rows are devices, columns experiments."""
    devices, experiments = distinct(records, "device"), distinct(records, "experiment")
    figure, panels = make_panels(len(devices), len(experiments), 4.6, 3.0)
    for row, device in zip(panels, devices):
        for panel, name in zip(row, experiments):
            chosen = [r for r in records if r["device"] == device and r["experiment"] == name]
            if chosen:
                draw(panel, chosen)
                panel.set_title(f"{experiment(chosen[0])}\n{device}", fontsize=9)
        row[0].set_ylabel(axis)
    for panel in panels[-1]:
        panel.set_xlabel("ranks")
    put_legend(figure, panels)
    figure.suptitle(f"{title}\n{about_run(records[0])}", fontsize=11)
    return save(figure, path)


def _methods(records: list[Record]) -> list[Record]:
    """One record per mode and priority, in the order of modes."""
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
            place, r = place_of(group, bar, len(methods)), of_count.get(kind["method"])
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
        at = [place_of(group, bar, len(methods)) for group, n in enumerate(counts) if n in found]
        heights = [100 * found[n]["slowdown"] for n in counts if n in found]
        drawn = panel.bar(at, heights, WIDTH / len(methods) * 0.92, **_look(kind))
        panel.bar_label(drawn, [f"{height:.0f}" for height in heights], fontsize=7, padding=2)
    panel.axhline(0, color="black", linewidth=0.8)
    panel.set_xticks(range(len(counts)), [str(n) for n in counts])
    panel.margins(y=0.14)
