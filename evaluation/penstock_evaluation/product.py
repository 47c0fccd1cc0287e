"""Matrix multiplication on a square of doubles in blocks: the other program to take snapshots of.

Ma and others repeated their Jacobi tests with one. A = L x R, panel by panel: in each step the
ranks of a row get the next columns of L from the rank that has them, those of a column the same
rows of R, and every rank adds the product of the two to its block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import penstock as ps
from mpi4py import MPI
from penstock._bench.schedule import run_with_snapshots


class Product:
    """One rank of it."""

    def __init__(self, comm: MPI.Intracomm, size: int):
        self.d = ps.distribute((size, size), comm, kind="block")
        (self._top, bottom), (self._left, right) = (tuple(dim[:2]) for dim in self.d.section.dimensions)
        row, column = (int(at) for at in self.d.coordinates)
        self._row, self._column = comm.Split(row, column), comm.Split(column, row)
        self._owners_of_columns = self._row.allgather((self._left, right))
        self._owners_of_rows = self._column.allgather((self._top, bottom))
        rows, columns = np.arange(self._top, bottom)[:, None], np.arange(self._left, right)[None, :]
        self._factor, self._other = (rows - columns) % 7 - 3.0, (rows + 2 * columns) % 5 - 2.0
        self._sum, self._size = np.zeros((bottom - self._top, right - self._left)), size

    @property
    def block(self) -> np.ndarray:
        """This rank's elements of the product."""
        return self._sum

    def restart(self) -> None:
        self._sum[...] = 0.0

    def close(self) -> None:
        self._row.Free()
        self._column.Free()

    def run(self, iterations: int, snapshots: int, snapshot: Callable[[], None]) -> float:
        """Seconds of the computation, broadcasts included. After the last step the product is whole."""
        bounds = [self._size * k // iterations for k in range(iterations + 1)]
        return run_with_snapshots(lambda k: self._step(bounds[k], bounds[k + 1]), iterations, snapshots, snapshot)

    def _step(self, first: int, last: int) -> None:
        while first < last:  # a panel ends where a rank's block does
            source, end_of_columns = _owner(self._owners_of_columns, first)
            other, end_of_rows = _owner(self._owners_of_rows, first)
            end = min(last, end_of_columns, end_of_rows)
            columns = self._panel(self._row, source, self._factor[:, first - self._left : end - self._left], (len(self._sum), end - first))
            rows = self._panel(self._column, other, self._other[first - self._top : end - self._top], (end - first, self._sum.shape[1]))
            self._sum += columns @ rows
            first = end

    @staticmethod
    def _panel(comm: MPI.Comm, source: int, mine: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
        panel = np.ascontiguousarray(mine) if comm.rank == source else np.empty(shape)
        comm.Bcast(panel, source)
        return panel


def _owner(ranges: Sequence[Any], at: int) -> tuple[int, int]:
    """Which rank has this row or column, and where its block ends."""
    return next((rank, end) for rank, (begin, end) in enumerate(ranges) if begin <= at < end)
