"""The pictures of `python -m penstock_evaluation sections`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib import pyplot as plt
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from penstock._bench.ratios import Record

from .plots import MARKERS, save
from .report import distinct
from .sections_report import Case, cases_of, times_as_long

SHOWN = ("paper-static", "paper-dynamic", "dynamic", "auto")


def sections(records: list[Record], folder: Path) -> list[Path]:
    """How much longer direct takes, row by row, compared with the paper; and times over ranks, if there are several."""
    pictures = []
    for i, device in enumerate(distinct(records, "device")):
        of_device = [r for r in records if r["device"] == device]
        for ranks in distinct(of_device, "ranks"):
            chosen = [r for r in of_device if r["ranks"] == ranks]
            path = folder / f"sections-{chosen[0]['on'].partition(':')[0]}-{i + 1}-{ranks}ranks.png"
            pictures.append(_ratios(cases_of(chosen), f"{device}, {ranks} ranks", path))
        if len(distinct(of_device, "ranks")) > 1:
            pictures.append(_over_ranks(of_device, folder / f"sections-{of_device[0]['on'].partition(':')[0]}-{i + 1}-scaling.png"))
    return pictures


def _label(case: Case) -> str:
    r = next(iter(case.values()))
    return f"{r['cited']}: {r['section']}"


def _ratios(cases: list[Case], title: str, path: Path) -> Path:
    figure, panel = plt.subplots(figsize=(11, 0.27 * len(cases) + 1.8), layout="constrained")
    at = [(y, next(iter(case.values())).get("paper")) for y, case in enumerate(cases)]
    for name, marker in (("static", "|"), ("dynamic", "*")):
        told = [(paper["direct"] / paper[name], y) for y, paper in at if paper and paper[name]]
        if told:
            panel.plot(*zip(*told), marker, color="black", markersize=8, label=f"paper, {name}")
    for k, name in enumerate(SHOWN):
        pairs = [(found[1], y) for y, case in enumerate(cases) if (found := times_as_long(case, "direct", name))]
        if pairs:
            panel.plot(*zip(*pairs), MARKERS[k], color=f"C{k}", markersize=5, label=name)
    panel.set(xscale="log", xlabel="time of direct / time of the method (of direct where it was left out: the least)")
    panel.axvline(1, color="gray", linewidth=1)
    panel.set_yticks(range(len(cases)), [_label(case) for case in cases], fontsize=8)
    panel.invert_yaxis()
    panel.grid(alpha=0.3)
    panel.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    figure.suptitle(title, fontsize=11)
    return save(figure, path)


def _over_ranks(records: list[Record], path: Path) -> Path:
    """A panel for each row (the paper's Figures 10 and 11): seconds over ranks."""
    rows = distinct(records, "cited")
    columns = min(4, len(rows))
    lines = -(-len(rows) // columns)
    figure, panels = plt.subplots(lines, columns, figsize=(3.4 * columns, 2.7 * lines + 0.6), squeeze=False, layout="constrained")
    for panel in panels.flat[len(rows):]:
        panel.set_axis_off()
    for panel, row in zip(panels.flat, rows):
        _draw_row(panel, [r for r in records if r["cited"] == row])
        panel.set_title(row, fontsize=9)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
    figure.suptitle(f"seconds over ranks, {records[0]['device']}", fontsize=11)
    return save(figure, path)


def _draw_row(panel: Any, records: list[Record]) -> None:
    for k, name in enumerate(("direct", "dynamic", "auto")):
        points = sorted((r["ranks"], r["seconds"]) for r in records if r["method"] == name and "seconds" in r)
        if points:
            panel.plot(*zip(*points), color=f"C{k}", marker=MARKERS[k], markersize=4, label=name)
        told = sorted({(r["ranks"], r["paper"][name]) for r in records if name in r.get("paper", {})})
        if told:
            panel.plot(*zip(*told), color=f"C{k}", linestyle="--", linewidth=1, label=f"{name}, paper")
    panel.set(xscale="log", yscale="log")
    panel.xaxis.set_major_locator(FixedLocator(distinct(records, "ranks")))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:.0f}"))
    panel.grid(alpha=0.3)
