"""The ranks' side of `penstock bench steps` and `peers`: the methods, each in its turn.

A series is writes into new files, writes into an existing file, or reads. In each round of a series
every method has a turn; the turns are taken and timed in C++ (`_core._Race`).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

from .._core import _Race
from .devices import device, has_o_direct
from .methods import PHASES, Engine, Memory, MpiIo, Rod
from .patterns import PATTERNS, SLABS, Pattern, size_text
from .phases import phase_seconds
from .ranks import BenchError, Worker, main
from .ratios import compare_methods
from .rounds import counts_of, time_rounds


def whole_shares(ranks: int, share: int) -> dict[str, str]:
    """Hints with which every rank writes what it has of the file, `share` bytes, in one request."""
    # Exchanges in step keep a window's bytes twice in their buffer.
    return {"method": "extended", "aggregators": str(ranks), "buffer_size": str(2 * share), "pipeline": "never"}


@dataclass(frozen=True)
class Case:
    """A pattern in a size, and those that are measured with it."""

    pattern: Pattern
    total: int
    memory: Memory
    race: Any
    methods: list[Any]  #: in the order in which they entered the race
    experiment: str
    about: Mapping[str, Mapping[str, Any]]  #: what a method's records tell beside its figures


class Bench(Worker):
    def __init__(self, job: dict[str, Any], comm: MPI.Intracomm):
        super().__init__(job, comm)
        self.device = device(job["on"])
        self.hints = {**self.device.hints, **job["hints"]}
        self.direct = "direct" in self.hints.get("storage", "")
        self.fresh = self.path + ".new"

    def run(self) -> None:
        if self.direct and not self.on_rank_0(lambda: has_o_direct(Path(self.path).parent)):
            raise BenchError(f"{Path(self.path).parent} is on a file system without O_DIRECT")
        try:
            for entry in self.job["entries"]:
                for name in entry["patterns"]:
                    for total in self.job["sizes"]:
                        self.measure(entry, {**PATTERNS, SLABS.name: SLABS}[name], total)
        finally:
            if self.comm.rank == 0:
                for path in (self.path, self.path + ".mpi-io", self.fresh):
                    Path(path).unlink(missing_ok=True)

    def measure(self, entry: dict[str, Any], pattern: Pattern, total: int) -> None:
        """`entry`: methods, and what they are to do; see `command.py`."""
        memory = Memory(pattern.part(total, self.comm.size, self.comm.rank))
        race = _Race(MPI._addressof(self.comm))
        case = Case(pattern, total, memory, race, self.enter(race, memory, entry, pattern.largest_share(total, self.comm.size)),
                    entry["experiment"], entry["about"])
        for operation, file in self.series(entry):
            self.measure_series(case, operation, file)
            self.tell(f"{entry['experiment']}, {pattern.name}, {size_text(total)}, {operation}, {file} file")

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

    @staticmethod
    def series(entry: dict[str, Any]) -> list[tuple[str, str]]:
        return [(operation, file) for operation in entry["operations"]
                for file in (entry["files"] if operation == "write" else ["existing"])]

    def enter(self, race: _Race, memory: Memory, entry: dict[str, Any], share: int) -> list[Any]:
        """`share`: the bytes that a rank has of the file when every rank has one piece of it."""
        # A modelled device slows the engine down, but no plain pwrite: it has no rod.
        methods: list[Any] = [] if self.device.is_paced else [Rod(race, memory, self.comm, self.direct)]
        for name, hints in entry["methods"].items():
            shares = whole_shares(self.comm.size, share) if name in entry["whole_shares"] else {}
            methods.append(Engine(race, name, memory, {**shares, **hints, **self.hints}, name in entry["writes_only"]))
        if self.job["mpi_io"]:
            methods.append(MpiIo(race, self.job["mpi_io"], memory))
        return methods

    def path_of(self, method: Any, new: bool) -> str:
        if new:
            return self.fresh
        # What MPI-IO leaves in the page cache would be written back while others go past it.
        return self.path + ".mpi-io" if self.direct and method.kind == "MPI-IO" else self.path

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
            holes = not (new and method.kind == "MPI-IO")
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
        common = {**self.about(), "experiment": case.experiment, **series, "pattern": case.pattern.name, "size": case.total, "bytes": wanted,
                  "file_bytes": case.pattern.file_bytes(case.total), "shape": part.shape, "dtype": part.dtype.str,
                  "device": "O_DIRECT" if self.direct else self.device.words, "on": self.device.name, "repeat": len(times)}
        spent = phase_seconds(self.mean(phases), times[..., 1])
        for k, i in enumerate(racing):
            opened, moved, closed = np.moveaxis(times[:, k], -1, 0)
            seconds = float(np.median(moved))
            name = case.methods[i].name
            line = {**common, **case.about.get(name, {}), "method": name, "kind": case.methods[i].kind, "seconds": seconds, "mb_per_s": wanted / seconds / 1e6,
                    "times": moved.tolist()}
            if series["file"] == "new":
                line |= {"open_times": opened.tolist(), "close_times": closed.tolist()}
            if isinstance(case.methods[i], Engine):
                line |= self.told_by_engine(case, i)
                line["phases"] = dict(zip(PHASES, np.median(slowest[:, k], axis=0).tolist()))
                line["spent"] = spent[k]
            lines.append(line)
        compare_methods(lines)
        for line in lines:
            self.append(line)

    def told_by_engine(self, case: Case, i: int) -> dict[str, Any]:
        return {"hints": case.methods[i].hints, "carried_out_by": case.race.carried_out_by(i),
                "counts": counts_of(self.comm, case.race, i)}


if __name__ == "__main__":
    sys.exit(main(Bench))
