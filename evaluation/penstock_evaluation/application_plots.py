"""Pictures of `python -m penstock_evaluation application`: the film strip, and the study."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from penstock._bench.ratios import Record

from .application_report import _of, about, visible
from .plots import plt, save
from .report import distinct


@dataclass(frozen=True)
class Frame:
    """A visualisation file: six reals, then a byte a cell in Fortran order."""

    time: float
    values: np.ndarray  #: of all cells

    @staticmethod
    def read(path: Path, cells: tuple[int, ...]) -> Frame:
        header = np.fromfile(path, "<f4", 6)
        _, time, least, most, logarithms, _ = (float(x) for x in header)
        values = least + np.fromfile(path, np.uint8, offset=24).reshape(cells, order="F") * (most - least) / 255
        return Frame(time, values if logarithms else np.log10(values))


def draw(records: list[Record], folder: Path) -> list[Path]:
    made = [film(r, folder) for r in _of(records, case="film")]
    return made + [study(_of(records, case="study"), folder)] if _of(records, case="study") else made


def film(r: Record, folder: Path) -> Path:
    """A slice of the density through its greatest value at the end, at each dump."""
    frames = [Frame.read(path, tuple(r["cells"])) for path in sorted((folder / "film").glob("density-*.dat"))]
    densest = np.unravel_index(int(np.argmax(frames[-1].values)), frames[-1].values.shape)
    slices = [frame.values[:, :, densest[2]].T for frame in frames]
    ends = min(map(np.min, slices)), max(map(np.max, slices))
    figure, panels = plt.subplots(1, len(frames), figsize=(2.5 * len(frames) + 1.2, 3.4), layout="constrained", squeeze=False)
    drawn: Any = None
    for panel, frame, values in zip(panels[0], frames, slices):
        drawn = panel.imshow(values, origin="lower", cmap="inferno", vmin=ends[0], vmax=ends[1], extent=(0, 1, 0, 1))
        panel.set_title(f"t = {frame.time:.3f}")
        panel.set_xticks([])
        panel.set_yticks([])
    figure.colorbar(drawn, ax=list(panels[0]), label="log10 of the density", shrink=0.8)
    figure.suptitle(f"Jeans' instability, slice z = {(densest[2] + 0.5) / r['cells'][0]:.2f}, {about(r)}", fontsize=11)
    return save(figure, folder / "application-film.png")


def study(records: list[Record], folder: Path) -> Path:
    """Time of reads and writes as the program sees it: panels are devices, groups methods, bars modes."""
    devices = distinct(records, "device")
    modes = [(b, m) for b in distinct(records, "buffer") for m in distinct(records, "background")]
    methods = distinct(records, "method")
    figure, panels = plt.subplots(1, len(devices), figsize=(1.3 * len(methods) * len(devices) + 3, 4.6), squeeze=False,
                                  layout="constrained")
    for panel, device in zip(panels[0], devices):
        for i, (buffer, mode) in enumerate(modes):
            chosen = {r["method"]: visible(r) for r in _of(records, device=device, buffer=buffer, background=mode)}
            places = [k + (i - (len(modes) - 1) / 2) * 0.13 for k, m in enumerate(methods) if m in chosen]
            panel.bar(places, [chosen[m] for m in methods if m in chosen], 0.12, color=f"C{i % 3}",
                      alpha=1 if buffer == "off" else 0.5, label=f"{mode}, buffer {buffer}")
        panel.set_xticks(range(len(methods)), methods)
        panel.set_title(device)
        panel.set_ylabel("reads and writes (s)")
        panel.grid(alpha=0.3, axis="y")
        panel.set_axisbelow(True)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    first = records[0]
    figure.suptitle(f"{about(first)}, a dump every {first['dump_every']}\n{first['mpi']}, {first['cores']} cores", fontsize=11)
    return save(figure, folder / "application-study.png")
