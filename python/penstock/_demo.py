"""The demo: 3-D heat on a grid of ranks, snapshots through Penstock. Run by `penstock demo`.

One rank of it holds a block of the volume with one halo cell on each side. A snapshot is one
collective write of the block's inside, in place: no gathering, no copying by hand.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any, Optional

import numpy as np
from mpi4py import MPI

import penstock as ps
from penstock._hints import choices

METHODS = (*choices("method"), "auto")
REPEATS = 7


def built_in_field(shape: tuple[int, ...], section: ps.Section) -> np.ndarray:
    """A hot ball, a hot slab and a cold corner, for the elements of `section`."""
    axes = [np.arange(lower, upper) / (n - 1) for (lower, upper, _, _), n in zip(section.dimensions, shape)]
    x, y, z = np.meshgrid(*axes, indexing="ij", sparse=True)
    field = np.where((x - 0.35) ** 2 + (y - 0.4) ** 2 + (z - 0.5) ** 2 < 0.03, 100.0, 20.0)
    field = np.where((np.abs(x - 0.75) < 0.04) & (np.abs(y - 0.6) < 0.25), 80.0, field)
    return np.where((x > 0.8) & (y < 0.2), 0.0, field)


class Heat:
    """Explicit time steps of u_t = a (u_xx + u_yy + u_zz) with fixed values at the faces."""

    def __init__(self, comm: MPI.Intracomm, shape: tuple[int, ...], source: Optional[Path]):
        self.comm = comm
        self.d = ps.distribute(shape, comm, kind="block", halo=1)
        self.u = self.d.empty("f8")
        if source is None:
            self.u[...] = built_in_field(shape, self.d.with_halo)
        else:
            with ps.open(source, comm=comm) as f:
                self.u[...] = f.read(self.d.with_halo)

    def _neighbour(self, axis: int, direction: int) -> int:
        place = list(self.d.coordinates)
        place[axis] += direction
        inside = 0 <= place[axis] < self.d.grid[axis]
        return int(np.ravel_multi_index(place, self.d.grid)) if inside else MPI.PROC_NULL

    def _exchange_halo(self) -> None:
        for axis in range(3):
            inner = self.d.interior[axis]
            below, above = self._neighbour(axis, -1), self._neighbour(axis, +1)

            def layer(index: int, axis: int = axis) -> np.ndarray:
                return np.ascontiguousarray(np.take(self.u, index, axis=axis))

            def fill(index: int, source: int, values: np.ndarray, axis: int = axis) -> None:
                if source != MPI.PROC_NULL:
                    np.moveaxis(self.u, axis, 0)[index] = values

            got = layer(0)
            self.comm.Sendrecv(layer(inner.stop - 1), above, recvbuf=got, source=below)
            fill(inner.start - 1, below, got)
            self.comm.Sendrecv(layer(inner.start), below, recvbuf=got, source=above)
            fill(inner.stop, above, got)

    def step(self) -> None:
        self._exchange_halo()
        u = self.u
        middle = u[1:-1, 1:-1, 1:-1]
        change = (u[2:, 1:-1, 1:-1] + u[:-2, 1:-1, 1:-1] + u[1:-1, 2:, 1:-1] + u[1:-1, :-2, 1:-1]
                  + u[1:-1, 1:-1, 2:] + u[1:-1, 1:-1, :-2] - 6 * middle)
        # 1/7 is below the stability limit 1/6 of the explicit scheme in three dimensions.
        middle += change / 7


class Screen:
    """Rank 0's output; the others are silent."""

    def __init__(self, comm: MPI.Intracomm, width: Optional[int]):
        """`width`: of the terminal; None: the output is not a terminal."""
        from rich.console import Console

        self.live = width is not None and comm.rank == 0
        self.console = Console(soft_wrap=True, force_terminal=self.live, width=width or 100,
                               quiet=comm.rank != 0)

    def progress(self, total: int) -> Any:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        return Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("steps"),
                        TimeElapsedColumn(), console=self.console, disable=not self.live)


def solve(heat: Heat, shape: tuple[int, ...], options: argparse.Namespace, screen: Screen) -> list[Path]:
    snapshots: list[Path] = []
    closing: list[Optional[ps.Handle]] = []
    at = {round(i * options.steps / options.snapshots) for i in range(1, options.snapshots + 1)} | {0}
    spent = 0.0
    with screen.progress(options.steps) as bar:
        task = bar.add_task("heat", total=options.steps)
        for step in range(options.steps + 1):
            if step > 0:
                heat.step()
                bar.advance(task)
            if step in at:
                path = options.output / f"heat_{step:04d}.npy"
                begin = time.perf_counter()
                f = ps.open(path, "w", shape=shape, dtype="f8", comm=heat.comm)
                f.write(heat.u, heat.d)
                closing.append(f.close(wait=False))  # written while the next steps are computed
                spent += time.perf_counter() - begin
                snapshots.append(path)
                bar.update(task, description=f"wrote {path.name}")
                if not screen.live:
                    screen.console.print(f"step {step:4d}  wrote {path}", highlight=False)
    begin = time.perf_counter()
    for handle in filter(None, closing):
        handle.wait()
    spent += time.perf_counter() - begin
    size = np.prod(shape) * 8 / 1e6
    screen.console.print(f"{len(snapshots)} snapshots of {size:.1f} MB; the program waited {spent:.2f} s for them",
                             highlight=False)
    return snapshots


def measure(heat: Heat, shape: tuple[int, ...], path: Path, method: str, buffer: str) -> tuple[float, list[int]]:
    """Median seconds of a write from barrier to barrier, and counts of one write summed over the ranks."""
    comm, seconds = heat.comm, []
    with ps.open(path, "w", shape=shape, dtype="f8", comm=comm, hints={"active_buffer_size": buffer}) as f:
        before = f.statistics
        for _ in range(REPEATS):
            comm.Barrier()
            begin = time.perf_counter()
            f.write(heat.u, heat.d, method=method)
            comm.Barrier()
            seconds.append(time.perf_counter() - begin)
            f.file_size()  # what is buffered is written before the next one
        s = f.statistics
        calls = s.reads - before.reads + s.writes - before.writes
        counts = [comm.allreduce(n) // REPEATS
                  for n in (calls, s.bytes_read - before.bytes_read, s.bytes_written - before.bytes_written)]
    return sorted(seconds)[REPEATS // 2], counts


def compare_methods(heat: Heat, shape: tuple[int, ...], options: argparse.Namespace, screen: Screen) -> bool:
    from rich.table import Table

    bytes_total = int(np.prod(shape)) * 8
    table = Table(title=f"One snapshot, {' x '.join(map(str, shape))} doubles, {heat.comm.size} ranks in a grid of "
                        f"{' x '.join(map(str, heat.d.grid))} (page cache; median of {REPEATS})")
    for name in ("method", "time (ms)", "MB/s", "accesses", "bytes read", "bytes written"):
        table.add_column(name, justify="left" if name == "method" else "right")
    files = []
    for method, buffer in [(method, "0") for method in METHODS] + [("auto, buffered", "64M")]:
        files.append(options.output / f"method_{method.replace(', ', '_')}.npy")
        seconds, (calls, read, written) = measure(heat, shape, files[-1], method.split(",")[0], buffer)
        table.add_row(method, f"{seconds * 1e3:.1f}", f"{bytes_total / seconds / 1e6:.0f}", f"{calls}", f"{read}",
                      f"{written}")
    screen.console.print(table)
    if heat.comm.rank != 0:
        return True
    same = len({file.read_bytes() for file in files}) == 1
    screen.console.print("files of all methods are byte-identical" if same else "FILES DIFFER BETWEEN METHODS")
    for file in files:
        file.unlink()
    return same


def read_back(heat: Heat, shape: tuple[int, ...], path: Path, screen: Screen) -> bool:
    """Every rank reads the same strided slab of the last snapshot; NumPy checks it."""
    slab = (slice(shape[0] // 4, shape[0] - shape[0] // 4, 2), slice(None), shape[2] // 2)
    with ps.open(path, comm=heat.comm) as f:
        section = f.read(slab)
        read = heat.comm.allreduce(f.last_call.bytes_read)
    right = np.array_equal(section, np.load(path, mmap_mode="r")[slab])
    right = heat.comm.allreduce(int(right), op=MPI.MIN) == 1
    asked = section.nbytes * heat.comm.size
    screen.console.print(f"read back [{slab[0].start}:{slab[0].stop}:2, :, {slab[2]}] on every rank: "
                         f"{asked} bytes asked for, {read} read from the file, "
                         f"{'as NumPy sees it' if right else 'WRONG'}", highlight=False)
    return right


def draw(snapshots: list[Path], shape: tuple[int, ...], folder: Path) -> Path:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    shown = [snapshots[0], snapshots[len(snapshots) // 2], snapshots[-1]]
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.9), layout="constrained")
    slices = [np.load(path, mmap_mode="r")[:, :, shape[2] // 2] for path in shown]
    low, high = min(s.min() for s in slices), max(s.max() for s in slices)
    for axis, path, plane in zip(axes, shown, slices):
        image = axis.imshow(plane.T, origin="lower", cmap="inferno", vmin=low, vmax=high)
        axis.set(title=f"step {int(path.stem.split('_')[1])}", xlabel="x")
    axes[0].set_ylabel("y")
    figure.colorbar(image, ax=axes, label="temperature", shrink=0.85)
    figure.suptitle(f"Heat in a volume of {' × '.join(map(str, shape))} points, plane z = {shape[2] // 2}")
    picture = folder / "heat.png"
    figure.savefig(picture, dpi=110)
    return picture


def volume_shape(options: argparse.Namespace, comm: MPI.Intracomm) -> tuple[int, ...]:
    if options.input is None:
        return (options.size,) * 3
    with ps.open(options.input, comm=comm) as f:
        if len(f.shape) != 3 or min(f.shape) < 3:
            raise ps.ArgumentError(f"'{options.input}' has shape {f.shape}; the demo needs 3 dimensions of 3 or more")
        if f.dtype.kind not in "fiu":
            raise ps.ArgumentError(f"'{options.input}' holds {f.dtype}; the demo needs real numbers")
        return f.shape


def main() -> int:
    parser = argparse.ArgumentParser(prog="penstock demo")
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--snapshots", type=int, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--input", type=Path)
    parser.add_argument("--terminal-width", type=int)
    options = parser.parse_args()
    comm = MPI.COMM_WORLD
    screen = Screen(comm, options.terminal_width)
    try:
        options.output.mkdir(parents=True, exist_ok=True)
        shape = volume_shape(options, comm)
        heat = Heat(comm, shape, options.input)
        snapshots = solve(heat, shape, options, screen)
        right = compare_methods(heat, shape, options, screen)
        right = read_back(heat, shape, snapshots[-1], screen) and right
    except (ps.Error, OSError) as error:  # the same on every rank: one of them tells
        if comm.rank == 0:
            print(f"penstock demo: {error}", file=sys.stderr)
        return 1
    if comm.rank == 0:
        picture = draw(snapshots, shape, options.output)
        screen.console.print(f"the field: {picture}; the snapshots: {options.output}/heat_*.npy, for numpy.load",
                             highlight=False)
    return 0 if comm.bcast(right) else 1


if __name__ == "__main__":
    sys.exit(main())
