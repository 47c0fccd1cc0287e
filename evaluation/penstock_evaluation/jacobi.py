"""Jacobi relaxation on a square of doubles, in blocks with a halo of one cell: a program to take snapshots of."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import penstock as ps
from mpi4py import MPI
from penstock._bench.schedule import run_with_snapshots

STRIP = 1 << 16  # cells that are worked on at a time: what is on the way stays in the cache


class Jacobi:
    """One rank of it. Borders keep their values: the northern one is hot, the others are cold."""

    def __init__(self, comm: MPI.Intracomm, size: int):
        self.d = ps.distribute((size, size), comm, kind="block", halo=1)
        self._comm, self._neighbours = comm, [self._neighbour(a, s) for a in (0, 1) for s in (-1, 1)]
        rows, columns = self.d.section.shape
        # One cell around the block everywhere, where the square ends too.
        self._now, self._next = np.zeros((rows + 2, columns + 2)), np.zeros((rows + 2, columns + 2))
        self._strip = max(STRIP // columns, 1)
        self._sums = np.empty((self._strip, columns))
        self._sides = np.empty((4, max(rows, columns)))
        self.restart()

    @property
    def block(self) -> np.ndarray:
        """This rank's cells, a view without the halo."""
        return self._now[1:-1, 1:-1]

    def _neighbour(self, axis: int, step: int) -> int:
        place = list(self.d.coordinates)
        place[axis] += step
        inside = 0 <= place[axis] < self.d.grid[axis]
        return int(np.ravel_multi_index(place, self.d.grid)) if inside else MPI.PROC_NULL

    def restart(self) -> None:
        for cells in (self._now, self._next):
            cells[...] = 0.0
            if self._neighbours[0] == MPI.PROC_NULL:
                cells[0] = 100.0

    def step(self) -> None:
        self._exchange()
        now, new, sums = self._now, self._next, self._sums
        rows = now.shape[0] - 2
        for first in range(1, rows + 1, self._strip):
            last = min(first + self._strip, rows + 1)
            sum_ = sums[: last - first]
            np.add(now[first - 1 : last - 1, 1:-1], now[first + 1 : last + 1, 1:-1], out=sum_)
            np.add(sum_, now[first:last, :-2], out=sum_)
            np.add(sum_, now[first:last, 2:], out=sum_)
            np.multiply(sum_, 0.25, out=new[first:last, 1:-1])
        self._now, self._next = new, now

    def _exchange(self) -> None:
        cells, (north, south, west, east) = self._now, self._neighbours
        self._swap(cells[1, 1:-1], north, cells[-1, 1:-1], south)
        self._swap(cells[-2, 1:-1], south, cells[0, 1:-1], north)
        self._swap(cells[1:-1, 1], west, cells[1:-1, -1], east)
        self._swap(cells[1:-1, -2], east, cells[1:-1, 0], west)

    def _swap(self, sent: np.ndarray, to: int, received: np.ndarray, source: int) -> None:
        out, into = (side[: sent.size] for side in self._sides[:2])
        out[...] = sent
        self._comm.Sendrecv(out, to, 0, into, source, 0)
        if source != MPI.PROC_NULL:
            received[...] = into

    def run(self, iterations: int, snapshots: int, snapshot: Callable[[], None]) -> float:
        """Seconds of the computation, exchange of halos included."""
        return run_with_snapshots(lambda _: self.step(), iterations, snapshots, snapshot)

    def close(self) -> None:
        pass
