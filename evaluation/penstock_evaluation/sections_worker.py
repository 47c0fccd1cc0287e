"""The ranks' side of `python -m penstock_evaluation sections`: the rows of the paper's tables, methods in turns.

Every rank has one section of a square array of 4-byte elements, in column-major order. The
elements are a function of their place, so that where sections overlap, all ranks write the same.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Optional

import numpy as np
from mpi4py import MPI
from penstock._bench.devices import device, of_file
from penstock._bench.methods import PHASES, Engine, Memory
from penstock._bench.patterns import UNTOUCHED, Part, expected
from penstock._bench.ranks import BenchError, Worker, main
from penstock._bench.rounds import counts_of, time_rounds
from penstock._core import Section, _Race

from .paper_tables import ELEMENT, ROWS, Row

TYPE = np.dtype("<f4")
WORD = np.dtype("<u4")  #: the same bits: a NaN is like itself
BLOCK = 16 << 20  #: bytes that are filled, or compared, at a time
NOBODYS = np.frombuffer(bytes([UNTOUCHED] * 4), WORD)[0]


def fill(path: str, size: int, whole: bool) -> None:
    """A file of the array: the right element at every place, or none at any."""
    with open(path, "wb") as f:
        for first, last in blocks(size):
            part = Section._of([(first, last, 1, 1), (0, size, 1, 1)])
            f.write(expected((size, size), TYPE, part).tobytes() if whole
                    else np.full((last - first, size), NOBODYS).tobytes())


def blocks(size: int) -> list[tuple[int, int]]:
    """Columns of the array that are looked at together, from and to."""
    step = max(1, BLOCK // (size * ELEMENT))
    return [(first, min(first + step, size)) for first in range(0, size, step)]


def wrong_byte(path: str, size: int, sections: Sequence[Section]) -> Optional[int]:
    """Where the file that these were written into, and nothing else, is first wrong; None: nowhere.

    Takes out again what was written.
    """
    there = np.memmap(path, WORD, "r+", shape=(size, size))
    places = [tuple(slice(lower, upper, stride) for lower, upper, stride, _ in s.dimensions) for s in sections]
    for place, section in zip(places, sections):
        same = there[place] == expected((size, size), TYPE, section).view(WORD)
        if not same.all():
            at = np.unravel_index(int(np.argmin(same)), same.shape)
            column, row = (p.start + int(i) * p.step for i, p in zip(at, place))
            return (column * size + row) * ELEMENT
    for place in places:
        there[place] = NOBODYS
    for first, last in blocks(size):
        same = there[first:last] == NOBODYS
        if not same.all():
            return (first * size + int(np.argmin(same))) * ELEMENT
    return None


class Sections(Worker):
    def __init__(self, job: dict[str, Any], comm: MPI.Intracomm):
        super().__init__(job, comm)
        self.device = device(job["on"])
        self.made: Any = None  # which file is there

    def run(self) -> None:
        try:
            for at in self.job["rows"]:
                if ROWS[at].extent(self.comm.size) <= self.size_of(ROWS[at]):
                    self.measure(ROWS[at])
        finally:
            if self.comm.rank == 0:
                Path(self.path).unlink(missing_ok=True)

    def size_of(self, row: Row) -> int:
        return int(self.job["size"] or row.size)

    def measure(self, row: Row) -> None:
        size, ranks = self.size_of(row), self.comm.size
        section = row.section_of(self.comm.rank, ranks)
        part = Part((size, size), TYPE, section, section.shape, (slice(None),) * 2)
        memory, race = Memory(part), _Race(MPI._addressof(self.comm))
        left_out = self.job["left_out"].get(f"{ROWS.index(row)} on {ranks}", {})
        methods = [Engine(race, name, memory, {**self.device.hints, **hints, **self.job["hints"]}, False)
                   for name, hints in self.hints_of_methods() if name not in left_out]
        make = (size, row.operation)
        if self.made != make:
            self.on_rank_0(partial(fill, self.path, size, row.operation == "read"))
            self.made = make
        race.open([self.path] * len(methods))
        try:
            for i, method in enumerate(methods):
                self.check(row, race, i, method.name, memory)
            times, phases = time_rounds(self, race, range(len(methods)), row.operation == "write", warm_up=0, least=1)
            self.record(row, race, methods, times[..., 1], phases)
        finally:
            race.close_files()
        for name, seconds in left_out.items():
            self.append({**self.of_row(row), "method": name, "at_least": seconds})
        if row.operation == "write":
            self.on_rank_0(partial(wrong_byte, self.path, size, self.sections(row)))
        self.tell(row.cited)

    def hints_of_methods(self) -> list[tuple[str, dict[str, str]]]:
        """What "aggregators" says of the number of ranks is known here."""
        return [(name, {k: v.replace("ranks", str(self.comm.size)) for k, v in hints.items()})
                for name, hints in self.job["methods"].items()]

    def sections(self, row: Row) -> list[Section]:
        return [row.section_of(rank, self.comm.size) for rank in range(self.comm.size)]

    def check(self, row: Row, race: _Race, i: int, name: str, memory: Memory) -> None:
        """One call, untimed: the file, or what was read, must be right to the byte."""
        writes, size = row.operation == "write", self.size_of(row)
        if not writes:
            memory.forget()
        race.round([i], writes, None)
        if writes:
            at = self.on_rank_0(partial(wrong_byte, self.path, size, self.sections(row)))
            if at is not None:
                raise BenchError(f"{name} wrote a wrong file for {row.cited} on {self.comm.size} ranks: the first wrong "
                                 f"byte is {at}")
            return
        wrong = self.comm.allgather(not memory.is_right())
        if any(wrong):
            raise BenchError(f"{name}: {row.cited} on {self.comm.size} ranks went wrong: rank {wrong.index(True)} has not "
                             "what is in the file")

    def of_row(self, row: Row) -> dict[str, Any]:
        paper = row.seconds.get(self.comm.size) if self.size_of(row) == row.size else None
        told = {} if paper is None else {"paper": {"direct": paper.direct, "static": paper.static, "dynamic": paper.dynamic}}
        mine = row.section_of(self.comm.rank, self.comm.size).size * ELEMENT
        return {**self.about(), "table": row.table, "title": row.title, "row": row.name, "cited": row.cited,
                "section": row.section, "operation": row.operation, "size": self.size_of(row), "on": self.device.name,
                "device": of_file(None, self.device), "bytes": self.comm.allreduce(mine), **told}

    def record(self, row: Row, race: _Race, methods: list[Engine], times: np.ndarray, phases: np.ndarray) -> None:
        slowest = np.zeros_like(phases)
        self.comm.Reduce(np.ascontiguousarray(phases), slowest, MPI.MAX)
        common = {**self.of_row(row), "repeat": len(times)}
        for i, method in enumerate(methods):
            counts = counts_of(self.comm, race, i)
            self.append({**common, "method": method.name, "hints": method.hints, "carried_out_by": race.carried_out_by(i),
                         "seconds": float(np.median(times[:, i])), "times": times[:, i].tolist(), "counts": counts,
                         "requests": counts["reads"] + counts["writes"],
                         "moved": counts["bytes_read"] + counts["bytes_written"],
                         "phases": dict(zip(PHASES, np.median(slowest[:, i], axis=0).tolist()))})


if __name__ == "__main__":
    sys.exit(main(Sections))
