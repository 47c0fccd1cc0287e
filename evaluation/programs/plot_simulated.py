"""Plots the counts of `simulate --json FILE`: plot_simulated.py FILE PICTURE."""

import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

RANKS_OF_A_NODE = 16
PANELS = [
    ("data", "messages with data", 1),
    ("description_bytes", "descriptions, bytes sent", 1),
    ("agreements", "messages for agreements", 1),
    ("staging", "staging memory, KiB", 1024),
]
COLOURS = {"node": "#0072b2", "sparse": "#d55e00"}


def main(source: str, picture: str) -> None:
    rows = [json.loads(line) for line in Path(source).read_text().splitlines()]
    rows = [row for row in rows if row["ranks"] == RANKS_OF_A_NODE * row["nodes"]]
    figure, axes = plt.subplots(1, len(PANELS), figsize=(13, 3.6), constrained_layout=True)
    for axis, (field, title, unit) in zip(axes, PANELS, strict=True):
        for pattern, dashes in (("columns", "-"), ("blocks", ":")):
            for exchange, colour in COLOURS.items():
                mine = [row for row in rows if (row["pattern"], row["exchange"]) == (pattern, exchange)]
                axis.plot([row["ranks"] for row in mine], [row[field] / unit for row in mine],
                          dashes, color=colour, marker="o", markersize=4, label=f"{exchange}, {pattern}")
        axis.set_xscale("log", base=2)
        axis.set_xticks([16, 64, 256, 1024, 4096], ["16", "64", "256", "1024", "4096"])
        axis.set_yscale("symlog", base=2, linthresh=1)
        axis.yaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda y, _: f"{y:g}"))
        axis.set_ylim(bottom=0)
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("ranks, 16 a node")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("of the rank that has most")
    axes[0].legend(fontsize=8, frameon=False)
    figure.savefig(picture, dpi=120)


if __name__ == "__main__":
    main(*sys.argv[1:])
