"""The ranks' side of `python -m penstock_evaluation abt`: writes into the active buffer, and a program that makes them.

All methods take turns within one run (see `ranks.py`), so that their ratios hold on a noisy
machine. Throughput, T being the seconds from the first rank's begin to the last one's end:

- apparent: bytes of all ranks / T of the write call, after the I/O thread has written all that came
  before and every rank has waited for that.
- memcpy: bytes of all ranks / T of a plain copy of the same bytes into memory in use, by the same
  ranks at the same time.
- total: T of write and close, with which the bytes are where an unbuffered write leaves them.

Programs (Jacobi, matrix multiplication): T of the whole program, from the first iteration to the return of close. Computation is what
the iterations take in it, exchange of halos included, the mean of the ranks; visible I/O is the rest.

Servers: total of writes to a modelled device of several servers, whose requests vary randomly in the
time that they take. See also `pretest.py`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Union

import numpy as np
import penstock as ps
from mpi4py import MPI
from penstock._bench.devices import device, of_file
from penstock._bench.patterns import DISTRIBUTIONS, PATTERNS, Part, Pattern
from penstock._bench.ranks import BenchError, Worker, barrier, main
from penstock._bench.worker import whole_shares

from .jacobi import Jacobi
from .pretest import pretest
from .product import Product
from .report import BUDGETS

SERVER_ROUNDS = 16  # in which a rank writes its share to the servers
MOST_SERVERS = 64  # of a modelled device


class Copy:
    """The baseline: copies the same bytes to other memory that is already in use."""

    name = "memcpy"

    def __init__(self, source: np.ndarray):
        self._source, self._target = source, np.zeros_like(source)
        self.told: dict[str, float] = {}
        self.written = 0.0

    def __call__(self) -> None:
        np.copyto(self._target, self._source)
        self.written = time.perf_counter()


class Writer:
    """Writes an array, once or again and again, with a given room in the active buffer; then closes."""

    def __init__(self, name: str, worker: Abt, part: Part, source: Callable[[], np.ndarray], nbytes: int,
                 settings: Callable[[int], dict[str, str]] = lambda _: {}):
        """`settings`: further hints of the n-th time that the file is opened."""
        self.name, self._worker, self._part, self._source = name, worker, part, source
        room = {"active_buffer_size": str(int(nbytes * BUDGETS[name]))}
        self._hints = {**worker.device.hints, **worker.job["hints"], **room}
        self._settings, self._opened = settings, 0
        self._file: Any = None
        self.words = ""  #: the library's for the device
        self.told: dict[str, float] = {}  #: statistics of the file
        self.written = 0.0  #: when the write call returned

    def open(self) -> None:
        self._file = ps.open(self._worker.path, "r+", shape=self._part.shape, dtype=self._part.dtype,
                             comm=self._worker.comm, hints={**self._hints, **self._settings(self._opened)}, container="raw")
        self._opened += 1

    def write(self) -> None:
        self._file.write(self._source(), self._part.section)

    def prepare(self) -> None:
        """A first write and a pause: then the I/O thread exists and is idle."""
        self.open()
        self.write()
        self._file.sync()

    def __call__(self) -> None:
        self.write()
        self.written = time.perf_counter()
        self.close()

    def close(self) -> None:
        statistics = self._file.statistics
        self.told = {field.name: getattr(statistics, field.name) for field in statistics.fields()}
        self.words = of_file(self._file, self._worker.device)
        self._file.close()

    def check(self) -> None:
        """The file must hold every rank's elements, to the byte."""
        barrier(self._worker.comm)
        places = self._worker.comm.allgather(self._part.wrong_byte(self._worker.path, self._source()))
        wrong = [at for at in places if at is not None]
        if wrong:
            raise BenchError(f"{self.name} wrote a wrong file on {len(places)} ranks, {self.words}; the first wrong "
                             f"element starts at byte {min(wrong)}")


class OnlyOnce:
    """A write and close of a writer, with nothing before it."""

    def __init__(self, writer: Writer):
        self._writer, self.prepare = writer, writer.open

    def __call__(self) -> None:
        self._writer()


class Program:
    """Jacobi or the matrix multiplication with snapshots, or (count 0) without."""

    def __init__(self, worker: Abt, model: Union[Jacobi, Product], part: Part, name: str, count: int):
        self.name, self.count, self._worker, self._model = name, count, worker, model
        nbytes = worker.comm.allreduce(part.nbytes, MPI.MAX)
        self.writer = Writer(name, worker, part, lambda: model.block, nbytes) if count else None
        self.computation = 0.0  #: seconds of this rank in the last run

    @property
    def words(self) -> str:
        """The library's for the device."""
        return "" if self.writer is None else self.writer.words

    def prepare(self) -> None:
        self._model.restart()
        if self.writer is not None:
            self._worker.empty(self._model.d.shape, np.dtype("f8"))
            self.writer.open()

    def __call__(self) -> None:
        snapshot = (lambda: None) if self.writer is None else self.writer.write
        self.computation = self._model.run(self._worker.job["iterations"], self.count, snapshot)
        if self.writer is not None:
            self.writer.close()

    def finish(self) -> None:
        if self.writer is not None:
            self.writer.check()
        self._worker.tell(PROGRAM_NAMES[type(self._model)] + (f", {self.count} snapshots, {self.name}" if self.count else ""))


PROGRAMS: dict[str, Callable[[MPI.Intracomm, int], Union[Jacobi, Product]]] = {"jacobi": Jacobi, "product": Product}
PROGRAM_NAMES: dict[type, str] = {Jacobi: "jacobi", Product: "product"}


class Abt(Worker):
    def __init__(self, job: dict[str, Any], comm: MPI.Intracomm):
        super().__init__(job, comm)
        self.device = device(job["on"])

    def run(self) -> None:
        try:
            if self.comm.size in self.job["throughput_ranks"]:
                for name in self.job["distributions"]:
                    self.throughput(DISTRIBUTIONS[name])
                    self.tell(f"throughput, {name}")
            if self.comm.size in self.job["other_ranks"]:
                self.others()
            if self.comm.size in self.job["jacobi_ranks"]:
                for name in self.job["programs"]:
                    self.program(name)
        finally:
            if self.comm.rank == 0:
                Path(self.path).unlink(missing_ok=True)

    def others(self) -> None:
        size = self.job["sizes"][str(self.comm.size)]
        if "pretest" in self.job["others"]:
            pretest(self, self.device, size)
        if "servers" in self.job["others"] and self.device.is_paced:
            for variance in self.job["variances"]:
                self.servers(variance, size)
                self.tell(f"servers, variance {variance:g}")

    def servers(self, variance: float, size: int) -> None:
        """One write that is not conforming, in rounds that all ranks write together, and the same into a buffer."""
        pattern, ranks = PATTERNS["column-block"], self.comm.size  # every rank has something of every share
        part = pattern.part(size * ranks, ranks, self.comm.rank)
        source = part.memory(filled=True)[part.interior]
        nbytes = self.comm.allreduce(part.nbytes, MPI.MAX)
        share = pattern.largest_share(size * ranks, ranks)
        rounds = {**whole_shares(ranks, -(-share // SERVER_ROUNDS)), "exchange": "step5"}
        servers = min(ranks, MOST_SERVERS)
        # Each repetition meets other variations, all methods in a repetition the same.
        settings: Callable[[int], dict[str, str]] = lambda n: {
            **rounds, "device": f"{self.device.name},servers={servers},variance={variance:g},seed={n}"}
        writers = [Writer(name, self, part, lambda: source, nbytes, settings) for name in ("unbuffered", "twice")]
        self.empty(part.shape, part.dtype)
        for writer in writers:
            writer.open()
            writer()
            writer.check()
        times = self.elapsed(self.take_turns([OnlyOnce(writer) for writer in writers], self.job["repeat"]))
        common = {**self.about(), "experiment": "servers", "pattern": pattern.name, "size": nbytes, "rank_bytes": size,
                  "device": self.device.words, "on": self.device.name, "servers": servers, "variance": variance,
                  "bytes": self.comm.allreduce(part.nbytes), "repeat": len(times)}
        for i, writer in enumerate(writers):
            pairs = times[:, i] / times[:, 0]
            self.append({**common, "method": writer.name, "modelled": writer.words, "seconds": float(np.median(times[:, i])), "times": times[:, i].tolist(),
                         "of_unbuffered": float(np.median(pairs)), "of_unbuffered_pairs": pairs.tolist(),
                         "buffer": self.most(writer.told)})

    def empty(self, shape: Sequence[int], dtype: np.dtype) -> None:
        """A file without any data."""
        def work() -> None:
            with open(self.path, "wb") as f:
                f.truncate(int(np.prod(shape, dtype=np.int64)) * dtype.itemsize)

        self.on_rank_0(work)

    def throughput(self, pattern: Pattern) -> None:
        wanted = self.job["sizes"][str(self.comm.size)]
        part = pattern.part(wanted * self.comm.size, self.comm.size, self.comm.rank)
        source = part.memory(filled=True)[part.interior]
        nbytes = self.comm.allreduce(part.nbytes, MPI.MAX)
        writers = [Writer(name, self, part, lambda: source, nbytes) for name in BUDGETS]
        for writer in writers:
            self.empty(part.shape, part.dtype)
            writer.open()
            writer()
            writer.check()
        ways: list[Copy | Writer] = [Copy(source), *writers]
        written: list[list[float]] = []
        stamps = self.take_turns(ways, self.job["repeat"], lambda: written.append([way.written for way in ways]))
        begin, end = stamps[..., 0], np.array(written)
        longest = np.zeros_like(end)
        self.comm.Allreduce(end - begin, longest, MPI.MAX)
        record = {**self.about(), "experiment": "throughput", "pattern": pattern.name, "size": nbytes,
                  "bytes": self.comm.allreduce(part.nbytes), "shape": part.shape, "device": writers[0].words,
                  "on": self.device.name, "rank_bytes": wanted, "wanted_rank_bytes": self.job["wanted_size"]}
        self.record_throughput(ways, self.spans(begin, end, longest), self.elapsed(stamps), record)

    def record_throughput(self, ways: list[Any], calls: np.ndarray, totals: np.ndarray,
                          common: dict[str, Any]) -> None:
        """`calls`: seconds of the write in [repetition, way]; `totals`: of write and close."""
        names = [way.name for way in ways]
        copy, unbuffered = calls[:, names.index("memcpy")], totals[:, names.index("unbuffered")]
        for i, way in enumerate(ways):
            seconds = float(np.median(calls[:, i]))
            line = {**common, "method": way.name, "seconds": seconds, "gb_per_s": common["bytes"] / seconds / 1e9,
                    "times": calls[:, i].tolist(), "repeat": len(calls),
                    "of_memcpy": float(np.median(copy / calls[:, i]))}
            if isinstance(way, Writer):
                line |= {"total": float(np.median(totals[:, i])), "totals": totals[:, i].tolist(),
                         "of_unbuffered": float(np.median(totals[:, i] / unbuffered)),
                         "room": int(common["size"] * BUDGETS[way.name]), "buffer": self.most(way.told)}
            self.append(line)

    def most(self, told: dict[str, float]) -> dict[str, float]:
        """The maximum over ranks; libraries without active buffering report nothing."""
        return {name: self.comm.allreduce(value, MPI.MAX) for name, value in told.items()}

    def program(self, name: str) -> None:
        model = PROGRAMS[name](self.comm, self.job["grid"])
        d = model.d
        part = Part(d.shape, np.dtype("f8"), d.section, d.section.shape, (slice(None),) * 2)
        programs = [Program(self, model, part, "no snapshots", 0)]
        programs += [Program(self, model, part, room, n) for n in self.job["snapshots"] for room in BUDGETS]
        computation: list[list[float]] = []
        # No warm-up: each program runs for long, including its start.
        stamps = self.take_turns(programs, self.job["jacobi_repeat"],
                                 lambda: computation.append([p.computation for p in programs]), warm_up=0)
        record = {**self.about(), "experiment": name, "pattern": f"{d.grid[0]} x {d.grid[1]} blocks",
                  "grid": self.job["grid"], "iterations": self.job["iterations"], "bytes": 8 * self.job["grid"] ** 2,
                  "size": self.comm.allreduce(part.nbytes, MPI.MAX), "device": programs[-1].words,
                  "on": self.device.name}
        self.record_program(programs, self.elapsed(stamps), self.mean(computation), record)
        model.close()

    def record_program(self, programs: list[Program], times: np.ndarray, computation: np.ndarray,
                      common: dict[str, Any]) -> None:
        """`times` and `computation`: seconds of [repetition, program]."""
        for i, p in enumerate(programs):
            line = {**common, "method": p.name, "snapshots": p.count, "seconds": float(np.median(times[:, i])),
                    "computation": float(np.median(computation[:, i])), "times": times[:, i].tolist(),
                    "repeat": len(times)}
            if p.writer is not None:
                rival = next(k for k, q in enumerate(programs) if (q.count, q.name) == (p.count, "unbuffered"))
                line |= {"visible": float(np.median(times[:, i] - computation[:, i])),
                         "of_unbuffered": float(np.median(times[:, i] / times[:, rival])),
                         "buffer": self.most(p.writer.told)}
            self.append(line)


if __name__ == "__main__":
    sys.exit(main(Abt))
