"""What held a program up, found in its trace, and what to change.

Each function looks for one thing and computes the seconds that it cost a rank; what cost less than a fiftieth of the
run is not told.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .events import CALLS, RUN_QUEUE, Trace, seconds_of, total_of
from .reading import Records

SMALL = 64 * 1024  # bytes: an access of less takes about as long as one of this
MANY = 100  # accesses
WORTH = 0.02  # of the run


@dataclass
class Finding:
    name: str
    seconds: float  #: that it cost a rank, on average
    text: str
    advice: str


def findings(trace: Trace) -> list[Finding]:
    """Those that cost most first."""
    found = [look(trace) for look in (small_requests, one_aggregator, no_room, too_little_computation, late_ranks,
                                      busy_cores)]
    told = [finding for finding in found if finding is not None and finding.seconds >= WORTH * trace.seconds]
    return sorted(told, key=lambda finding: -finding.seconds)


def small_requests(trace: Trace) -> Finding | None:
    accesses = trace.of("file read", "file write")
    small = accesses[(accesses["bytes"] > 0) & (accesses["bytes"] < SMALL)]
    if len(small) < MANY or seconds_of(small) < 0.2 * seconds_of(accesses):
        return None
    lost = seconds_of(small) / len(trace.processes)
    median = int(np.median(small["bytes"]))
    text = (f"Small requests: {len(small):,} of {len(accesses):,} accesses to files moved less than 64 KiB (half of "
            f"these {median:,} bytes or less), and took {lost:.3f} s a rank.")
    if len(trace.processes) > 1:
        advice = "Let all ranks write or read together, in collective calls: few large accesses come of them."
    else:
        advice = "Write or read more in one call, or many pieces in one call with a list of sections."
    return Finding("small requests", lost, text, advice)


def one_aggregator(trace: Trace) -> Finding | None:
    ranks = len(trace.processes)
    accesses, calls = trace.of("file read", "file write"), trace.of("read", "write", "begin read", "begin write")
    if ranks < 2 or not len(accesses):
        return None
    moved = np.bincount(accesses["process"], accesses["bytes"].astype("f8"), ranks)
    wanted = np.bincount(calls["process"], calls["bytes"].astype("f8"), ranks)
    busiest = int(moved.argmax())
    if moved[busiest] < 0.95 * moved.sum() or np.count_nonzero(wanted) < 2 or wanted.max() > 0.95 * wanted.sum():
        return None
    alone = seconds_of(accesses[accesses["process"] == busiest])
    if alone < 0.2 * seconds_of(trace.of(*CALLS)) / ranks:
        return None
    who = trace.processes[busiest].who
    text = (f"One aggregator: {who} moved {moved[busiest] / moved.sum():.0%} of the bytes of {ranks} ranks to or from "
            f"files, which took it {alone:.3f} s.")
    advice = ("Where the file system serves several at a time, raise the hint aggregators; `penstock explain` shows "
              "what is chosen, and why.")
    return Finding("one aggregator", alone * (1 - 1 / ranks), text, advice)


def no_room(trace: Trace) -> Finding | None:
    waits = trace.of("room")
    calls = seconds_of(trace.of(*CALLS))
    if not len(waits) or seconds_of(waits) < 0.1 * calls:
        return None
    lost = seconds_of(waits) / len(trace.processes)
    text = f"No room in the active buffer: writes waited {len(waits):,} times for it, {lost:.3f} s a rank."
    return Finding("no room", lost, text, "Raise the hint active_buffer_size, or compute longer between writes.")


def too_little_computation(trace: Trace) -> Finding | None:
    """Time of I/O threads that the program waited for, since it had nothing else to do."""
    ranks = len(trace.processes)
    accesses = trace.of("file read", "file write", "file sync")
    background = seconds_of(accesses[trace.in_io_thread(accesses)]) / ranks
    waited = seconds_of(trace.of("close", "sync", "end", "room")) / ranks
    calls = trace.of(*CALLS)
    if background == 0 or not len(calls):
        return None
    computed = sum(outside(calls[calls["process"] == rank]) for rank in range(ranks)) / ranks
    if waited < 0.2 * background or computed >= background:
        return None
    text = (f"Too little computation to hide behind: I/O threads were at the files for {background:.3f} s a rank, but "
            f"the program computed for only {computed:.3f} s between its calls, and waited {waited:.3f} s in close, "
            "sync, end or for room.")
    advice = "Write less often or less, or let close(wait=False) and write_begin be waited for later, after more work."
    return Finding("too little computation", min(waited, background), text, advice)


def outside(calls: Records) -> float:
    """Seconds from the first call of a process to its last that no call took."""
    if not len(calls):
        return 0.0
    ends = np.maximum.accumulate(calls["begin"] + calls["duration"])
    gaps = calls["begin"][1:] - ends[:-1]
    return float(np.maximum(gaps, 0).sum()) / 1e9


def late_ranks(trace: Trace) -> Finding | None:
    """Ranks come to a collective call one after the other: all others wait for the last."""
    calls = trace.of("read", "write", "begin read", "begin write")
    calls = calls[calls["operation"] > 0]
    ranks = len(trace.processes)
    if ranks < 2 or not len(calls):
        return None
    # The calls of a file are numbered from 1 each time it is opened: the n-th opening counts, too.
    order = np.lexsort((calls["begin"], calls["operation"], calls["file"], calls["process"]))
    calls = calls[order]
    same = np.ones(len(calls), bool)
    for name in ("operation", "file", "process"):
        same[1:] &= calls[name][1:] == calls[name][:-1]
    same[0] = False
    number = np.arange(len(calls))
    nth = number - np.maximum.accumulate(np.where(same, 0, number))
    keys = np.stack([calls["file"].astype("i8"), calls["operation"], nth], axis=1)
    _, groups, counts = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    groups = groups.reshape(-1)
    last = np.full(len(counts), np.iinfo("i8").min)
    np.maximum.at(last, groups, calls["begin"])
    early = np.where(counts[groups] > 1, last[groups] - calls["begin"], 0)
    # Nobody waits longer than its call takes.
    lost_of = np.bincount(calls["process"], np.minimum(early, calls["duration"]).astype("f8"), ranks) / 1e9
    lost = float(lost_of.mean())
    if lost < 0.2 * seconds_of(trace.of(*CALLS)) / ranks:
        return None
    latest = trace.processes[int(lost_of.argmin())].who
    text = (f"Ranks come late: in collective calls a rank waited {lost:.3f} s for the last one to come, most often for "
            f"{latest}.")
    return Finding("late ranks", lost, text, "Give the ranks equal work between calls, or write with write_begin.")


def busy_cores(trace: Trace) -> Finding | None:
    samples = trace.of(RUN_QUEUE)
    ranks = len(trace.processes)
    waiting, running = total_of(samples["bytes"]) / 1e9, total_of(samples["offset"]) / 1e9
    if waiting < 0.2 * (waiting + running) or waiting == 0:
        return None
    lost = waiting / ranks
    text = (f"Too few cores: threads that were ready to run waited {lost:.3f} s a rank for a core, and ran "
            f"{running / ranks:.3f} s.")
    return Finding("busy cores", lost, text, "Run fewer ranks or threads on a node, or give them cores of their own.")
