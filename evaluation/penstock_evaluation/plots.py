"""The pictures of the evaluation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402
from penstock._bench.patterns import size_text  # noqa: E402
from penstock._bench.ratios import Record, is_mpi_io, is_penstock, quartiles  # noqa: E402

from .report import distinct  # noqa: E402

MARKERS = "osD^v<>PX*"
WHISKERS = {"elinewidth": 1, "capsize": 2, "ecolor": "0.25"}
# Figures stand before lines, on white.
BEFORE_LINES = {"bbox": {"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.85}, "zorder": 5}
COMPONENTS = {"ompio": "OMPIO"}
ROD = {"color": "black", "linestyle": "--", "label": "baseline: contiguous slabs"}


def save(figure: Any, path: Path) -> Path:
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path


def in_words(method: str, mpi: str) -> str:
    """MPI-IO has the name of a component, or none: "romio341" becomes "MPI-IO: ROMIO 3.4.1"."""
    if method == "MPI-IO":
        return f"MPI-IO of {mpi}"
    version = re.fullmatch(r"romio(\d)(\d)(\d)", method)
    component = f"ROMIO {'.'.join(version.groups())}" if version else COMPONENTS.get(method)
    return f"MPI-IO: {component}" if component else method


def whiskers(values: Sequence[Sequence[float]]) -> tuple[list[float], list[list[float]]]:
    """Medians, and how far the quartiles are below and above them."""
    found = [quartiles(v) for v in values]
    return [q[1] for q in found], [[q[1] - q[0] for q in found], [q[2] - q[1] for q in found]]


def about(records: list[Record]) -> str:
    first = records[0]
    return f"{first['mpi']}, {first['device']}, {first['cores']} cores"


def peers(records: list[Record], folder: Path) -> list[Path]:
    """Speed relative to the baseline, median and quartiles of pairs: one picture per operation. Writes into a buffer do
    not reach the file, and are only in the tables.
    """
    records = [r for r in records if not r["method"].endswith("buffered")]
    return [_dots([r for r in records if r["operation"] == operation], operation, folder / f"peers-{operation}.png")
            for operation in distinct(records, "operation")]


def _pairs(records: list[Record]) -> dict[str, dict[str, list[float]]]:
    """By method and pattern; of several runs of Penstock, all pairs."""
    found: dict[str, dict[str, list[float]]] = {}
    for r in records:
        if is_penstock(r) or is_mpi_io(r):
            found.setdefault(in_words(r["method"], r["mpi"]), {}).setdefault(r["pattern"], []).extend(r["of_rod_pairs"])
    return found


def _dots(records: list[Record], operation: str, path: Path) -> Path:
    """A row of panels for each kind of file, a column for each rank count."""
    patterns, counts, files = (distinct(records, key) for key in ("pattern", "ranks", "file"))
    methods = sorted(_pairs(records), key=lambda name: not name.startswith("penstock"))
    figure, panels = plt.subplots(len(files), len(counts), squeeze=False, sharex=True, sharey=True, layout="constrained",
                                  figsize=(max(3.4 * len(counts) + 2.2, 7.5), (0.42 * len(patterns) + 0.9) * len(files) + 1.0))
    for row, file in zip(panels, files):
        for panel, n in zip(row, counts):
            _draw_dots(panel, _pairs([r for r in records if (r["file"], r["ranks"]) == (file, n)]), methods, patterns)
            panel.set_title(f"{n} ranks, {file} file")
    panels[0, 0].invert_yaxis()
    panels[0, 0].set_xlim(left=0)
    for panel in panels[-1]:
        panel.set_xlabel("speed / baseline")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    figure.suptitle(f"{operation}, {size_text(records[0]['size'])}, median and quartiles\n{about(records)}", fontsize=11)
    return save(figure, path)


def _draw_dots(panel: Any, pairs: dict[str, dict[str, list[float]]], methods: list[str], patterns: list[str]) -> None:
    for i, name in enumerate(methods):
        shift = (i - (len(methods) - 1) / 2) * 0.18
        known = [(k, pairs[name][p]) for k, p in enumerate(patterns) if p in pairs.get(name, {})]
        middle, around = whiskers([values for _, values in known])
        panel.errorbar(middle, [k + shift for k, _ in known], xerr=around, fmt=MARKERS[i], color=f"C{i}", markersize=5, capsize=2,
                       linewidth=1.2, label=name)
    panel.axvline(1, linewidth=1, **ROD)
    panel.set_yticks(range(len(patterns)), patterns)
    panel.grid(alpha=0.3)
    panel.set_axisbelow(True)
