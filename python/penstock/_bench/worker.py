"""The ranks' side of `penstock bench steps` and `peers`: the methods, each in its turn.

A series is writes into new files, writes into an existing file, or reads. In each round of a series
every method has a turn; the turns are taken and timed in C++ (`_core._Race`).
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

from .._core import _Race
from .devices import has_o_direct
from .methods import Engine, Memory, MpiIo, Rod
from .patterns import PATTERNS, Pattern
from .ranks import BenchError, Worker, main
from .ratios import compare_methods
from .report import PHASES, size_text
from .rounds import counts_of, time_rounds


@dataclass(frozen=True)
class Case:
    """A pattern in a size, and those that are measured with it."""

    pattern: Pattern
    total: int
    memory: Memory
    race: Any
    methods: list[Any]  #: in the order in which they entered the race


class Bench(Worker):
    def __init__(self, job: dict[str, Any], comm: MPI.Intracomm):
        super().__init__(job, comm)
        self.direct = "direct" in job["hints"].get("storage", "")
        self.fresh = self.path + ".new"

    def run(self) -> None:
        if self.direct and not self.on_rank_0(lambda: has_o_direct(Path(self.path).parent)):
            raise BenchError(f"{Path(self.path).parent} is on a file system without O_DIRECT")
        try:
            for name in self.job["patterns"]:
                for total in self.job["sizes"]:
                    self.measure(PATTERNS[name], total)
        finally:
            if self.comm.rank == 0:
                for path in (self.path, self.path + ".mpi-io", self.fresh):
                    Path(path).unlink(missing_ok=True)

    def measure(self, pattern: Pattern, total: int) -> None:
        memory = Memory(pattern.part(total, self.comm.size, self.comm.rank))
        race = _Race(MPI._addressof(self.comm))
        case = Case(pattern, total, memory, race, self.enter(race, memory))
        for operation, file in self.series():
            self.measure_series(case, operation, file)
            self.tell(f"{pattern.name}, {size_text(total)}, {operation}, {file} file")

    def measure_series(self, case: Case, operation: str, file: str) -> None:
        new, methods = file == "new", case.methods
        paths = [self.path_of(method, new) for method in methods]
        if not new:
            for path in dict.fromkeys(paths):
                self.on_rank_0(partial(self._make, case.pattern, case.total, path))
            case.race.open(paths)
        racing = [i for i, method in enumerate(methods) if operation == "write" or not method.writes_only]
        for i in racing:
            self.check(case, i, operation, new, paths[i])
        times, phases = time_rounds(self, case.race, racing, operation == "write", self.fresh if new else None)
        if not new:
            case.race.close_files()
        self.record(case, racing, {"operation": operation, "file": file}, times, phases)

    def series(self) -> list[tuple[str, str]]:
        return [(operation, file) for operation in self.job["operations"]
                for file in (self.job["files"] if operation == "write" else ["existing"])]

    def enter(self, race: _Race, memory: Memory) -> list[Any]:
        methods: list[Any] = [Rod(race, memory, self.comm, self.direct)]
        for name, hints in self.job["methods"].items():
            methods.append(Engine(race, name, memory, {**hints, **self.job["hints"]}, name in self.job["writes_only"]))
        if self.job["mpi_io"]:
            methods.append(MpiIo(race, self.job["mpi_io"], memory))
        return methods

    def path_of(self, method: Any, new: bool) -> str:
        if new:
            return self.fresh
        # What MPI-IO leaves in the page cache would be written back while others go past it.
        return self.path + ".mpi-io" if self.direct and method.is_mpi_io else self.path

    def _make(self, pattern: Pattern, total: int, path: str) -> None:
        with open(path, "wb") as f:
            f.truncate(pattern.file_bytes(total))
        pattern.fill(path, total, self.comm.size, empty=False)

    def check(self, case: Case, i: int, operation: str, new: bool, path: str) -> None:
        """One call, untimed: the file, or what was read, must be right to the byte."""
        method, pattern, ranks = case.methods[i], case.pattern, self.comm.size
        if not new:
            self.on_rank_0(lambda: pattern.fill(path, case.total, ranks, empty=operation == "write"))
        if operation == "read":
            (method if isinstance(method, Rod) else case.memory).forget()
        case.race.round([i], operation == "write", path if new else None)
        place = f"pattern {pattern.name} on {ranks} ranks"
        if operation == "write" and not isinstance(method, Rod):
            # ROMIO leaves in the holes of a new file what its buffer held; MPI says nothing of them.
            holes = not (new and method.is_mpi_io)
            at = self.on_rank_0(lambda: pattern.wrong_byte(path, case.total, ranks, holes))
            if at is not None:
                raise BenchError(f"{method.name} wrote a wrong file for {place}: the first wrong byte is {at}")
            return
        wrong = self.comm.allgather(not (method.is_right(path) if isinstance(method, Rod) else case.memory.is_right()))
        if any(wrong):
            raise BenchError(f"{method.name}: {operation} of {place} went wrong: rank {wrong.index(True)} has not what is "
                             "in the file, or memory beside it changed")

    def record(self, case: Case, racing: list[int], series: dict[str, str], times: np.ndarray, phases: np.ndarray) -> None:
        part, slowest, lines = case.memory.part, np.zeros_like(phases), []
        self.comm.Reduce(np.ascontiguousarray(phases), slowest, MPI.MAX)
        wanted = self.comm.allreduce(part.nbytes)
        common = {**self.about(), **series, "pattern": case.pattern.name, "size": case.total, "bytes": wanted,
                  "file_bytes": case.pattern.file_bytes(case.total), "shape": part.shape, "dtype": part.dtype.str,
                  "device": "O_DIRECT" if self.direct else "page cache", "repeat": len(times)}
        for k, i in enumerate(racing):
            opened, moved, closed = np.moveaxis(times[:, k], -1, 0)
            seconds = float(np.median(moved))
            line = {**common, "method": case.methods[i].name, "seconds": seconds, "mb_per_s": wanted / seconds / 1e6,
                    "times": moved.tolist()}
            if series["file"] == "new":
                line |= {"open_times": opened.tolist(), "close_times": closed.tolist()}
            if isinstance(case.methods[i], Engine):
                line |= self.told_by_engine(case, i)
                line["phases"] = dict(zip(PHASES, np.median(slowest[:, k], axis=0).tolist()))
            lines.append(line)
        compare_methods(lines)
        for line in lines:
            self.append(line)

    def told_by_engine(self, case: Case, i: int) -> dict[str, Any]:
        return {"hints": case.methods[i].hints, "carried_out_by": case.race.carried_out_by(i),
                "counts": counts_of(self.comm, case.race, i)}


if __name__ == "__main__":
    sys.exit(main(Bench))
