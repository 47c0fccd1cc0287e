"""Findings of Dickens and Thakur about split collectives, compared with measurements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Optional

from penstock._bench.ratios import Record

from .findings import Finding
from .report import distinct

EVALUATION = "Dickens and Thakur, Evaluation of Collective I/O Implementations on Parallel Architectures"
THREADS = "Dickens and Thakur, Improving Collective I/O Performance Using Threads"
ALIKE = 0.03  #: a negligible difference in time


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


Times = Callable[[str, str], Optional[float]]  # of an experiment and a method, of `none` in the same rounds


def _times(records: Sequence[Record]) -> Times:
    known = {(r["experiment"], r["method"]): r["of_none"] for r in records if "of_none" in r}
    return lambda experiment, method: known.get((experiment, method))


def _modes(records: Sequence[Record], place: str) -> list[Finding]:
    of_none = _times(records)
    slabs, alone, whole = of_none("independent", "storage"), of_none("computation", "storage"), of_none("computation", "all")
    direct = records[0]["on"] == "o-direct"
    found = [
        Finding("without exchange, a thread that writes saves 46, 35, 38 and 9 % (SP2, Paragon, Origin, Exemplar, 64 processors); "
                "37, 35, 49 and 0 % in the other paper", f"{EVALUATION}, section 6.1, Figure 4; {THREADS}, section 3.2, Figure 1",
                place, _saved(slabs), _less(slabs)),
        Finding("the write alone in the background saves 45, 26, 25 and 12 % (the same machines); 46, 27, 33 and about 0 % in the "
                "other paper", f"{EVALUATION}, section 6.2, Figure 6; {THREADS}, section 3.3, Figure 3", place, _saved(alone),
                _less(alone)),
        Finding("the whole operation in the background is no better than the write alone, and mostly worse",
                f"{EVALUATION}, section 6.2, Figures 5 and 6; {THREADS}, section 3.3, Figures 2 and 3", place,
                f"whole: {_saved(whole)}; write alone: {_saved(alone)}",
                None if alone is None or whole is None else whole >= alone - ALIKE)]
    if direct:
        found.append(Finding("past the page cache the write alone saves nothing, for the disks are too fast (Origin)",
                             f"{EVALUATION}, section 6.2.1, Figure 7", place, _saved(alone),
                             None if alone is None else alone >= 1 - ALIKE))
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
                None if alone is None or beside is None else beside > alone + ALIKE),
        Finding("for the two compete for the network: messages are slower while a write is under way", source, place,
                told or "not measured", max(drop.values()) > ALIKE if drop else None)]


def _priorities(records: Sequence[Record], place: str) -> list[Finding]:
    """The papers name thread scheduling as decisive, but did not vary it. One finding per experiment."""
    times = {(r["experiment"], r["mode"], r["priority"]): r["of_none"] for r in records if "of_none" in r}
    found = []
    for experiment in distinct(records, "experiment"):
        pairs = {(mode, priority): (ratio, times[of, mode, "auto"]) for (of, mode, priority), ratio in times.items()
                 if of == experiment and priority != "auto" and (of, mode, "auto") in times}
        if pairs:
            told = "; ".join(f"{mode}, {priority}: {ratio:.2f} of none (as it is: {usual:.2f})"
                             for (mode, priority), (ratio, usual) in pairs.items())
            found.append(Finding("where threads compete for the processor, their scheduling costs what was gained; so a lower priority "
                                 "should gain (not tried there)", f"{EVALUATION}, sections 6.2 and 9", f"{place}, {experiment}", told,
                                 any(ratio < usual - ALIKE for ratio, usual in pairs.values())))
    return found


def _saved(ratio: Optional[float]) -> str:
    return "not measured" if ratio is None else f"{1 - ratio:.0%} saved" if ratio <= 1 else f"{ratio - 1:.0%} lost"


def _less(ratio: Optional[float]) -> Optional[bool]:
    return None if ratio is None else ratio < 1 - ALIKE
