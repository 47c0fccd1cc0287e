"""The ranks' side of `python -m penstock_evaluation split`: begin, do something else, wait.

All methods take turns within one run (see `ranks.py`), so that their ratios hold on a noisy
machine. Of one repetition, T being the seconds from the first rank's begin to the last one's end:

- io: begin and wait in mode `none`, nothing between.
- alone: the foreground, no file in use. It is calibrated to LONGER times io, with all ranks at it, and
  again after each repetition.
- none, storage, all: begin in that mode (with the threads of the background at a priority), the foreground (which all ranks start together, so that its
  seconds can be compared with those alone), wait.
- again: `none` once more. How it compares with itself is what the machine's noise is.
- hidden = 1 - (T(mode) - T(alone)) / T(io): the part of the I/O that the program did not see.
- slowdown = (seconds of the foreground within the mode's run) / (those alone) - 1, means of all ranks.

Medians of these over the repetitions are reported.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import penstock as ps
from mpi4py import MPI
from penstock._bench.devices import device, of_file
from penstock._bench.methods import Memory
from penstock._bench.patterns import PATTERNS, SLABS, Pattern
from penstock._bench.ranks import BenchError, Worker, barrier, main
from penstock._bench.worker import whole_shares

from .foreground import FOREGROUNDS, calibrate
from .report import MODES, PRIORITIES

LONGER = 1.1  # the foreground's length to that of the I/O
MOST = 20  # calls in a sample


class Way:
    """One way through the phases: `rounds` times I/O, foreground or both."""

    def __init__(self, name: str, comm: MPI.Intracomm, begin: Callable[[], Any], foreground: Callable[[], None]):
        self.name, self._comm, self._begin, self._foreground = name, comm, begin, foreground
        self.rounds = 1
        self.seconds = (0.0, 0.0, 0.0)  #: of this rank in the last call: begin, foreground, wait; a round

    def __call__(self) -> None:
        spent = [0.0, 0.0, 0.0]
        clock = time.perf_counter
        for _ in range(self.rounds):
            start = clock()
            handle = self._begin()
            barrier(self._comm)
            begun = clock()
            self._foreground()
            done = clock()
            if handle is not None:
                handle.wait()
            for i, seconds in enumerate((begun - start, done - begun, clock() - done)):
                spent[i] += seconds / self.rounds
        self.seconds = (spent[0], spent[1], spent[2])


class Overlap(Worker):
    def __init__(self, job: dict[str, Any], comm: MPI.Intracomm):
        super().__init__(job, comm)
        self.device = device(job["on"])

    def run(self) -> None:
        try:
            for experiment in self.job["experiments"]:
                for operation in self.job["operations"]:
                    self.measure(experiment, operation)
                    self.tell(f"{experiment}, {operation}")
        finally:
            if self.comm.rank == 0:
                Path(self.path).unlink(missing_ok=True)

    def measure(self, experiment: str, operation: str) -> None:
        alone = experiment == "independent"
        pattern = SLABS if alone else PATTERNS[self.job["pattern"]]
        total = self.job["slab"] * self.comm.size if alone else self.job["size"]
        memory = Memory(pattern.part(total, self.comm.size, self.comm.rank))
        foreground = FOREGROUNDS["computation" if alone else experiment](self.comm)
        modes, missing = self.modes(list(MODES))
        self.make(pattern, total)
        # Without exchange every rank writes its own part: independent, but for agreeing on errors.
        way = {"method": "direct"} if alone else self.set_up(pattern.largest_share(total, self.comm.size))
        with ps.open(self.path, "r+", shape=memory.part.shape, dtype=memory.part.dtype, comm=self.comm,
                     hints={**way, **self.device.hints, **self.job["hints"]}, container="raw") as f:
            methods = {method: told for mode in modes for method, told in self.methods(mode).items()}
            for method in methods:
                self.check(f, method, operation, pattern, total, memory)
            record = {**self.about(), "experiment": experiment, "foreground": foreground.name, "operation": operation,
                      "device": of_file(f, self.device), "on": self.device.name, "pattern": pattern.name,
                      "size": total, "bytes": self.comm.allreduce(memory.part.nbytes), "set_up": self.job["set_up"]}
            self.time_modes(f, methods, operation, memory, foreground, record)
        for mode, why in missing.items():
            self.append({**record, "method": mode, "mode": mode, "priority": "auto", "unavailable": why})
        foreground.close()

    def set_up(self, share: int) -> dict[str, str]:
        """Hints of the exchange: the engine's choice, or that of Dickens and Thakur."""
        if self.job["set_up"] == "default":
            return {}
        return {"exchange": "step5", **whole_shares(self.comm.size, share)}

    def methods(self, mode: str) -> dict[str, dict[str, str]]:
        """A mode with each priority of its thread; `none` has no thread."""
        if mode == "none":
            return {mode: {"mode": mode, "priority": "auto"}}
        return {mode if priority == "auto" else f"{mode}, {priority}": {"mode": mode, "priority": priority}
                for priority in self.job["priorities"]}

    @staticmethod
    def modes(wanted: list[str]) -> tuple[list[str], dict[str, str]]:
        """Those that the MPI library supports, and why not the others."""
        if MPI.Query_thread() >= MPI.THREAD_MULTIPLE:
            return wanted, {}
        why = "needs MPI_THREAD_MULTIPLE"
        return [m for m in wanted if m != "all"], {m: why for m in wanted if m == "all"}

    def make(self, pattern: Pattern, total: int) -> None:
        def work() -> None:
            with open(self.path, "wb") as f:
                f.truncate(pattern.file_bytes(total))

        self.on_rank_0(work)

    def starter(self, file: Any, method: str, operation: str, memory: Memory) -> Callable[[], Any]:
        section, (mode, _, priority) = memory.part.section, method.partition(", ")
        settings = PRIORITIES[priority or "auto"]
        if operation == "write":
            source = memory.elements(memory.source)
            return lambda: file.write_begin(source, section, background=mode, **settings)
        target = memory.elements(memory.target)
        return lambda: file.read_begin(section, out=target, background=mode, **settings)

    def check(self, file: Any, method: str, operation: str, pattern: Pattern, total: int, memory: Memory) -> None:
        """One call, untimed: the file, or what was read, must be right to the byte."""
        if operation == "write":
            self.make(pattern, total)
        else:
            self.on_rank_0(lambda: pattern.fill(self.path, total, self.comm.size, empty=False))
        memory.forget()
        self.starter(file, method, operation, memory)().wait()
        barrier(self.comm)
        if operation == "write":
            source = memory.elements(memory.source)
            places = self.comm.allgather(None if source is None else memory.part.wrong_byte(self.path, source))
            at = min((p for p in places if p is not None), default=None)
            what = "wrote a wrong file" if at is not None else ""
        else:
            at = None
            what = "" if self.comm.allreduce(memory.is_right(), MPI.LAND) else "read wrongly"
        if what:
            place = "" if at is None else f"; the first wrong element starts at byte {at}"
            raise BenchError(f"mode {method} {what} for pattern {pattern.name} on {self.comm.size} ranks, "
                             f"{of_file(file, self.device)}{place}")

    def time_modes(self, file: Any, methods: dict[str, dict[str, str]], operation: str, memory: Memory, foreground: Any,
                   record: dict[str, Any]) -> None:
        begins = {method: self.starter(file, method, operation, memory) for method in methods}
        io = Way("io", self.comm, begins["none"], lambda: None)
        seconds = float(np.median(self.elapsed(self.take_turns([io], 2))))
        rounds = io.rounds = self.comm.bcast(min(max(math.ceil(self.job["sample"] / seconds), 1), MOST))
        seconds = float(np.median(self.elapsed(self.take_turns([io], 2)))) / rounds
        units = [calibrate(self, foreground, self.comm.bcast(LONGER * seconds))]
        work: Callable[[], None] = lambda: foreground.run(units[-1])
        alone = Way("alone", self.comm, lambda: None, work)
        ways = [io, alone, *(Way(method, self.comm, begins[method], work) for method in methods)]
        ways.append(Way("again", self.comm, begins["none"], work))
        parts: list[list[tuple[float, float, float]]] = []
        for way in ways:
            way.rounds = rounds

        def after() -> None:
            parts.append([way.seconds for way in ways])
            # The machine may have become faster or slower: half of the way to where it should be.
            wanted, was = self.mean([LONGER * sum(io.seconds), sum(alone.seconds)])
            units.append(max(round(units[-1] * min(max(float(wanted / was), 0.25), 4.0) ** 0.5), 1))

        stamps = self.take_turns(ways, self.job["repeat"], after)
        self.record(ways, self.elapsed(stamps) / rounds, self.mean(parts),
                    {**record, "rounds": rounds, "units": units[: len(stamps)], "counts": self.counts(file)}, methods)

    def counts(self, file: Any) -> dict[str, float]:
        """Of the file so far, the most of any rank."""
        told = file.statistics
        return {field.name: self.comm.allreduce(getattr(told, field.name), MPI.MAX) for field in told.fields()}

    def record(self, ways: list[Way], times: np.ndarray, parts: np.ndarray, common: dict[str, Any],
               methods: dict[str, dict[str, str]]) -> None:
        """`times` of [repetition, way]; `parts`, the same for begin, foreground and wait."""
        names = [way.name for way in ways]
        io, alone, none = (times[:, names.index(name)] for name in ("io", "alone", "none"))
        work_alone = parts[:, names.index("alone"), 1]
        noise = float(np.median(times[:, names.index("again")] / none))
        for i, name in enumerate(names[:-1]):
            line = {**common, "method": name, "seconds": float(np.median(times[:, i])), "times": times[:, i].tolist(),
                    "repeat": len(times), "io": float(np.median(io)), "alone": float(np.median(alone))}
            if name in methods:
                line |= {**methods[name], "of_none": float(np.median(times[:, i] / none)), "again_of_none": noise,
                         "hidden": float(np.median(1 - (times[:, i] - alone) / io)),
                         "slowdown": float(np.median(parts[:, i, 1] / work_alone - 1)),
                         "parts": dict(zip(("begin", "foreground", "wait"), np.median(parts[:, i], axis=0).tolist()))}
            self.append(line)


if __name__ == "__main__":
    sys.exit(main(Overlap))
