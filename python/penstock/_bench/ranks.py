"""The ranks' side of `penstock bench`, as far as all its commands share it.

A worker is run as `python -m MODULE JOB`; JOB is a JSON object, see `command.py` and
`background.py`. Rank 0 appends one JSON line a measurement to the job's results and prints a line
"@ ..." for each piece of work done, which `penstock bench` counts.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

import penstock as ps
from penstock._core import mpi_library_version

LEAST_REPEATS = 3


class BenchError(Exception):
    """The same on every rank."""


def barrier(comm: MPI.Intracomm) -> None:
    """Waits for all ranks, but lets those run that others wait for."""
    request = comm.Ibarrier()
    while not request.Test():
        os.sched_yield()


def library() -> str:
    """Name and version of the MPI library, in few words."""
    first = mpi_library_version().splitlines()[0].partition(",")[0]
    return " ".join(first.replace("\0", "").replace("Version:", "").split())


class Worker(ABC):
    """One rank of a benchmark."""

    def __init__(self, job: dict[str, Any], comm: MPI.Intracomm):
        self.job, self.comm = job, comm
        machine = comm.Split_type(MPI.COMM_TYPE_SHARED)
        self.one_machine = comm.allreduce(machine.size == comm.size, MPI.LAND)
        machine.Free()
        self.path = str(Path(job["device"]) / f"penstock-bench-{comm.bcast(os.getpid())}.dat")

    @abstractmethod
    def run(self) -> None:
        """Measures all of the job."""

    def on_rank_0(self, work: Callable[[], Any]) -> Any:
        """Its result, or its error, on every rank."""
        result, error = None, None
        if self.comm.rank == 0:
            try:
                result = work()
            except OSError as e:
                error = str(e)
        result, error = self.comm.bcast((result, error))
        if error is not None:
            raise BenchError(error)
        return result

    def take_turns(self, calls: Sequence[Callable[[], Any]], repeat: int,
                   after: Callable[[], None] = lambda: None, warm_up: int = 1) -> np.ndarray:
        """Stamps of [repetition, call]: this rank's time before it, after it, and after the barrier behind it.

        All calls in turn, again and again, so that a disturbance affects all of them; in an order drawn for each round,
        so that none always has the same one's leftovers in the caches. A first round is not counted; `after` each other
        one, `after()` is called. A slow machine gets fewer rounds. What a call's `prepare` and `finish` do, where it
        has them, is not timed.
        """
        comm, start, stamps = self.comm, time.perf_counter(), []
        for repetition in range(repeat + warm_up):
            order = np.random.default_rng(repetition).permutation(len(calls))  # on all ranks the same
            row = [(0.0, 0.0, 0.0)] * len(calls)
            for i in order:
                row[i] = self._stamp(calls[i])
            if repetition >= warm_up:
                stamps.append(row)
                after()
            late = time.perf_counter() - start > self.job["patience"] and len(stamps) >= LEAST_REPEATS
            if comm.bcast(late):
                break
        return np.array(stamps)

    def _stamp(self, call: Callable[[], Any]) -> tuple[float, float, float]:
        getattr(call, "prepare", lambda: None)()
        barrier(self.comm)
        begin = time.perf_counter()
        call()
        end = time.perf_counter()
        barrier(self.comm)
        after = time.perf_counter()
        getattr(call, "finish", lambda: None)()
        return begin, end, after

    def elapsed(self, stamps: np.ndarray) -> np.ndarray:
        """Seconds of each call in each repetition."""
        return self.spans(stamps[..., 0], stamps[..., 1], stamps[..., 2] - stamps[..., 0])

    def spans(self, begin: np.ndarray, end: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
        """Seconds from the first rank's begin to the last one's end.

        Where there are more ranks than cores, others may be done before rank 0 has left the barrier:
        its own clock tells too little. Ranks of one machine have one clock. On several machines
        `otherwise` has to do, such as rank 0's from barrier to barrier.
        """
        first, last = np.ascontiguousarray(begin), np.ascontiguousarray(end)
        earliest, latest = np.zeros_like(first), np.zeros_like(last)
        self.comm.Allreduce(first, earliest, MPI.MIN)
        self.comm.Allreduce(last, latest, MPI.MAX)
        return latest - earliest if self.one_machine else otherwise

    def mean(self, values: Any) -> np.ndarray:
        """Of all ranks."""
        mine = np.array(values, float)
        total = np.zeros_like(mine)
        self.comm.Allreduce(mine, total)
        return total / self.comm.size

    def about(self) -> dict[str, Any]:
        """What every record has."""
        return {"command": self.job["command"], "run": self.job["run"], "ranks": self.comm.size,
                "cores": len(os.sched_getaffinity(0)), "mpi": library()}

    def append(self, line: dict[str, Any]) -> None:
        if self.comm.rank == 0:
            with open(self.job["results"], "a", encoding="utf-8") as f:
                f.write(json.dumps(line) + "\n")

    def tell(self, text: str) -> None:
        if self.comm.rank == 0:
            print(f"@ {text}", flush=True)


def main(worker: Callable[[dict[str, Any], MPI.Intracomm], Worker]) -> int:
    comm = MPI.COMM_WORLD
    warnings.showwarning = lambda message, *_, **__: print(f"penstock bench: {message}", file=sys.stderr)
    try:
        worker(json.loads(sys.argv[1]), comm).run()
    except (ps.Error, BenchError) as error:  # the same on every rank: one of them tells
        if comm.rank == 0:
            print(f"penstock bench: {error}", file=sys.stderr)
        return 1
    except Exception:  # of this rank alone, maybe: the others must not wait for it
        traceback.print_exc()
        sys.stderr.flush()
        comm.Abort(1)
    return 0
