"""The ranks' side of `penstock bench steps` and `peers`: the methods, each in its turn."""

from __future__ import annotations

import statistics
import sys
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

from .methods import Engine, Memory, MpiIo, Rod
from .patterns import PATTERNS, Part, Pattern
from .ranks import BenchError, Worker, barrier, main
from .report import PHASES, size_text

COUNTS = ("reads", "writes", "other_calls", "messages", "synchronisations", "allocations", "bytes_sent", "bytes_read",
          "bytes_written", "rounds", "sieved_windows")


class Bench(Worker):
    def __init__(self, job: dict[str, Any], comm: MPI.Intracomm):
        super().__init__(job, comm)
        self.direct = "direct" in job["hints"].get("storage", "")

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

    def time_all(self, methods: list[Any], operation: str) -> tuple[np.ndarray, np.ndarray]:
        """Seconds of each method in each repetition; seconds of this rank's phases likewise."""
        phases: list[list[list[float]]] = []
        stamps = self.take_turns([getattr(method, operation) for method in methods], self.job["repeat"],
                                 lambda: phases.append([self.phases(method) for method in methods]))
        return self.elapsed(stamps), np.array(phases)

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
                **self.about(), "pattern": pattern.name, "operation": operation,
                "size": total, "bytes": wanted, "file_bytes": pattern.file_bytes(total), "shape": part.shape,
                "dtype": part.dtype.str, "method": method.name,
                "seconds": seconds, "mb_per_s": wanted / seconds / 1e6, "of_rod": rod / seconds,
                "times": times[:, i].tolist(), "repeat": len(times),
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


if __name__ == "__main__":
    sys.exit(main(Bench))
