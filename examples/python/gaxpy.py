"""C = A B with matrices on disk that are larger than memory, as Thakur and Choudhary describe it (GAXPY).

    mpiexec -n 4 python gaxpy.py [N [MEMORY]]

Every rank has a block of columns of A and the block of rows of B that these are multiplied with. It keeps some rows of
its block of A (a tile) in memory and goes with them over all columns of B; a global sum gives that part of C.
"""

import sys

import numpy as np
import penstock as ps
from mpi4py import MPI

comm = MPI.COMM_WORLD
n = int(sys.argv[1]) if len(sys.argv) > 1 else 512
memory = sys.argv[2] if len(sys.argv) > 2 else "1M"


def make(name: str, seed: int) -> None:
    with ps.OutOfCoreArray(name, "w", (n, n), "f8", order="F", memory=memory, comm=comm) as array:
        for tile in array.tiles():
            values = np.random.default_rng([seed, tile.section.dimensions[1][0]])
            tile.values[...] = values.standard_normal(tile.shape)


def multiply(a: ps.OutOfCoreArray, b: ps.OutOfCoreArray, c: ps.OutOfCoreArray) -> None:
    for rows in a.tiles(axis=0, even=True):  # the next rows of A are read meanwhile
        first, last = limits(rows, 0)
        for columns in b.tiles(axis=1, even=True):
            left, right = limits(columns, 1)
            total = np.zeros((last - first, right - left), order="F")
            if rows and columns:
                total += rows.values @ columns.values
            comm.Allreduce(MPI.IN_PLACE, total)
            # Each rank writes some of the columns, while the next ones are multiplied.
            mine = slice((right - left) * comm.rank // comm.size, (right - left) * (comm.rank + 1) // comm.size)
            c.write_behind(total[:, mine], ps.section((first, last), (left + mine.start, left + mine.stop)))


def limits(tile: ps.Tile, dimension: int) -> tuple[int, int]:
    """Of the tile's indices, which all ranks have alike there; one without any elements asks the others."""
    lower, upper = tile.section.dimensions[dimension][:2]
    return comm.allreduce(lower, MPI.MAX), comm.allreduce(upper, MPI.MAX)


if __name__ == "__main__":
    make("a.npy", 1)
    make("b.npy", 2)
    with (ps.OutOfCoreArray("a.npy", distribution=("*", "block"), memory=memory, comm=comm) as a,
          ps.OutOfCoreArray("b.npy", distribution=("block", "*"), memory=memory, comm=comm) as b,
          ps.OutOfCoreArray("c.npy", "w", (n, n), "f8", order="F", memory=memory, comm=comm) as c):
        multiply(a, b, c)
    if comm.rank == 0:
        left, right, product = (np.load(name) for name in ("a.npy", "b.npy", "c.npy"))
        print("largest difference from NumPy:", np.abs(product - left @ right).max())
