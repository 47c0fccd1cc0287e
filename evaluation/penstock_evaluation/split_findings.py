"""Findings of Dickens and Thakur about split collectives, compared with measurements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Optional

from penstock._bench.ratios import Record

from .findings import ALIKE, Finding, Interval, Outcome, compared, decided, on_its_side
from .report import distinct

EVALUATION = "Dickens and Thakur, Evaluation of Collective I/O Implementations on Parallel Architectures"
THREADS = "Dickens and Thakur, Improving Collective I/O Performance Using Threads"


def split_findings(records: list[Record]) -> list[Finding]:
    found = []
    writes = [r for r in records if r["operation"] == "write"]
    for device in distinct(writes, "device"):
        for ranks in distinct(writes, "ranks"):
            chosen = [r for r in writes if r["device"] == device and r["ranks"] == ranks]
            if chosen:
                place = f"{device}, {ranks} ranks"
                found += _modes(chosen, place) + _beside_communication(chosen, place) + _priorities(chosen, place)
    return found


Times = Callable[..., Optional[Interval]]  # of an experiment and a method, of `none`, or of another, in the same rounds


def _times(records: Sequence[Record]) -> Times:
    known = {(r["experiment"], r["method"]): r["times"] for r in records if "times" in r}

    def of(experiment: str, method: str, other: str = "none") -> Optional[Interval]:
        these, others = known.get((experiment, method)), known.get((experiment, other))
        return Interval.between(these, others) if these and others else None

    return of


def _modes(records: Sequence[Record], place: str) -> list[Finding]:
    of_none = _times(records)
    slabs, alone, whole = of_none("independent", "storage"), of_none("computation", "storage"), of_none("computation", "all")
    direct = records[0]["on"] == "o-direct"
    found = [
        Finding("without exchange, a thread that writes saves 46, 35, 38 and 9 % (SP2, Paragon, Origin, Exemplar, 64 processors); "
                "37, 35, 49 and 0 % in the other paper", f"{EVALUATION}, section 6.1, Figure 4; {THREADS}, section 3.2, Figure 1",
                place, _saved(slabs), _less(slabs, 0.09, 0.49)),
        Finding("the write alone in the background saves 45, 26, 25 and 12 % (the same machines); 46, 27, 33 and about 0 % in the "
                "other paper", f"{EVALUATION}, section 6.2, Figure 6; {THREADS}, section 3.3, Figure 3", place, _saved(alone),
                _less(alone, 0.12, 0.46)),
        Finding("the whole operation in the background is no better than the write alone, and mostly worse",
                f"{EVALUATION}, section 6.2, Figures 5 and 6; {THREADS}, section 3.3, Figures 2 and 3", place,
                f"whole: {_saved(whole)}; write alone: {_saved(alone)}",
                on_its_side(of_none("computation", "all", "storage"), 1 - ALIKE, more=True))]
    if direct:
        found.append(Finding("past the page cache the write alone saves nothing, for the disks are too fast (Origin)",
                             f"{EVALUATION}, section 6.2.1, Figure 7", place, _saved(alone),
                             on_its_side(alone, 1 - ALIKE, more=True)))
    return found


def _beside_communication(records: Sequence[Record], place: str) -> list[Finding]:
    of_none = _times(records)
    alone, beside = of_none("computation", "storage"), of_none("communication", "storage")
    slower = {r["method"]: r["slowdown"] for r in records if r["experiment"] == "communication" and "slowdown" in r}
    # With `none` the write is over when the messages begin: what differs there is the machine.
    drop = {method: (1 + slower[method]) / (1 + slower["none"]) - 1 for method in ("storage", "all")
            if method in slower and "none" in slower}
    told = ", ".join(f"{s:+.0%} time ({method})" for method, s in drop.items())
    source = f"{THREADS}, section 3.4, Figure 4"
    return [
        Finding("beside communication the write alone saves 34, 18 and 23 % (SP2, Paragon, Origin), less than beside computation "
                "(Exemplar: more)", source, place, f"{_saved(beside)}; beside computation: {_saved(alone)}",
                _lower(alone, beside)),
        Finding("for the two compete for the network: messages are slower while a write is under way", source, place,
                told or "not measured", decided(max(drop.values()) > ALIKE if drop else None))]


def _priorities(records: Sequence[Record], place: str) -> list[Finding]:
    """The papers name thread scheduling as decisive, but did not vary it. One finding per experiment."""
    times = {(r["experiment"], r["mode"], r["priority"]): r["times"] for r in records if "mode" in r and "times" in r}
    found = []
    for experiment in distinct(records, "experiment"):
        ratios = {(mode, priority): Interval.between(these, times[of, mode, "auto"]) for (of, mode, priority), these in times.items()
                  if of == experiment and priority != "auto" and (of, mode, "auto") in times}
        if ratios:
            told = "; ".join(f"{mode}, {priority}: {ratio.text('.2f')} of the time as it is"
                             for (mode, priority), ratio in ratios.items())
            best = min(ratios.values(), key=lambda ratio: ratio.middle)
            found.append(Finding("where threads compete for the processor, their scheduling costs what was gained; so a lower priority "
                                 "should gain (not tried there)", f"{EVALUATION}, sections 6.2 and 9", f"{place}, {experiment}", told,
                                 on_its_side(best, 1, more=False)))
    return found


def _saved(ratio: Optional[Interval]) -> str:
    return "not measured" if ratio is None else f"saved {ratio.saved.text('.0%')}"


def _less(ratio: Optional[Interval], least: float, most: float) -> Outcome:
    """Whether it saves as much as they found, from the least to the most."""
    return compared(None if ratio is None else ratio.saved, least, most, neutral=0)


def _lower(alone: Optional[Interval], beside: Optional[Interval]) -> Outcome:
    """Whether less is saved beside communication."""
    if alone is None or beside is None:
        return Outcome.not_measured
    if beside.low > alone.high or beside.high < alone.low:
        return Outcome.reproduced if beside.low > alone.high else Outcome.differs
    return Outcome.undecided
