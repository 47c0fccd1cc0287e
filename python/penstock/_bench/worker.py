"""The ranks' side of `penstock bench`: run by it as `python -m penstock._bench.worker JOB`.

JOB is a JSON object, see `command.py`. Rank 0 appends one JSON line a measurement to the job's
results and prints a line "@ ..." for each piece of work done, which `penstock bench` counts.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

import penstock as ps
from penstock._core import mpi_library_version

from .methods import Engine, Memory, MpiIo, Rod
from .patterns import PATTERNS, Part, Pattern
from .report import PHASES, size_text

COUNTS = ("reads", "writes", "other_calls", "messages", "synchronisations", "allocations", "bytes_sent", "bytes_read",
          "bytes_written", "rounds", "sieved_windows")
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


class Bench:
    def __init__(self, job: dict[str, Any], comm: MPI.Intracomm):
        self.job, self.comm = job, comm
        self.direct = "direct" in job["hints"].get("storage", "")
        machine = comm.Split_type(MPI.COMM_TYPE_SHARED)
        self.one_machine = comm.allreduce(machine.size == comm.size, MPI.LAND)
        machine.Free()
        self.path = str(Path(job["device"]) / f"penstock-bench-{comm.bcast(os.getpid())}.dat")

    def run(self) -> None:
        try:
            for name in self.job["patterns"]:
                for total in self.job["sizes"]:
                    self.measure(PATTERNS[name], total)
        finally:
            if self.comm.rank == 0:
                for path in (self.path, self.path + ".mpi-io"):
                    Path(path).unlink(missing_ok=True)

    def measure(self, pattern: Pattern, total: int) -> None:
        part = pattern.part(total, self.comm.size, self.comm.rank)
        paths = [self.path]
        if self.direct and self.job["mpi_io"]:
            # What MPI-IO leaves in the page cache would be written back while others are timed.
            paths.append(self.path + ".mpi-io")
        for path in paths:
            self.on_rank_0(lambda: self._make(pattern, total, path))
        memory = Memory(part)
        methods = self.open_methods(memory, paths[-1])
        for operation in self.job["operations"]:
            for method in methods[1:]:
                path = paths[-1] if isinstance(method, MpiIo) else self.path
                self.check(method, operation, pattern, total, memory, path)
            times, phases = self.time_all(methods, operation)
            self.record(pattern, total, part, operation, methods, times, phases)
            self.tell(f"{pattern.name}, {size_text(total)}, {operation}")
        for method in methods:
            method.close()

    def _make(self, pattern: Pattern, total: int, path: str) -> None:
        with open(path, "wb") as f:
            f.truncate(pattern.file_bytes(total))
        pattern.fill(path, total, self.comm.size, empty=False)

    def open_methods(self, memory: Memory, mpi_io_path: str) -> list[Any]:
        methods: list[Any] = [self.open_rod(memory.part)]
        for name, hints in self.job["methods"].items():
            methods.append(Engine(name, self.path, memory, self.comm, {**hints, **self.job["hints"]}))
        if self.job["mpi_io"]:
            methods.append(MpiIo(self.job["mpi_io"], mpi_io_path, memory, self.comm))
        return methods

    def open_rod(self, part: Part) -> Rod:
        rod, error = None, None
        try:
            rod = Rod(self.path, part, self.comm, self.direct)
        except OSError as e:  # such as a file system without O_DIRECT
            error = f"{e}{' (O_DIRECT)' if self.direct else ''}"
        errors = [e for e in self.comm.allgather(error) if e]
        if errors or rod is None:
            raise BenchError(errors[0])
        return rod

    def check(self, method: Any, operation: str, pattern: Pattern, total: int, memory: Memory, path: str) -> None:
        """One call, untimed: the file, or what was read, must be right to the byte."""
        ranks = self.comm.size
        self.on_rank_0(lambda: pattern.fill(path, total, ranks, empty=operation == "write"))
        memory.forget()
        getattr(method, operation)()
        barrier(self.comm)
        if operation == "read":
            wrong = self.comm.allgather(not memory.is_right())
            if any(wrong):
                raise BenchError(f"{method.name} read pattern {pattern.name} on {ranks} ranks wrongly: rank "
                                 f"{wrong.index(True)} has not what is in the file, or memory beside it changed")
            return
        at = self.on_rank_0(lambda: pattern.wrong_byte(path, total, ranks))
        if at is not None:
            raise BenchError(f"{method.name} wrote a wrong file for pattern {pattern.name} on {ranks} ranks: "
                             f"the first wrong byte is {at}")

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

    def time_all(self, methods: list[Any], operation: str) -> tuple[np.ndarray, np.ndarray]:
        """Seconds of each method in each repetition; seconds of this rank's phases likewise.

        All methods in turn, again and again, so that a disturbance meets them alike; in an order
        drawn for each round, so that none always has the same one's leftovers in the caches. A
        first round is not counted. A slow machine gets fewer rounds.
        """
        comm, start, stamps, phases = self.comm, time.perf_counter(), [], []
        for repetition in range(self.job["repeat"] + 1):
            order = np.random.default_rng(repetition).permutation(len(methods))  # on all ranks the same
            row = [(0.0, 0.0, 0.0)] * len(methods)
            for i in order:
                row[i] = self.stamp(methods[i], operation)
            if repetition > 0:
                stamps.append(row)
                phases.append([self.phases(method) for method in methods])
            late = time.perf_counter() - start > self.job["patience"] and len(stamps) >= LEAST_REPEATS
            if comm.bcast(late):
                break
        return self.spans(np.array(stamps)), np.array(phases)

    def stamp(self, method: Any, operation: str) -> tuple[float, float, float]:
        """This rank's time before the call, after it, and after the barrier that follows."""
        call = getattr(method, operation)
        barrier(self.comm)
        begin = time.perf_counter()
        call()
        end = time.perf_counter()
        barrier(self.comm)
        return begin, end, time.perf_counter()

    def spans(self, stamps: np.ndarray) -> np.ndarray:
        """Seconds from the first rank's begin to the last one's end.

        Where there are more ranks than cores, others may be done before rank 0 has left the barrier:
        its own clock tells too little. Ranks of one machine have one clock. On several machines
        rank 0's has to do, from barrier to barrier.
        """
        first, last = np.ascontiguousarray(stamps[..., 0]), np.ascontiguousarray(stamps[..., 1])
        begin, end = np.zeros_like(first), np.zeros_like(last)
        self.comm.Allreduce(first, begin, MPI.MIN)
        self.comm.Allreduce(last, end, MPI.MAX)
        return end - begin if self.one_machine else stamps[..., 2] - stamps[..., 0]

    @staticmethod
    def phases(method: Any) -> list[float]:
        if not isinstance(method, Engine):
            return [0.0] * len(PHASES)
        call = method.last_call()
        return [float(getattr(call, f"time_{name}", 0.0)) for name in PHASES]

    def record(self, pattern: Pattern, total: int, part: Part, operation: str, methods: list[Any],
               times: np.ndarray, phases: np.ndarray) -> None:
        comm, wanted = self.comm, self.comm.allreduce(part.nbytes)
        slowest = np.zeros_like(phases)
        comm.Reduce(phases, slowest, MPI.MAX)
        rod = float(np.median(times[:, 0]))
        for i, method in enumerate(methods):
            seconds = statistics.median(times[:, i].tolist())
            line = {
                "command": self.job["command"], "pattern": pattern.name, "operation": operation,
                "size": total, "bytes": wanted, "file_bytes": pattern.file_bytes(total), "shape": part.shape,
                "dtype": part.dtype.str, "ranks": comm.size, "method": method.name, "run": self.job["run"],
                "seconds": seconds, "mb_per_s": wanted / seconds / 1e6, "of_rod": rod / seconds,
                "times": times[:, i].tolist(), "repeat": len(times),
                "cores": len(os.sched_getaffinity(0)), "mpi": library(),
                "device": "O_DIRECT" if self.direct else "page cache",
            }
            if isinstance(method, Engine):
                call = method.last_call()
                counts = comm.allreduce(np.array([int(getattr(call, name, 0)) for name in COUNTS]))
                line |= {"hints": {**self.job["methods"][method.name], **self.job["hints"]},
                         "carried_out_by": method.carried_out_by,
                         "phases": dict(zip(PHASES, np.median(slowest[:, i], axis=0).tolist())),
                         "counts": dict(zip(COUNTS, counts.tolist()))}
            self.append(line)

    def append(self, line: dict[str, Any]) -> None:
        if self.comm.rank == 0:
            with open(self.job["results"], "a", encoding="utf-8") as f:
                f.write(json.dumps(line) + "\n")

    def tell(self, text: str) -> None:
        if self.comm.rank == 0:
            print(f"@ {text}", flush=True)


def main() -> int:
    comm = MPI.COMM_WORLD
    warnings.showwarning = lambda message, *_, **__: print(f"penstock bench: {message}", file=sys.stderr)
    try:
        Bench(json.loads(sys.argv[1]), comm).run()
    except (ps.Error, BenchError) as error:  # the same on every rank: one of them tells
        if comm.rank == 0:
            print(f"penstock bench: {error}", file=sys.stderr)
        return 1
    except Exception:  # of this rank alone, maybe: the others must not wait for it
        traceback.print_exc()
        sys.stderr.flush()
        comm.Abort(1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
