"""The ranks' side of `python -m penstock_evaluation outofcore`: all methods of running a program, in turns.

Of a run: seconds is from the first rank's begin to the last one's end, with opening and closing of files; I/O is what is
left of it beside the computation of the mean rank. The hidden share of a way is the part of the I/O of the same way without
overlap that is gone: (seconds without - seconds with) / I/O without.
"""

from __future__ import annotations

import re
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI
from penstock._bench.devices import device
from penstock._bench.ranks import BenchError, Worker, main

from .foreground import Computation, calibrate
from .outofcore_programs import ARRAYS, PROGRAMS, TYPE, WAYS, How, Setting

LONGER = 1.1  # the work of the loop to its I/O
FILES = ("a", "b", "c", "old", "new", "x")


def own_memory() -> int:
    """Bytes of anonymous and shared pages; of those that ranks share, this one's part."""
    text = Path("/proc/self/smaps_rollup").read_text()
    return sum(1024 * int(found) for found in re.findall(r"Pss_(?:Anon|Shmem):\s+(\d+)", text))


class Way:
    """One way to run a program: called, it runs it once."""

    def __init__(self, bench: OutOfCore, program: str, how: How, setting: Setting):
        self.how, self._bench, self._program, self._setting = how, bench, program, setting
        self.computing: list[float] = []  #: seconds of this rank in each call

    def prepare(self) -> None:
        self._bench.make(self._program, self._setting)
        self._setting.files.clear()

    def __call__(self) -> None:
        self.computing.append(PROGRAMS[self._program](self._setting, self.how))


class OutOfCore(Worker):
    def __init__(self, job: dict[str, Any], comm: MPI.Intracomm):
        super().__init__(job, comm)
        self.device = device(job["on"])
        self.before = self.peak = 0

    def run(self) -> None:
        try:
            self.warm_up()
            self.measure(self.job["program"])
        finally:
            if self.comm.rank == 0:
                for name in FILES:
                    Path(f"{self.path}-{name}").unlink(missing_ok=True)

    def warm_up(self) -> None:
        """Excludes one-time allocations of a process from the memory of its arrays."""
        np.ones((64, 64), TYPE) @ np.ones((64, 64), TYPE)
        small = Setting(self.comm, self.path + "-small", 16 * self.comm.size, 16384, 1, self.hints)
        self.make("loop", small)
        for how in WAYS["loop"]:
            PROGRAMS["loop"](small, how)
        self.on_rank_0(lambda: Path(small.path("x")).unlink())

    @property
    def hints(self) -> dict[str, str]:
        return {**self.device.hints, **self.job["hints"]}

    def measure(self, program: str) -> None:
        memory = self.job["loop_memory" if program == "loop" else "memory"]
        on = Setting(self.comm, self.path, self.size_of(program), memory, self.job["iterations"], self.hints)
        ways = [Way(self, program, how, on) for how in WAYS[program]]
        ways[0].prepare()
        self.before = own_memory()
        if program == "loop":
            self.calibrate(on)
        on.sample = self.sample
        told = [self.look_at(way, on) for way in ways]
        on.sample = lambda: None
        for way in ways:  # afterwards: rank 0 keeps some of the memory that it compares whole files with
            way.prepare()
            way()
            self.check(program, on, way.how.name)
            way.computing.clear()
        times = self.elapsed(self.take_turns(ways, self.job["repeat"], warm_up=0))
        peaks, counts = [peak for peak, _ in told], [count for _, count in told]
        self.record(program, on, ways, times, peaks, counts)
        self.tell(program)

    def size_of(self, program: str) -> int:
        if program != "loop":
            return int(self.job["size"])
        # As many steps for any number of ranks: what cannot be hidden is the first read and the last write.
        elements = self.comm.size * self.job["steps"] * (self.job["loop_memory"] * 3 // 4 // 5) // TYPE.itemsize
        return int(elements**0.5)

    def counts(self, files: list[Any]) -> dict[str, int]:
        """What reached the storage, sums over files and ranks."""
        names = ("reads", "writes", "bytes_read", "bytes_written")
        mine = [sum(getattr(file.statistics, name) for file in files) for name in names]
        return dict(zip(names, (int(self.comm.allreduce(n)) for n in mine)))

    def sample(self) -> None:
        self.peak = max(self.peak, own_memory() - self.before)

    def look_at(self, way: Way, on: Setting) -> tuple[int, dict[str, int]]:
        """Most memory of any rank in one run, and what reached the storage."""
        way.prepare()
        self.peak = 0
        way()
        return self.comm.allreduce(self.peak, MPI.MAX), self.counts(on.files)

    def calibrate(self, on: Setting) -> None:
        """The loop's work takes a tenth longer than its I/O, all ranks being at it."""
        way, foreground = Way(self, "loop", WAYS["loop"][0], on), Computation(self.comm)
        seconds = float(np.median(self.elapsed(self.take_turns([way], 2, warm_up=1))))
        units = self.comm.bcast(calibrate(self, foreground, LONGER * seconds))
        steps = max(self.comm.allreduce(on.steps, MPI.MAX), 1)
        each = max(round(units / steps), 1)
        for _ in range(2):  # beside the I/O, where they are slowed by what that takes of the cores
            on.work = partial(foreground.run, each)
            way.computing.clear()
            total = float(self.comm.bcast(self.elapsed(self.take_turns([way], 1, warm_up=0))[0, 0]))
            computing = max(float(self.mean(way.computing)[0]), 1e-6)
            each = max(round(each * min(max(LONGER * (total - computing) / computing, 0.25), 4.0)), 1)
        on.work = partial(foreground.run, each)

    def make(self, program: str, on: Setting) -> None:
        """The files that a program begins with, on rank 0."""
        def work() -> None:
            n = on.size
            if program == "gaxpy":
                for name, seed in (("a", 1), ("b", 2)):
                    if not Path(on.path(name)).exists():
                        np.random.default_rng(seed).random((n, n), TYPE).T.tofile(on.path(name))
            elif program == "laplace":
                cells = np.zeros((n, n), TYPE, order="F")
                cells[0] = 100
                for name in ("old", "new"):
                    cells.T.tofile(on.path(name))
            elif not Path(on.path("x")).exists():
                np.zeros((n, n), TYPE).tofile(on.path("x"))

        self.on_rank_0(work)

    def check(self, program: str, on: Setting, way: str) -> None:
        """Checks the file written by the run."""
        def work() -> float:
            n = on.size

            def there(name: str) -> Any:
                return np.fromfile(on.path(name), TYPE).reshape((n, n), order="F")

            if program == "gaxpy":
                return float(np.abs(there("c") - there("a") @ there("b")).max() / n)
            if program == "laplace":
                u = np.zeros((n, n), TYPE)
                u[0] = 100
                for _ in range(on.iterations):
                    u[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) * TYPE.type(0.25)
                return float(np.abs(there("new" if on.iterations % 2 else "old") - u).max())
            x = there("x")
            return float(np.abs(x - x[0, 0]).max() + (x[0, 0] < 1))

        error = self.on_rank_0(work)
        if not error <= 1e-5 * (100 if program == "laplace" else 1):
            raise BenchError(f"{program}, {way}, on {self.comm.size} ranks: the result is wrong by {error:g}")

    def record(self, program: str, on: Setting, ways: list[Way], times: np.ndarray, peaks: list[int],
               counts: list[dict[str, int]]) -> None:
        computing = self.mean([way.computing for way in ways]).T  # [repetition, way]
        for i, way in enumerate(ways):
            io = np.maximum(times[:, i] - computing[:, i], 0)
            self.append({**self.about(), "program": program, "on": self.device.name, "device": self.device.words,
                         "size": on.size, "iterations": on.iterations, "method": way.how.name, "repeat": len(times),
                         "times": times[:, i].tolist(), "seconds": float(np.median(times[:, i])),
                         "io_times": io.tolist(), "io": float(np.median(io)),
                         "computing": float(np.median(computing[:, i])), "memory": on.memory, "budget": on.memory * ARRAYS[program],
                         "peak": peaks[i], "counts": counts[i]})


if __name__ == "__main__":
    sys.exit(main(OutOfCore))
