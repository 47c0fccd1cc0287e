"""Where the time of the ranks went: each moment of a rank counts once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .events import ACCESSES, Trace
from .reading import Records

OUTSIDE, METADATA, OPENING, CLOSING = "outside of Penstock's calls", "metadata", "opening", "closing"
SYNCS, IO_THREADS, ACCESSING = "syncs", "waiting for I/O threads", "accesses to files"
LOCKS = "waiting for locks"
#: By the kinds of events. If several are under way in a rank, the first counts.
PARTS: dict[str, tuple[str, ...]] = {
    METADATA: ("metadata",),
    OPENING: ("open",),
    CLOSING: ("close",),
    SYNCS: ("sync",),
    "size and other calls": ("size", "other call"),
    ACCESSING: ACCESSES,
    "waiting for room in the active buffer": ("room",),
    "agreeing with other ranks and waiting for them": ("plan", "wait"),
    "copying": ("copy",),
    "exchange": ("exchange",),
    "the rest of reads and writes": ("read", "write", "begin read", "begin write", "end"),
}
#: What a rank does there while its I/O threads access files is waiting for them.
WAITING = ("close", "sync", "size", "end", "room")


@dataclass
class Part:
    name: str
    seconds: float  #: per rank
    share: float  #: of the run


def parts_of(trace: Trace) -> list[Part]:
    """All that there are, those that took most first."""
    ranks, run = max(len(trace.processes), 1), trace.seconds
    seconds = {name: value / ranks for name, value in seconds_by_part(trace).items() if value > 0}
    seconds[OUTSIDE] = max(run - sum(seconds.values()), 0.0)
    parts = [Part(name, value, value / run if run else 0.0) for name, value in seconds.items()]
    return sorted(parts, key=lambda part: -part.seconds)


def seconds_by_part(trace: Trace) -> dict[str, float]:
    """Over all ranks, of all parts within calls."""
    kinds = [kind for group in PARTS.values() for kind in group]
    events = trace.of(*kinds)
    in_background = trace.in_io_thread(events)
    is_access = np.isin(events["kind"], [trace.kinds.index(kind) for kind in ACCESSES])
    mine, background = events[~in_background], events[in_background & is_access]
    both = np.concatenate([mine, background])
    time, process, order = boundaries(both)
    length = np.where(process[1:] == process[:-1], time[1:] - time[:-1], 0)

    def under_way(chosen: np.ndarray) -> np.ndarray:
        """In which stretches between boundaries any of these events is."""
        steps = np.concatenate([chosen, -chosen.astype("i8")])[order]
        return np.cumsum(steps)[:-1] > 0

    def is_of(names: tuple[str, ...]) -> np.ndarray:
        here = np.isin(both["kind"], [trace.kinds.index(name) for name in names])
        here[len(mine):] = False
        return here

    free = np.ones(len(length), bool)
    seconds = {name: 0.0 for name in PARTS}

    def take(name: str, where: np.ndarray) -> None:
        seconds[name] = float(length[where & free].sum()) / 1e9
        free[where] = False

    take(METADATA, under_way(is_of(PARTS[METADATA])))
    of_io_threads = np.arange(len(both)) >= len(mine)
    take(IO_THREADS, under_way(is_of(WAITING)) & under_way(of_io_threads) & ~under_way(is_of(ACCESSES)))
    # Waiting for a lock has an offset; within an access it is part of that.
    take(LOCKS, under_way(is_of(("wait",)) & (both["offset"] >= 0)) & ~under_way(is_of(ACCESSES)))
    for name, group in list(PARTS.items())[1:]:
        take(name, under_way(is_of(group)))
    return seconds


def boundaries(events: Records) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Begins and ends of events by process and time: the times, the processes, and the order that sorts them."""
    time = np.concatenate([events["begin"], events["begin"] + events["duration"]])
    process = np.concatenate([events["process"], events["process"]])
    order = np.lexsort((time, process))
    return time[order], process[order], order
