"""When a program takes snapshots, and whose turn it is. Apart from the programs: these start MPI."""

from __future__ import annotations

import time
from collections.abc import Callable


def snapshot_steps(iterations: int, snapshots: int) -> set[int]:
    """After which iterations, evenly; the last is the last."""
    return {iterations * (k + 1) // snapshots for k in range(snapshots)}


def turns(repetition: int, methods: int) -> list[int]:
    """The order of a round. Every other round goes backwards, so that each method comes as often after the one before
    it as after the one behind it: one that follows a method like itself finds what it needs in the caches. The next pair
    of rounds begins with the next method.
    """
    order = [(repetition // 2 + i) % methods for i in range(methods)]
    return order[::-1] if repetition % 2 else order


def run_with_snapshots(step: Callable[[int], None], iterations: int, snapshots: int, snapshot: Callable[[], None]) -> float:
    """Seconds of the steps alone, which get their number."""
    steps, seconds = snapshot_steps(iterations, snapshots), 0.0
    begin = time.perf_counter()
    for iteration in range(iterations):
        step(iteration)
        if iteration + 1 in steps:
            seconds += time.perf_counter() - begin
            snapshot()
            begin = time.perf_counter()
    return seconds + time.perf_counter() - begin
