"""Timing methods that take turns in a race (`_core._Race`), and what a call counted."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Optional

import numpy as np
from mpi4py import MPI

from .._core import Statistics, _Race
from .methods import COLUMNS
from .ranks import LEAST_REPEATS, Worker
from .schedule import turns


def time_rounds(worker: Worker, race: _Race, racing: Sequence[int], writes: bool, fresh: Optional[str] = None, *,
                warm_up: int = 1, least: int = LEAST_REPEATS) -> tuple[np.ndarray, np.ndarray]:
    """Seconds of [repetition, method, open or call or close], and this rank's phases likewise.

    In each round every method of `racing` has its turn. The first `warm_up` rounds are not counted;
    a slow machine gets fewer than asked for, down to `least`.
    """
    start, rounds = time.monotonic(), []
    for repetition in range(-warm_up, worker.job["repeat"]):
        order = turns(max(repetition, 0), len(racing))
        told = race.round([racing[k] for k in order], writes, fresh)
        if repetition >= 0:
            rounds.append(np.reshape(told, (len(racing), COLUMNS))[np.argsort(order)])
        late = time.monotonic() - start > worker.job["patience"] and len(rounds) >= least
        if worker.comm.bcast(late):
            break
    stamps = np.array(rounds)
    begin, end = stamps[..., 0:6:2], stamps[..., 1:6:2]
    # On several machines, which have a clock each: of the rank that took longest.
    longest = np.ascontiguousarray(end - begin)
    worker.comm.Allreduce(MPI.IN_PLACE, longest, MPI.MAX)
    return worker.spans(begin, end, longest), stamps[..., 6:]


def counts_of(comm: MPI.Intracomm, race: _Race, method: int) -> dict[str, int]:
    """What a method's last call counted, sums over the ranks."""
    told = comm.allgather(race.last_call(method))
    return {f.name: sum(getattr(one, f.name) for one in told) for f in Statistics.fields()
            if f.unit != "seconds" and not f.peak}
