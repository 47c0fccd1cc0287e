"""Laplace's equation on a square on disk that is larger than memory, by Jacobi iterations over its tiles.

    mpiexec -n 4 python laplace.py [N [ITERATIONS [MEMORY [send]]]]

The cells around a tile are read with it; with "send", every rank has a block of rows as its share, reads each element
once, and has the rows at its edge sent by its neighbours.
"""

import sys
from typing import Any

import numpy as np
import penstock as ps
from mpi4py import MPI

comm = MPI.COMM_WORLD
n = int(sys.argv[1]) if len(sys.argv) > 1 else 512
iterations = int(sys.argv[2]) if len(sys.argv) > 2 else 10
memory = sys.argv[3] if len(sys.argv) > 3 else "1M"
sends = len(sys.argv) > 4


def make(name: str) -> None:
    with ps.OutOfCoreArray(name, "w", (n, n), "f8", memory=memory, comm=comm) as array:
        for tile in array.tiles():
            tile.values[...] = 0
            if tile.section.dimensions[0][0] == 0:
                tile.values[0] = 100  # the northern edge is hot, the others stay cold


def relax(cells: Any, out: Any, place: tuple[slice, ...], top: int) -> None:
    """`out` from the cells around it; `place`: where these are in `cells`, whose first row is `top`."""
    rows, columns = place
    out[...] = cells[place]
    first, last = max(rows.start, 1 - top), min(rows.stop, n - 1 - top)
    inner = slice(max(columns.start, 1), min(columns.stop, n - 1))
    if first < last:
        up, down = cells[first - 1:last - 1, inner], cells[first + 1:last + 1, inner]
        left, right = (cells[first:last, inner.start + s:inner.stop + s] for s in (-1, 1))
        out[first - rows.start:last - rows.start, inner] = (up + down + left + right) / 4


def read_boundaries(old: ps.OutOfCoreArray, new: ps.OutOfCoreArray) -> None:
    for tile in old.tiles("r", halo=(1, 0), into=new):
        relax(tile.ghosted, tile.out, tile.interior, tile.with_halo.dimensions[0][0])


def send_boundaries(old: ps.OutOfCoreArray, new: ps.OutOfCoreArray, edges: Any) -> Any:
    """The last row of a tile waits for the row below it: in the next tile, or sent by the southern neighbour.

    `edges`: this rank's first and last row, as the last iteration left them. Returns those of this iteration.
    """
    share, new_edges = own_rows(), np.zeros((2, n))
    north = comm.rank - 1 if comm.rank > 0 else MPI.PROC_NULL
    south = comm.rank + 1 if comm.rank < comm.size - 1 else MPI.PROC_NULL
    above, below = np.zeros((1, n)), np.zeros((1, n))
    comm.Sendrecv(edges[1:], south, 0, above, north, 0)
    comm.Sendrecv(edges[:1], north, 0, below, south, 0)
    cells = above[: 0 if north == MPI.PROC_NULL else 1]
    top, done = share.start - len(cells), share.start  # of the cells; up to which row they are written

    def write(until: int) -> None:
        out = np.empty((max(until - done, 0), n))
        relax(cells, out, (slice(done - top, done - top + len(out)), slice(0, n)), top)
        if len(out) and done == share.start:
            new_edges[0] = out[0]
        if len(out) and until == share.stop:
            new_edges[1] = out[-1]
        new.write_behind(out if len(out) else None, ps.section((done, until), (0, n)) if len(out) else None)

    for tile in old.tiles("r", even=True):
        cells = np.concatenate((cells, tile.values.reshape(-1, n)))
        write(top + len(cells) - 1)
        done = max(done, top + len(cells) - 1)
        keep = min(len(cells), 2)
        top, cells = top + len(cells) - keep, cells[len(cells) - keep:]
    cells = np.concatenate((cells, below[: 0 if south == MPI.PROC_NULL else 1]))
    write(share.stop)
    return new_edges


def own_rows() -> slice:
    """This rank's rows."""
    lower, upper = ps.distribute((n, n), comm, ("block", "*")).section.dimensions[0][:2]
    return slice(lower, upper)


if __name__ == "__main__":
    make("old.npy")
    make("new.npy")
    share = ("block", "*") if sends else None
    hot = np.zeros((2, n))
    if comm.rank == 0:
        hot[0] = 100
        if own_rows() == slice(0, 1):
            hot[1] = 100
    with (ps.OutOfCoreArray("old.npy", "r+", distribution=share, memory=memory, comm=comm) as a,
          ps.OutOfCoreArray("new.npy", "r+", distribution=share, memory=memory, comm=comm) as b):
        for _ in range(iterations):
            if sends:
                hot = send_boundaries(a, b, hot)
                b.flush()
            else:
                read_boundaries(a, b)
            a, b = b, a
        newest = a.file.path
    if comm.rank == 0:
        u = np.zeros((n, n))
        u[0] = 100
        for _ in range(iterations):
            u[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
        print("largest difference from NumPy:", np.abs(np.load(newest) - u).max())
