"""The pictures of `python -m penstock_evaluation outofcore`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from penstock._bench.ratios import Record

from .outofcore_report import PROCESSORS, SECONDS, TITLES, improvement
from .plots import save
from .report import distinct

SIZES = {1024: "o", 2048: "s", 4096: "^"}


def outofcore(records: list[Record], folder: Path) -> list[Path]:
    """Computation and I/O of each way, and by how much the extended method shortens the I/O (Figures 12 and 13)."""
    pictures = []
    for i, device in enumerate(distinct(records, "device")):
        chosen = [r for r in records if r["device"] == device]
        pictures.append(_times(chosen, folder / f"outofcore-{chosen[0]['on'].partition(':')[0]}-{i + 1}.png"))
    if any(r["program"] in ("gaxpy", "laplace") for r in records):
        pictures.append(_improvements(records, folder / "outofcore-figures-12-13.png"))
    return pictures


def _times(records: list[Record], path: Path) -> Path:
    programs, counts = distinct(records, "program"), distinct(records, "ranks")
    figure, panels = plt.subplots(len(programs), len(counts), figsize=(5.5 * len(counts), 2.6 * len(programs)), squeeze=False,
                                  layout="constrained")
    for row, program in zip(panels, programs):
        for panel, ranks in zip(row, counts):
            _bars(panel, [r for r in records if (r["program"], r["ranks"]) == (program, ranks)])
            panel.set_title(f"{TITLES[program]}, {ranks} ranks", fontsize=9)
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False, fontsize=8)
    first = records[0]
    figure.suptitle(f"{first['device']}; {first['mpi']}, {first['cores']} cores", fontsize=10, x=0.01, ha="left")
    return save(figure, path)


def _bars(panel: Any, records: list[Record]) -> None:
    places = np.arange(len(records))[::-1]
    computing = [min(r["computing"], r["seconds"]) for r in records]
    panel.barh(places, computing, color="0.75", label="computation and messages")
    panel.barh(places, [r["seconds"] - c for r, c in zip(records, computing)], left=computing, color="tab:blue",
               label="I/O that is not hidden")
    panel.set_yticks(places, [r["method"] for r in records], fontsize=8)
    panel.set_xlabel("seconds", fontsize=8)
    panel.tick_params(axis="x", labelsize=8)


def _improvements(records: list[Record], path: Path) -> Path:
    programs = [p for p in ("gaxpy", "laplace") if any(r["program"] == p for r in records)]
    figure, panels = plt.subplots(1, len(programs), figsize=(5.5 * len(programs), 3.6), squeeze=False, sharey=True, layout="constrained")
    for panel, program in zip(panels[0], programs):
        for size, marker in SIZES.items():
            row = SECONDS[(program, size)]
            theirs = [100 * (1 - etp / direct) for direct, etp in zip(row[::2], row[1::2])]
            panel.plot(PROCESSORS, theirs, marker + "--", color="0.6", label=f"the paper, {size} x {size}", markersize=4)
        for device in distinct(records, "device"):
            chosen = [r for r in records if (r["device"], r["program"]) == (device, program)]
            points = []
            for ranks in distinct(chosen, "ranks"):
                ways = {r["method"]: r for r in chosen if r["ranks"] == ranks}
                points.append((ranks, improvement(ways["direct"], ways["extended"]).middle))
            panel.plot([n for n, _ in points], [percent for _, percent in points], "o-", label=f"here, {chosen[0]['size']} x {chosen[0]['size']}, {device}")
        panel.axhline(0, color="black", linewidth=0.8)
        panel.set_xscale("log", base=2)
        panel.set_xticks([4, *PROCESSORS], [str(n) for n in (4, *PROCESSORS)])
        panel.set_ylim(bottom=min(panel.get_ylim()[0], -5))
        panel.set_xlabel("processes")
        panel.set_title(TITLES[program], fontsize=10)
        panel.legend(fontsize=7, frameon=False)
    panels[0][0].set_ylabel("less I/O time than direct, %")
    return save(figure, path)
