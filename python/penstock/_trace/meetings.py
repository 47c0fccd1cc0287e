"""Collective calls: which events of several ranks are one call, and for whom they waited."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .events import CALLS, Trace
from .reading import Records

NUMBERED = ("read", "write", "begin read", "begin write")
#: Nobody leaves such a call before all ranks are in it.
UNNUMBERED = ("open", "close", "sync", "size")


@dataclass
class Meetings:
    """Calls of several ranks. `group` has the number of each call."""

    trace: Trace
    calls: Records
    group: np.ndarray
    gap: np.ndarray  #: of each: nanoseconds that its process was in no call before it

    @cached_property
    def ranks_in(self) -> np.ndarray:
        """By group."""
        return np.bincount(self.group)

    @cached_property
    def last(self) -> np.ndarray:
        """By group: the call that began last."""
        order = np.lexsort((self.calls["begin"], self.group))
        ends = np.flatnonzero(np.diff(self.group[order], append=-1))
        return order[ends]

    @cached_property
    def early(self) -> np.ndarray:
        """Of each call: nanoseconds that it waited for the last rank; none waits longer than its call takes."""
        calls, last = self.calls, self.calls["begin"][self.last]
        ends = np.full(len(last), np.iinfo("i8").max)
        np.minimum.at(ends, self.group, calls["begin"] + calls["duration"])
        unnumbered = calls["operation"] == 0
        together = (self.ranks_in[self.group] > 1) & ~(unnumbered & (ends < last)[self.group])
        return np.where(together, np.minimum(last[self.group] - calls["begin"], calls["duration"]), 0)

    @cached_property
    def late_by_computing(self) -> np.ndarray:
        """What of that the last rank spent outside of calls, so that what a file system did is not taken for it."""
        return np.minimum(self.early, self.gap[self.last][self.group])

    def seconds(self, of: np.ndarray, *kinds: str) -> float:
        """Per rank, of one of the above."""
        chosen = np.isin(self.calls["kind"], [self.trace.kinds.index(kind) for kind in kinds])
        return float(of[chosen].sum()) / 1e9 / max(len(self.trace.processes), 1)


def meetings_of(trace: Trace) -> Meetings:
    everything = trace.of(*CALLS)
    gaps = gaps_before(trace, everything)
    numbered = np.isin(everything["kind"], [trace.kinds.index(kind) for kind in NUMBERED])
    unnumbered = np.isin(everything["kind"], [trace.kinds.index(kind) for kind in UNNUMBERED])
    chosen = (numbered & (everything["operation"] > 0)) | (unnumbered & (everything["file"] > 0))
    calls, gaps = everything[chosen], gaps[chosen]
    # All reads and writes of a file are numbered together, and from 1 each time it is opened: the n-th opening counts.
    kind = np.where(calls["operation"] > 0, -1, calls["kind"].astype("i8"))
    order = np.lexsort((calls["begin"], kind, calls["operation"], calls["file"], calls["process"]))
    calls, gaps, kind = calls[order], gaps[order], kind[order]
    new = np.ones(len(calls), bool)
    new[1:] = kind[1:] != kind[:-1]
    for name in ("operation", "file", "process"):
        new[1:] |= calls[name][1:] != calls[name][:-1]
    number = np.arange(len(calls))
    nth = number - np.maximum.accumulate(np.where(new, number, 0))
    keys = np.stack([calls["file"].astype("i8"), calls["operation"], kind, nth], axis=1)
    group = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1) if len(calls) else np.empty(0, "i8")
    return Meetings(trace, calls, group, gaps)


def gaps_before(trace: Trace, calls: Records) -> np.ndarray:
    """Nanoseconds that a process was in no call before each. Before a file is open no rank waits for it."""
    gaps = np.zeros(len(calls), "i8")
    order = np.argsort(calls["process"], kind="stable")
    for mine in np.split(order, np.flatnonzero(np.diff(calls["process"][order])) + 1):
        ends = np.maximum.accumulate((calls["begin"] + calls["duration"])[mine])
        gaps[mine[1:]] = np.maximum(calls["begin"][mine[1:]] - ends[:-1], 0)
        if len(mine) and calls["kind"][mine[0]] != trace.kinds.index("open"):
            gaps[mine[0]] = calls["begin"][mine[0]]
    return gaps
