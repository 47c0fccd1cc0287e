"""The two out-of-core programs of Thakur and Choudhary, *An Extended Two-Phase Method*, section 2, and a plain loop.

Their arrays lie in files of single precision in column-major order, as the paper's. Each returns the seconds that it
computed, messages included: what is left of its time is I/O.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import penstock as ps
from mpi4py import MPI
from penstock._core import _TileBudget

from .outofcore_report import OVERLAPPED

TYPE = np.dtype("<f4")


@dataclass(frozen=True)
class How:
    """A way to run a program."""

    name: str
    hints: dict[str, str] = field(default_factory=dict)
    background: str = "none"
    in_core: bool = False  #: all of a rank's share is in memory
    reuse: bool = True  #: GAXPY: a tile of A stays while B goes by
    sends: bool = False  #: Laplace: neighbours send boundaries in place of reading them


DIRECT, ETP, BEHIND = {"method": "direct"}, {"method": "extended"}, "storage"
WAYS = {
    "gaxpy": [How("direct", DIRECT), How("extended", ETP), How("auto"), How("auto" + OVERLAPPED, {}, BEHIND),
              How("auto, A read again", reuse=False), How("in core", in_core=True)],
    "laplace": [How("direct", DIRECT), How("extended", ETP), How("auto"), How("auto" + OVERLAPPED, {}, BEHIND),
                How("auto, boundaries sent", sends=True), How("auto, boundaries sent" + OVERLAPPED, {}, BEHIND, sends=True),
                How("in core", in_core=True)],
    "loop": [How("auto"), How("auto" + OVERLAPPED, {}, BEHIND)],
}
ARRAYS = {"gaxpy": 3, "laplace": 2, "loop": 1}  #: that are open at a time, each with its memory


@dataclass
class Setting:
    """What a program is run on."""

    comm: MPI.Intracomm
    base: str  #: of the files' paths
    size: int  #: elements in each dimension
    memory: int  #: bytes of a rank for each array
    iterations: int  #: of Laplace
    device: dict[str, str]  #: hints
    work: Callable[[], None] = lambda: None  #: computation for each tile of the loop
    sample: Callable[[], None] = lambda: None  #: looks at this rank's memory
    files: list[Any] = field(default_factory=list)  #: of the last run, for their counts
    steps: int = 0  #: tiles of this rank in the last loop

    def path(self, name: str) -> str:
        return f"{self.base}-{name}"

    def array(self, name: str, mode: str, how: How, distribution: Any = None) -> ps.OutOfCoreArray:
        array = ps.OutOfCoreArray(self.path(name), mode, (self.size, self.size), TYPE, "F", distribution=distribution,
                                  memory=self.memory, comm=self.comm, hints={**self.device, **how.hints},
                                  container="raw", background=how.background)
        self.files.append(array.file)
        return array

    def file(self, name: str, mode: str, how: How) -> ps.File:
        file = ps.open(self.path(name), mode, (self.size, self.size), TYPE, "F", comm=self.comm, container="raw",
                       hints={**self.device, **how.hints})
        self.files.append(file)
        return file


def _part(length: int, comm: MPI.Intracomm) -> slice:
    return slice(length * comm.rank // comm.size, length * (comm.rank + 1) // comm.size)


def gaxpy(on: Setting, how: How) -> float:
    """C = A B: each rank has columns of A and rows of B; a global sum gives C (the paper's section 2.1)."""
    if how.in_core:
        return _gaxpy_in_core(on, how)
    computing = 0.0
    with (on.array("a", "r", how, ("*", "block")) as a, on.array("b", "r", how, ("block", "*")) as b,
          on.array("c", "w", how) as c):
        for rows in a.tiles(axis=0, even=True):
            for columns in b.tiles(axis=1, even=True):
                left = rows.values if how.reuse else a.file.read(rows.section)
                begin = time.perf_counter()
                product = _summed(on.comm, left @ columns.values)
                computing += time.perf_counter() - begin
                (first, last), (low, high) = (t.section.dimensions[d][:2] for t, d in ((rows, 0), (columns, 1)))
                mine = _part(high - low, on.comm)
                c.write_behind(product[:, mine], ps.section((first, last), (low + mine.start, low + mine.stop)))
                on.sample()
    return computing


def _summed(comm: MPI.Intracomm, part: Any) -> Any:
    total = np.empty_like(part, order="F")
    comm.Allreduce(np.asfortranarray(part), total)
    return total


def _gaxpy_in_core(on: Setting, how: How) -> float:
    mine = _part(on.size, on.comm)
    with on.file("a", "r", how) as a, on.file("b", "r", how) as b, on.file("c", "w", how) as c:
        left, right = a.read((slice(None), mine)), b.read((mine, slice(None)))
        begin = time.perf_counter()
        product = _summed(on.comm, left @ right)
        computing = time.perf_counter() - begin
        c.write(product[:, mine], (slice(None), mine))
        on.sample()
    return computing


def relax(cells: Any, out: Any, corner: tuple[int, int], at: tuple[int, int], size: int) -> None:
    """`out` from the `cells` around it: where they begin in the array, and `out` in them. The array's edge stays."""
    rows, columns = out.shape
    out[...] = cells[at[0]:at[0] + rows, at[1]:at[1] + columns]
    r0, c0 = (max(a, 1 - c) for a, c in zip(at, corner))
    r1, c1 = (min(a + n, size - 1 - c) for a, n, c in zip(at, (rows, columns), corner))
    if r0 < r1 and c0 < c1:
        near = (cells[r0 - 1:r1 - 1, c0:c1] + cells[r0 + 1:r1 + 1, c0:c1]
                + cells[r0:r1, c0 - 1:c1 - 1] + cells[r0:r1, c0 + 1:c1 + 1])
        out[r0 - at[0]:r1 - at[0], c0 - at[1]:c1 - at[1]] = near * TYPE.type(0.25)


def laplace(on: Setting, how: How) -> float:
    """Jacobi iterations over square tiles, dealt out to the ranks in turn (the paper's section 2.2)."""
    if how.in_core:
        return _laplace_in_core(on, how)
    computing, share = 0.0, ("*", "block") if how.sends else None
    with on.array("old", "r+", how, share) as old, on.array("new", "r+", how, share) as new:
        edges = _edges(on) if how.sends else None
        for _ in range(on.iterations):
            if how.sends:
                seconds, edges = _sweep_of_columns(on, old, new, edges)
            else:
                seconds = _sweep(on, old, new)
            computing += seconds
            new.flush()
            old, new = new, old
    return computing


def side_of(memory: int) -> int:
    """Of the largest square tile that memory has room for with its halo."""
    return max(int((_TileBudget(memory, 0).tile_bytes("r") // TYPE.itemsize) ** 0.5) - 2, 1)


def _sweep(on: Setting, old: ps.OutOfCoreArray, new: ps.OutOfCoreArray) -> float:
    computing, side = 0.0, min(side_of(on.memory), on.size)
    for tile in old.tiles("r", halo=1, into=new, tile_shape=(side, side)):
        begin = time.perf_counter()
        corner = (tile.with_halo.dimensions[0][0], tile.with_halo.dimensions[1][0])
        relax(tile.ghosted, tile.out, corner, (tile.interior[0].start, tile.interior[1].start), on.size)
        computing += time.perf_counter() - begin
        on.sample()
    return computing


def _edges(on: Setting) -> Any:
    """This rank's first and last column at the start: the first row is hot."""
    edges = np.zeros((on.size, 2), TYPE, order="F")
    edges[0] = 100
    return edges


def _exchanged(comm: MPI.Intracomm, edges: Any) -> tuple[Any, Any]:
    """The columns beside this rank's: of no element where there are none."""
    west = comm.rank - 1 if comm.rank else MPI.PROC_NULL
    east = comm.rank + 1 if comm.rank < comm.size - 1 else MPI.PROC_NULL
    before, after = np.empty((2, len(edges), 1), TYPE)
    comm.Sendrecv(np.ascontiguousarray(edges[:, 1]), east, 0, before, west, 0)
    comm.Sendrecv(np.ascontiguousarray(edges[:, 0]), west, 0, after, east, 0)
    return before[:, : int(west != MPI.PROC_NULL)], after[:, : int(east != MPI.PROC_NULL)]


def _sweep_of_columns(on: Setting, old: ps.OutOfCoreArray, new: ps.OutOfCoreArray, edges: Any) -> tuple[float, Any]:
    """The last column of a tile waits for the one behind it: in the next tile, or sent by the eastern neighbour."""
    share = ps.distribute((on.size, on.size), on.comm, ("*", "block")).section.dimensions[1]
    first, last = share[:2]
    begin = time.perf_counter()
    cells, after = _exchanged(on.comm, edges)
    computing, mine = time.perf_counter() - begin, np.empty_like(edges)
    left, done = first - cells.shape[1], first

    def write(until: int) -> float:
        begin = time.perf_counter()
        out = np.empty((on.size, max(until - done, 0)), TYPE, order="F")
        relax(cells, out, (0, left), (0, done - left), on.size)
        if out.shape[1] and done == first:
            mine[:, 0] = out[:, 0]
        if out.shape[1] and until == last:
            mine[:, 1] = out[:, -1]
        seconds = time.perf_counter() - begin
        section = ps.section((0, on.size), (done, until)) if out.shape[1] else None
        new.write_behind(None if section is None else out, section)
        return seconds

    for tile in old.tiles("r", even=True):
        if tile:
            cells = np.concatenate((cells, tile.values), axis=1)
        computing += write(left + cells.shape[1] - 1)
        done = max(done, left + cells.shape[1] - 1)
        keep = min(cells.shape[1], 2)
        left, cells = left + cells.shape[1] - keep, cells[:, cells.shape[1] - keep:].copy()
        on.sample()
    cells = np.concatenate((cells, after), axis=1)
    return computing + write(last), mine


def _laplace_in_core(on: Setting, how: How) -> float:
    """All of a rank's columns in memory: read once, written once."""
    d = ps.distribute((on.size, on.size), on.comm, ("*", "block"))
    name = "old" if on.iterations % 2 == 0 else "new"
    with on.file("old", "r", how) as file:
        mine = file.read(d)
    begin = time.perf_counter()
    first = d.section.dimensions[1][0]
    for _ in range(on.iterations):
        before, after = _exchanged(on.comm, mine[:, [0, -1]])
        cells = np.concatenate((before, mine, after), axis=1)
        relax(cells, mine, (0, first - before.shape[1]), (0, before.shape[1]), on.size)
    computing = time.perf_counter() - begin
    on.sample()
    with on.file(name, "r+", how) as file:
        file.write(mine, d)
    return computing


def loop(on: Setting, how: How) -> float:
    """An update of all elements, and work beside it that takes about as long as the I/O."""
    computing, on.steps = 0.0, 0
    with on.array("x", "r+", how) as x:
        for tile in x.tiles():
            begin = time.perf_counter()
            tile.values[...] += 1
            on.steps += 1
            on.work()
            computing += time.perf_counter() - begin
            on.sample()
    return computing


PROGRAMS = {"gaxpy": gaxpy, "laplace": laplace, "loop": loop}
