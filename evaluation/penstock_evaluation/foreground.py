"""A program's work while its I/O is in flight: computation, and communication."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Union

import numpy as np
from mpi4py import MPI
from penstock._bench.ranks import Worker, barrier

ELEMENTS = 8192  # 64 KiB of doubles: stays in a core's cache
MESSAGE = 8192  # bytes
PIECE = 32768  # doubles, 256 KiB
BROADCAST = 1 << 20  # bytes
LONGEST = 1 << 24  # units; a foreground that needs more to take long enough is useless


class Computation:
    """Multiplications of floating-point numbers in the cache, and no call of MPI."""

    name = "computation"

    def __init__(self, comm: MPI.Intracomm):
        self._values = np.linspace(1.0, 2.0, ELEMENTS)

    def run(self, count: int) -> None:
        values = self._values
        for _ in range(count):  # there and back, so that no number grows out of bounds
            np.multiply(values, 1.25, out=values)
            np.multiply(values, 0.8, out=values)

    def close(self) -> None:
        pass


class Communication:
    """The ring: rank N sends 8 KiB to rank N+1 and receives as much from rank N-1, again and again."""

    name = "communication"

    def __init__(self, comm: MPI.Intracomm):
        self._comm = comm.Dup()
        self._next, self._previous = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        self._sent, self._received = np.zeros(MESSAGE, np.uint8), np.zeros(MESSAGE, np.uint8)

    def run(self, count: int) -> None:
        for _ in range(count):
            self._comm.Sendrecv(self._sent, self._next, 0, self._received, self._previous, 0)

    def close(self) -> None:
        self._comm.Free()


class ArrayComputation:
    """Multiplications on an array too large for the caches: a unit is a piece of it, one after the other."""

    name = "computation"

    def __init__(self, comm: MPI.Intracomm, size: int):
        values = np.ones(max(size // 8, 1))
        self._pieces, self._next = [values[at : at + PIECE] for at in range(0, len(values), PIECE)], 0

    def run(self, count: int) -> None:
        for _ in range(count):
            piece = self._pieces[self._next]
            np.multiply(piece, 1.25, out=piece)
            np.multiply(piece, 0.8, out=piece)
            self._next = (self._next + 1) % len(self._pieces)

    def close(self) -> None:
        pass


class Broadcasts:
    """Messages of 1 MiB from one rank to all, each time from the next one."""

    name = "broadcast"

    def __init__(self, comm: MPI.Intracomm, size: int):
        self._comm, self._message, self._next = comm.Dup(), np.zeros(BROADCAST, np.uint8), 0

    def run(self, count: int) -> None:
        for _ in range(count):
            self._comm.Bcast(self._message, self._next)
            self._next = (self._next + 1) % self._comm.size

    def close(self) -> None:
        self._comm.Free()


FOREGROUNDS: dict[str, Callable[[MPI.Intracomm], Union[Computation, Communication]]] = {"computation": Computation, "communication": Communication}


def together(worker: Worker, foreground: Any, count: int) -> float:
    """Seconds of `count` units on all ranks at once, from the first one's begin to the last one's end."""
    barrier(worker.comm)
    begin = time.perf_counter()
    foreground.run(count)
    end = time.perf_counter()
    barrier(worker.comm)
    span = worker.spans(np.array([begin]), np.array([end]), np.array([time.perf_counter() - begin]))
    return float(worker.comm.bcast(span[0]))


def calibrate(worker: Worker, foreground: Any, seconds: float) -> int:
    """Number of units that take about `seconds` while all ranks run them. The same on all ranks."""
    count, span = 1, 0.0
    while count < LONGEST:
        span = together(worker, foreground, count)
        if span > min(0.02, seconds / 2):
            break
        count *= 4
    each = [span / count]
    for _ in range(3):  # at the length that it is to have
        count = max(round(seconds / each[-1]), 1)
        each.append(together(worker, foreground, count) / count)
    return max(round(seconds / float(np.median(each[1:]))), 1)
