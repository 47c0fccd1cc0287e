"""What held a program up, found in its trace, and what to change.

Each rule looks for one cause and computes the seconds that it cost a rank. What cost less than a fiftieth of the run is
left out; if the rules explain little of the run, the last finding says so, and where the time went.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .events import CALLS, RUN_QUEUE, Trace, seconds_of, total_of
from .meetings import Meetings, meetings_of
from .parts import ACCESSING, CLOSING, IO_THREADS, LOCKS, METADATA, OPENING, OUTSIDE, SYNCS, Part, parts_of
from .reading import Records

SMALL = 64 * 1024  # bytes: an access of less takes about as long as one of this
MANY = 100  # accesses, or collective calls
OFTEN = 10  # opens, syncs or uses of metadata by a rank
WORTH = 0.02  # of the run
OF_CALLS = 0.2  # of a rank's time in calls


@dataclass
class Finding:
    name: str
    seconds: float  #: that it cost a rank, on average
    text: str
    advice: str


@dataclass
class Evidence:
    """A trace, and what several rules look at."""

    trace: Trace
    parts: list[Part]

    @cached_property
    def meetings(self) -> Meetings:
        return meetings_of(self.trace)

    @cached_property
    def in_calls(self) -> float:
        """Seconds per rank."""
        return seconds_of(self.trace.of(*CALLS)) / self.ranks

    @property
    def ranks(self) -> int:
        return len(self.trace.processes)

    def part(self, *names: str) -> float:
        """Seconds per rank."""
        return sum(part.seconds for part in self.parts if part.name in names)

    def per_rank(self, kind: str) -> float:
        return len(self.trace.of(kind)) / self.ranks


def findings(trace: Trace, parts: list[Part] | None = None) -> list[Finding]:
    """Those that cost most first."""
    evidence = Evidence(trace, parts_of(trace) if parts is None else parts)
    found = [rule(evidence) for rule in RULES]
    known = [finding for finding in found if finding is not None and finding.seconds >= WORTH * trace.seconds]
    rest = not_known(evidence, sum(finding.seconds for finding in known))
    return sorted(known + rest, key=lambda finding: -finding.seconds)


def small_requests(evidence: Evidence) -> Finding | None:
    trace = evidence.trace
    accesses = trace.of("file read", "file write")
    small = accesses[(accesses["bytes"] > 0) & (accesses["bytes"] < SMALL)]
    if small_collective_calls(evidence):
        small = small[small["operation"] == 0]
    if len(small) < MANY or seconds_of(small) < 0.2 * seconds_of(accesses):
        return None
    lost = seconds_of(small) / evidence.ranks
    median = int(np.median(small["bytes"]))
    text = (f"Small requests: {len(small):,} of {len(accesses):,} accesses to files moved less than 64 KiB (half of "
            f"these {median:,} bytes or less), and took {lost:.3f} s a rank.")
    if evidence.ranks == 1:
        advice = "Write or read more in one call, or many pieces in one call with a list of sections."
    elif 2 * np.count_nonzero(small["operation"]) > len(small):
        advice = ("The calls are collective already: leave the hint method at auto, or set it to extended, which joins "
                  "what all ranks want into few large accesses.")
    else:
        advice = "Let all ranks write or read together, in collective calls, which make few large accesses."
    return Finding("small requests", lost, text, advice)


def small_collective_calls(evidence: Evidence) -> Finding | None:
    meetings = evidence.meetings
    chosen = (meetings.calls["operation"] > 0) & (meetings.ranks_in[meetings.group] > 1)
    if not chosen.any():
        return None
    moved = np.bincount(meetings.group, meetings.calls["bytes"].astype("f8")) / meetings.ranks_in
    small = chosen & (moved < SMALL)[meetings.group]
    count = len(np.unique(meetings.group[small]))
    lost = float((meetings.calls["duration"] - meetings.early)[small].sum()) / 1e9 / evidence.ranks
    if count < MANY or lost < OF_CALLS * evidence.in_calls:
        return None
    median = int(np.median(moved[np.unique(meetings.group[small])]))
    text = (f"Small collective calls: {count:,} of {len(np.unique(meetings.group[chosen])):,} collective reads and "
            f"writes moved less than 64 KiB a rank (half of these {median:,} bytes or less), and took {lost:.3f} s a "
            "rank.")
    advice = "The ranks agree on each call: pass more in one call, as several time steps, or a list of sections."
    return Finding("small collective calls", lost, text, advice)


def opening_and_closing(evidence: Evidence) -> Finding | None:
    """Without metadata, without the writing that a close waits for, and without waiting for a late rank."""
    trace, meetings = evidence.trace, evidence.meetings
    cost = evidence.part(OPENING, CLOSING) - meetings.seconds(meetings.early, "open", "close")
    if evidence.per_rank("open") < OFTEN or cost < OF_CALLS * evidence.in_calls:
        return None
    files = len(np.unique(trace.of("open")["file"]))
    text = (f"Opening and closing: {evidence.per_rank('open'):,.0f} opens by a rank, of "
            f"{files:,} {'file' if files == 1 else 'files'}, and as many closes took {cost:.3f} s a rank.")
    if evidence.per_rank("open") > 1.5 * files:
        advice = "Keep a file open instead of opening it again."
    else:
        advice = ("Write fewer files: several arrays go into one with fields=[...], time steps into an array that "
                  "grows (append), and the file stays open in between.")
    return Finding("opening and closing", cost, text, advice)


def metadata(evidence: Evidence) -> Finding | None:
    cost, count = evidence.part(METADATA), evidence.per_rank("metadata")
    if count < OFTEN or cost < OF_CALLS * evidence.in_calls:
        return None
    text = (f"Metadata: {count:,.0f} times rank 0 read or changed headers, attributes or the metadata of HDF5, netCDF "
            f"or Zarr, which took {cost:.3f} s a rank.")
    advice = ("Open a dataset once and keep it open; one that grows (append) replaces one for each time step; set "
              "attributes once.")
    return Finding("metadata", cost, text, advice)


def syncs(evidence: Evidence) -> Finding | None:
    trace, meetings = evidence.trace, evidence.meetings
    cost = evidence.part(SYNCS) - meetings.seconds(meetings.early, "sync")
    count = evidence.per_rank("sync")
    if count < OFTEN or cost < OF_CALLS * evidence.in_calls:
        return None
    writes = len(trace.of("write", "begin write")) / evidence.ranks
    text = f"Syncs: {count:,.0f} calls of sync for {writes:,.0f} writes by a rank took {cost:.3f} s a rank."
    return Finding("syncs", cost, text, "Sync only where a crash must not lose what was written so far.")


def one_aggregator(evidence: Evidence) -> Finding | None:
    trace, ranks = evidence.trace, evidence.ranks
    accesses, calls = trace.of("file read", "file write"), trace.of("read", "write", "begin read", "begin write")
    accesses, calls = accesses[accesses["operation"] > 0], calls[calls["operation"] > 0]  # those of collective calls
    if ranks < 2 or not len(accesses):
        return None
    moved = np.bincount(accesses["process"], accesses["bytes"].astype("f8"), ranks)
    wanted = np.bincount(calls["process"], calls["bytes"].astype("f8"), ranks)
    busiest = int(moved.argmax())
    if moved[busiest] < 0.95 * moved.sum() or np.count_nonzero(wanted) < 2 or wanted.max() > 0.95 * wanted.sum():
        return None
    alone = seconds_of(accesses[accesses["process"] == busiest])
    if alone < OF_CALLS * evidence.in_calls:
        return None
    who = trace.processes[busiest].who
    text = (f"One aggregator: {who} moved {moved[busiest] / moved.sum():.0%} of the bytes of {ranks} ranks to or from "
            f"files, which took it {alone:.3f} s.")
    advice = ("If the file system serves several ranks at a time, raise the hint aggregators; `penstock explain` shows "
              "what is chosen, and why.")
    return Finding("one aggregator", alone * (1 - 1 / ranks), text, advice)


def no_room(evidence: Evidence) -> Finding | None:
    waits = evidence.trace.of("room")
    lost = seconds_of(waits) / evidence.ranks
    if not len(waits) or lost < 0.1 * evidence.in_calls:
        return None
    text = f"No room in the active buffer: writes waited {len(waits):,} times for it, {lost:.3f} s a rank."
    return Finding("no room", lost, text, "Raise the hint active_buffer_size, or compute longer between writes.")


def too_little_computation(evidence: Evidence) -> Finding | None:
    """Time of I/O threads that the program waited for, since it had nothing else to do."""
    trace, ranks = evidence.trace, evidence.ranks
    accesses = trace.of("file read", "file write", "file sync")
    background = seconds_of(accesses[trace.in_io_thread(accesses)]) / ranks
    waited = evidence.part(IO_THREADS)
    calls = trace.of(*CALLS)
    if background == 0 or not len(calls):
        return None
    computed = sum(outside(calls[calls["process"] == rank]) for rank in range(ranks)) / ranks
    if waited < 0.2 * background or computed >= background:
        return None
    text = (f"Too little computation to hide behind: I/O threads accessed files for {background:.3f} s a rank, but the "
            f"program computed for only {computed:.3f} s between its calls, and waited {waited:.3f} s for these "
            "accesses in close, sync or end, or for room.")
    advice = "Write less or less often, or wait later, after more work, for close(wait=False) and write_begin."
    return Finding("too little computation", min(waited, background), text, advice)


def outside(calls: Records) -> float:
    """Seconds from the first call of a process to its last that no call took."""
    if not len(calls):
        return 0.0
    ends = np.maximum.accumulate(calls["begin"] + calls["duration"])
    gaps = calls["begin"][1:] - ends[:-1]
    return float(np.maximum(gaps, 0).sum()) / 1e9


def late_ranks(evidence: Evidence) -> Finding | None:
    """One rank computes longer than the others, and they wait for it in the next collective call."""
    meetings, ranks = evidence.meetings, evidence.ranks
    if ranks < 2 or not len(meetings.calls):
        return None
    lost_of = np.bincount(meetings.calls["process"], meetings.late_by_computing.astype("f8"), ranks) / 1e9
    lost = float(lost_of.mean())
    if lost < OF_CALLS * evidence.in_calls:
        return None
    latest = evidence.trace.processes[int(lost_of.argmin())].who
    text = (f"Late ranks: in collective calls a rank waited {lost:.3f} s for the last one, most often {latest}, which "
            "had computed longer.")
    return Finding("late ranks", lost, text, "Give the ranks equal work between calls, or write with write_begin.")


def busy_cores(evidence: Evidence) -> Finding | None:
    samples = evidence.trace.of(RUN_QUEUE)
    waiting, running = total_of(samples["bytes"]) / 1e9, total_of(samples["offset"]) / 1e9
    if waiting < 0.2 * (waiting + running) or waiting == 0:
        return None
    # Ranks that wait for each other in many opens keep the cores busy: the opens are the cause.
    but = [kinds for rule, kinds in ((opening_and_closing, ("open", "close")), (metadata, ("metadata", "other call")))
           if rule(evidence) is not None]
    within = [seconds_within(evidence.trace, samples, kinds) for kinds in but]
    lost = max(waiting - sum(within), 0.0) / evidence.ranks
    text = (f"Too few cores: threads that were ready to run waited {lost:.3f} s a rank for a core, and ran "
            f"{running / evidence.ranks:.3f} s.")
    return Finding("busy cores", lost, text, "Run fewer ranks or threads on a node, or give them cores of their own.")


def seconds_within(trace: Trace, samples: Records, kinds: tuple[str, ...]) -> float:
    """How long threads waited for a core during such events, by the part of each sample's interval that they take."""
    events, waited = trace.of(*kinds), 0.0
    for process in np.unique(samples["process"]).tolist():
        mine, theirs = samples[samples["process"] == process], events[events["process"] == process]
        if not len(theirs):
            continue
        ends = np.maximum.accumulate(theirs["begin"] + theirs["duration"])
        begins = np.maximum(theirs["begin"], np.concatenate([theirs["begin"][:1], ends[:-1]]))
        times = np.stack([begins, ends], axis=1).reshape(-1).astype("f8")
        taken = np.cumsum(np.stack([np.zeros(len(ends)), (ends - begins).astype("f8")], axis=1).reshape(-1))
        until = mine["begin"] + mine["duration"]
        covered = np.interp(until, times, taken) - np.interp(mine["begin"], times, taken)
        waited += float((mine["bytes"] * np.clip(covered / np.maximum(mine["duration"], 1), 0, 1)).sum()) / 1e9
    return waited


#: Where most of the time may be without a rule that fits, and what shows more.
WHERE_TO_LOOK = {
    OUTSIDE: "A trace shows Penstock's calls alone: a profiler shows the rest of the program.",
    ACCESSING: "Compare the bandwidth with what the device can do. Other programs that use it, locks that they hold, "
               "and data that is not in the page cache slow accesses down as well.",
    "exchange": "The ranks send each other what they write or read: `penstock explain` shows how much, and a test of "
                "the network shows what it can do.",
    LOCKS: "Another program, or another rank, holds a lock on the same bytes: see which programs have the file open.",
    IO_THREADS: "I/O threads access files meanwhile: compare the bandwidth with what the device can do.",
}


def not_known(evidence: Evidence, explained: float) -> list[Finding]:
    """Reports, instead of a guess, that no rule explains most of the time."""
    if not evidence.parts or evidence.trace.seconds == 0:
        return []
    most = evidence.parts[0]
    if explained >= most.seconds / 2:
        return []
    shown = [part for part in evidence.parts[:3] if part is most or part.share >= 0.1]
    where = ", ".join(f"{part.share:.0%} {'' if part.name == OUTSIDE else 'in '}{part.name} ({part.seconds:.3f} s)"
                      for part in shown)
    text = f"The cause is not known. Where the time of a rank went: {where}."
    advice = WHERE_TO_LOOK.get(most.name, "`penstock trace view` shows when, and in which calls.")
    return [Finding("not known", most.seconds, text, advice)]


RULES: tuple[Callable[[Evidence], Finding | None], ...] = (
    small_requests, small_collective_calls, opening_and_closing, metadata, syncs, one_aggregator, no_room,
    too_little_computation, late_ranks, busy_cores)
