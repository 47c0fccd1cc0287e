"""The pictures of `penstock bench`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator  # noqa: E402

from .report import Record, distinct, is_mpi_io, size_text  # noqa: E402

MARKERS = "osD^v<>PX*"
ROD = {"color": "black", "linestyle": "--", "label": "rod: contiguous slabs"}


def save(figure: Any, path: Path) -> Path:
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path


def _about(records: list[Record]) -> str:
    first = records[0]
    return f"{first['mpi']}, {first['device']}, {first['cores']} cores"


def steps(records: list[Record], folder: Path) -> list[Path]:
    """MB/s over ranks (Dickens and Thakur, Figure 2), and over sizes (Figure 3)."""
    pictures = []
    for pattern in distinct(records, "pattern"):
        of_pattern = [r for r in records if r["pattern"] == pattern]
        ranks, sizes = distinct(of_pattern, "ranks"), distinct(of_pattern, "size")
        if len(ranks) > 1 or len(sizes) == 1:
            for size in sizes:
                chosen = [r for r in of_pattern if r["size"] == size]
                name = f"steps-{pattern}-ranks-{size_text(size).replace(' ', '')}.png"
                pictures.append(_lines(chosen, "ranks", f"{pattern}, {size_text(size)}", folder / name))
        if len(sizes) > 1:
            for n in ranks:
                chosen = [r for r in of_pattern if r["ranks"] == n]
                name = f"steps-{pattern}-sizes-{n}ranks.png"
                pictures.append(_lines(chosen, "size", f"{pattern}, {n} ranks", folder / name))
    return pictures


def _lines(records: list[Record], key: str, title: str, path: Path) -> Path:
    """MB/s over `key`, a line a method, a panel an operation; bars where `key` has one value."""
    operations, values = distinct(records, "operation"), distinct(records, key)
    figure, panels = plt.subplots(1, len(operations), figsize=(5.2 * len(operations) + 1.6, 5.2), squeeze=False,
                                  layout="constrained")
    for panel, operation in zip(panels[0], operations):
        chosen = [r for r in records if r["operation"] == operation]
        panel.set_title(operation)
        panel.grid(alpha=0.3, axis="both" if len(values) > 1 else "y")
        panel.set_axisbelow(True)
        (_draw_lines if len(values) > 1 else _draw_bars)(panel, chosen, key)
        panel.set_ylim(0, None)
    panels[0][0].set_ylabel("MB/s")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", frameon=False)
    figure.suptitle(f"{title}\n{_about(records)}", fontsize=11)
    return save(figure, path)


def _draw_lines(panel: Any, records: list[Record], key: str) -> None:
    for i, method in enumerate(distinct(records, "method")):
        points = sorted((r[key], r["mb_per_s"]) for r in records if r["method"] == method)
        style = ROD if method == "rod" else {"color": f"C{i - 1}", "marker": MARKERS[(i - 1) % len(MARKERS)],
                                             "label": method}
        panel.plot(*zip(*points), markersize=5, **style)
    panel.set(xscale="log", xlabel="ranks" if key == "ranks" else "bytes of all ranks")
    panel.xaxis.set_major_locator(FixedLocator(distinct(records, key)))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.xaxis.set_major_formatter(FuncFormatter(lambda x, _: size_text(round(x)) if key == "size" else f"{x:.0f}"))


def _draw_bars(panel: Any, records: list[Record], key: str) -> None:
    speeds = {r["method"]: r["mb_per_s"] for r in records}
    panel.axhline(speeds.pop("rod"), **ROD)
    drawn = panel.bar(list(speeds), list(speeds.values()), color=[f"C{i}" for i in range(len(speeds))])
    panel.bar_label(drawn, fmt="%.0f", fontsize=8)
    panel.tick_params(axis="x", labelrotation=40)


def peers(records: list[Record], folder: Path) -> list[Path]:
    """The speed relative to the rod: a bar a method, a group a pattern, a panel a rank count."""
    return [_bars([r for r in records if r["operation"] == operation], operation, folder / f"peers-{operation}.png")
            for operation in distinct(records, "operation")]


def _bar_names(records: list[Record]) -> dict[str, dict[tuple, float]]:
    """The ratios of each bar by rank count and pattern; Penstock's is the lowest of its runs."""
    bars: dict[str, dict[tuple, float]] = {}
    for r in records:
        if r["method"] == "penstock" or is_mpi_io(r):
            ratios, place = bars.setdefault(r["method"], {}), (r["ranks"], r["pattern"])
            ratios[place] = min(ratios.get(place, r["of_rod"]), r["of_rod"])
    return bars


def _ratio(value: float) -> str:
    if value == 0:
        return "none"  # not measured
    return f"{value:.2f}" if value >= 0.005 else "<.01"


def _bars(records: list[Record], operation: str, path: Path) -> Path:
    patterns, counts, bars = distinct(records, "pattern"), distinct(records, "ranks"), _bar_names(records)
    figure, panels = plt.subplots(len(counts), 1, figsize=(max(6.0, 1.25 * len(patterns) + 1.5), 2.3 * len(counts) + 1.4),
                                  squeeze=False, sharex=True, layout="constrained")
    width = 0.8 / len(bars)
    for panel, n in zip(panels[:, 0], counts):
        for i, (name, ratios) in enumerate(bars.items()):
            at = [k + (i - (len(bars) - 1) / 2) * width for k in range(len(patterns))]
            drawn = panel.bar(at, [ratios.get((n, p), 0) for p in patterns], width * 0.92, color=f"C{i}", label=name)
            panel.bar_label(drawn, fmt=_ratio, fontsize=7, padding=2,
                            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6})
        panel.axhline(1, linewidth=1, **ROD)
        panel.set(ylabel="speed / rod", title=f"{n} ranks")
        panel.margins(y=0.15)
        panel.grid(axis="y", alpha=0.3)
        panel.set_axisbelow(True)
    panels[-1, 0].set_xticks(range(len(patterns)), patterns)
    panels[-1, 0].tick_params(axis="x", labelrotation=20)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(handles), frameon=False)
    figure.suptitle(f"{operation}, {size_text(records[0]['size'])}, {_about(records)}", fontsize=11)
    return save(figure, path)
