"""The traces of all processes of a run, joined: the same names and one clock for all."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from .. import ArgumentError, FormatError
from .reading import ProcessTrace, Records, read_process

#: Kinds of events, in the order in which they are shown. Others that a file names come behind them.
CALLS = ("open", "close", "read", "write", "begin read", "begin write", "end", "sync", "size", "other call")
ACCESSES = ("file read", "file write", "file sync")
PHASES = ("metadata", "exchange", "copy", "plan", "wait", "room")
IN_FLIGHT, RUN_QUEUE = "in flight", "run queue"
#: Calls that are one access each: recorded once, and both here.
SIMPLE = ("read", "write")
KINDS = (*CALLS, *ACCESSES, *PHASES, IN_FLIGHT, RUN_QUEUE)
#: More are put together under one name: a page has a byte for each, and a picture a colour.
MOST_KINDS, OTHER_KIND = 255, "another kind"

EVENT = np.dtype([("process", "u4"), ("lane", "u4"), ("kind", "u2"), ("file", "u4"), ("begin", "i8"),
                  ("duration", "i8"), ("offset", "i8"), ("bytes", "i8"), ("operation", "i8")])


@dataclass
class Trace:
    """Events begin in ascending order, in nanoseconds from the first."""

    processes: list[ProcessTrace]  #: in the order of their ranks
    kinds: list[str]
    files: list[str]  #: the first is that of events without one, ""
    events: Records
    problems: list[str]

    def of(self, *kinds: str) -> Records:
        """Events of these kinds."""
        return self.events[np.isin(self.events["kind"], [self.kinds.index(kind) for kind in kinds])]

    def lane_name(self, process: int, lane: int) -> str:
        return self.processes[process].lanes.get(lane, f"thread number {lane}")

    def in_io_thread(self, events: Records) -> np.ndarray:
        """Which of them happened in I/O threads."""
        lanes = [(p, lane) for p, process in enumerate(self.processes) for lane, name in process.lanes.items()
                 if name.startswith("I/O thread")]
        keys = events["process"].astype("u8") << np.uint64(32) | events["lane"]
        return np.isin(keys, np.array([p << 32 | lane for p, lane in lanes], "u8"))

    @property
    def seconds(self) -> float:
        """From the first event to the end of the last."""
        return float((self.events["begin"] + self.events["duration"]).max()) / 1e9 if len(self.events) else 0.0


def total_of(values: np.ndarray) -> int:
    """The sum of numbers from 0 on, which may be more than 64 bits hold."""
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFFFFFF).sum())


def seconds_of(events: Records) -> float:
    return total_of(events["duration"]) / 1e9


def load(folder: Path) -> Trace:
    """All traces in a folder. Raises ArgumentError or FormatError where there are none, or none that can be read."""
    if not folder.is_dir():
        raise ArgumentError(f"'{folder}' is not a folder: pass the one that PENSTOCK_TRACE named when the program ran")
    paths = sorted(folder.glob("*.trace"))
    if not paths:
        raise ArgumentError(f"'{folder}' has no traces (*.trace): was the program run with PENSTOCK_TRACE={folder}, "
                            "and did it open a file with Penstock?")
    processes, problems = [], []
    for path in paths:
        try:
            processes.append(read_process(path))
        except (FormatError, OSError) as error:
            problems.append(str(error))
    if not processes:
        raise FormatError("no trace can be read: " + "; ".join(problems))
    return join(processes, problems)


def join(processes: list[ProcessTrace], problems: list[str]) -> Trace:
    processes.sort(key=lambda process: (process.rank, process.host, process.pid))
    require_one_run(processes)
    for process in processes:
        problems += [f"{process.who} ('{process.path}'): {problem}" for problem in process.problems]
    problems += missing_ranks(processes)
    kinds, files = {kind: number for number, kind in enumerate(KINDS)}, {"": 0}
    parts = [translate(number, process, kinds, files) for number, process in enumerate(processes)]
    events = np.concatenate(parts)
    events = events[np.argsort(events["begin"], kind="stable")]
    if len(events):
        events["begin"] -= events["begin"][0]
    return Trace(processes, list(kinds), list(files), events, problems)


def missing_ranks(processes: list[ProcessTrace]) -> list[str]:
    """In words. How many ranks there were is what most traces say, since a header may be damaged."""
    counts = Counter(process.ranks for process in processes if process.ranks > 0)
    expected = counts.most_common(1)[0][0] if counts else 0
    problems = [f"{process.who} ('{process.path}') says that there were {process.ranks} ranks, and most others say "
                f"{expected}" for process in processes if process.ranks not in (0, expected)]
    there = {process.rank for process in processes if 0 <= process.rank < expected}
    if missing := expected - len(there):
        first = islice((rank for rank in range(expected) if rank not in there), 8)
        some = ", ".join(map(str, first)) + (", ..." if missing > 8 else "")
        problems.append(f"traces of {missing} of {expected} ranks are missing: {some}; a rank that opened no file has "
                        "none")
    return problems


def require_one_run(processes: list[ProcessTrace]) -> None:
    counts = Counter(process.rank for process in processes if process.rank >= 0)
    twice = [rank for rank, count in counts.items() if count > 1]
    if twice:
        names = ", ".join(str(process.path) for process in processes if process.rank == twice[0])
        raise ArgumentError(f"there are traces of several runs: {names} are all of rank {twice[0]}. Give each run a "
                            "folder of its own, or remove those of the other runs")


def translate(number: int, process: ProcessTrace, kinds: dict[str, int], files: dict[str, int]) -> Records:
    """The events of a process, in the numbers that all have in common and by the clock of the day."""
    records = process.records
    events = np.empty(len(records), EVENT)
    parts = [events]
    events["process"] = number
    for name in ("lane", "duration", "offset", "bytes", "operation"):
        events[name] = records[name]
    events["begin"] = records["begin"] + (process.realtime - process.monotonic)
    events["file"] = common_numbers(records["file"], {0: "", **process.files}, files)
    for kind in SIMPLE:
        own = [key for key, name in process.kinds.items() if name == f"simple {kind}"]
        accesses = events[np.isin(records["kind"], own)]
        accesses["kind"] = kinds[f"file {kind}"]
        parts.append(accesses)
    names = {key: name.removeprefix("simple ") for key, name in process.kinds.items()}
    if len(kinds.keys() | set(names.values())) > MOST_KINDS:
        names = {key: name if name in KINDS else OTHER_KIND for key, name in names.items()}
    events["kind"] = common_numbers(records["kind"], names, kinds)
    return np.concatenate(parts)


def common_numbers(own: np.ndarray, names: dict[int, str], common: dict[str, int]) -> np.ndarray:
    known, inverse = np.unique(own, return_inverse=True)
    numbers = np.empty(len(known), "u4")
    for i, number in enumerate(known):
        numbers[i] = common.setdefault(names.get(int(number), f"number {number}"), len(common))
    return numbers[inverse] if len(known) else np.empty(0, "u4")


def print_problems(trace: Trace) -> None:
    """On stderr, before what was read."""
    for problem in trace.problems:
        print(f"penstock: {problem}", file=sys.stderr)
