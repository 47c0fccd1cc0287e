"""Findings of Ma and others about active buffering, compared with measurements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

from penstock._bench.patterns import size_text
from penstock._bench.ratios import Record

from .findings import ALIKE, Finding, Interval, Outcome, compared, decided, on_its_side
from .report import distinct

ABT = "Ma, Winslett, Lee and Yu, Improving MPI-IO Output Performance with Active Buffering Plus Threads"
INSENSITIVE = 0.1  #: between ratios that count as equal


def abt_findings(records: list[Record]) -> list[Finding]:
    found = []
    for device in distinct(records, "device"):
        of_device = [r for r in records if r["device"] == device]
        for pattern in distinct((r for r in of_device if r["experiment"] == "throughput"), "pattern"):
            for ranks in distinct(of_device, "ranks"):
                chosen = [r for r in of_device if r["experiment"] == "throughput" and (r["pattern"], r["ranks"]) == (pattern, ranks)]
                found += _throughput(chosen, f"{device}, {pattern}, {ranks} ranks") if chosen else []
        found += [f for name in ("jacobi", "product") for f in _program([r for r in of_device if r["experiment"] == name], name, device)]
        found += _pretest([r for r in of_device if r["experiment"] == "pretest" and r["method"] == "parallel"], device)
        found += _servers([r for r in of_device if r["experiment"] == "servers" and r["method"] == "twice"], device)
    return found


def _throughput(records: Sequence[Record], place: str) -> list[Finding]:
    times = {r["method"]: r["times"] for r in records}
    twice, half = (Interval.between(times["unbuffered"], times[name]) if {name, "unbuffered"} <= set(times) else None
                   for name in ("twice", "half"))
    return [
        Finding("with room for twice the data a write's apparent throughput is 6 times that of none (Origin, 64 processors)",
                f"{ABT}, section 4.1, Figure 2", place, _times(twice), compared(twice, 6, 6)),
        Finding("with room for half, 1.35 times (Origin, not conforming) to twice (conforming, and the cluster)",
                f"{ABT}, sections 4.1 and 4.2, Figures 2 and 4", place, _times(half), compared(half, 1.35, 2))]


def _times(ratio: Optional[Interval]) -> str:
    return "not measured" if ratio is None else f"{ratio.text('.2f')} times"


def _program(records: Sequence[Record], name: str, device: str) -> list[Finding]:
    found = []
    for ranks in distinct(records, "ranks"):
        totals = {(r["snapshots"], r["method"]): r for r in records if r["ranks"] == ranks and r["snapshots"]}
        pairs = [(n, r, totals[n, "unbuffered"]) for (n, method), r in totals.items()
                 if method == "twice" and (n, "unbuffered") in totals]
        if not pairs:
            continue
        n, best, rival = min(pairs, key=lambda pair: pair[1]["seconds"] / pair[2]["seconds"])
        shorter = Interval.between(best["times"], rival["times"]).saved
        visible = best["visible"] / rival["visible"]
        also = "" if name == "jacobi" else "; matrix multiplication gave similar results"
        place = f"{device}, {'Jacobi' if name == 'jacobi' else 'matrix multiplication'}, {ranks} ranks"
        found.append(Finding("with room for twice the data Jacobi with snapshots runs up to 40 % (Origin) or almost 75 % (cluster) "
                             f"shorter, with 23 % of the visible I/O (Origin){also}", f"{ABT}, sections 4.1 and 4.2, Figure 3", place,
                             f"up to {shorter.text('.0%')} shorter ({n} snapshots), with {visible:.0%} of the visible I/O",
                             compared(shorter, 0.4, 0.75, neutral=0)))
        found += _slowed(totals, records, ranks, place)
    return found


def _slowed(totals: dict[tuple[int, str], Record], records: Sequence[Record], ranks: int, place: str) -> list[Finding]:
    """How much the background slows down the computation."""
    alone = next((r["computation"] for r in records if r["ranks"] == ranks and not r["snapshots"]), None)
    most = max((n for n, method in totals if method == "twice"), default=None)
    if alone is None or most is None:
        return []
    slower = totals[most, "twice"]["computation"] / alone - 1
    return [Finding("writes in the background slow the computation down, from 160 to 185 s (16 %) with 64 snapshots (Origin)",
                    f"{ABT}, section 4.1, Figure 3(a)", place, f"{slower:+.0%} with {most} snapshots, room for twice",
                    compared(Interval(slower, slower, slower, len(totals[most, "twice"]["times"])), 0.16, 0.16, neutral=0) if abs(slower) > ALIKE else Outcome.undecided)]


def _pretest(records: Sequence[Record], device: str) -> list[Finding]:
    found = []
    for foreground, ranks in dict.fromkeys((r["foreground"], r["ranks"]) for r in records):
        of_serial = {size_text(r["request"]): Interval.of(r["of_serial_pairs"]) for r in records
                     if (r["foreground"], r["ranks"]) == (foreground, ranks)}
        slower = [r["slowdown"] for r in records if (r["foreground"], r["ranks"]) == (foreground, ranks)]
        told = ", ".join(f"{size}: {ratio.text('.2f')}" for size, ratio in of_serial.items())
        middles = [ratio.middle for ratio in of_serial.values()]
        least, most = min(middles), max(middles)
        place = f"{device}, {foreground}, {ranks} ranks"
        found.append(Finding("with a thread that writes, writes and computation or broadcasts take significantly less time together than "
                             "one after the other", f"{ABT}, section 3.1", place,
                             f"{told} of it; the {foreground} is slower by {min(slower):.0%} to {max(slower):.0%}",
                             on_its_side(Interval.around(list(of_serial.values())), 1 - ALIKE, more=False)))
        if len(of_serial) > 1:
            found.append(Finding("the size of a request, 128 KB to 4 MB, makes no difference to that", f"{ABT}, section 3.1", place,
                                 f"{least:.2f} to {most:.2f}", decided(most - least <= INSENSITIVE)))
    return found


def _servers(records: Sequence[Record], device: str) -> list[Finding]:
    found = []
    for ranks in distinct(records, "ranks"):
        ratios = {r["variance"]: Interval.of(r["of_unbuffered_pairs"]) for r in records if r["ranks"] == ranks}
        told = ", ".join(f"with variance {v:g} {ratio.text('.2f')}" for v, ratio in ratios.items())
        found.append(Finding("a buffer also lowers the real cost, since ranks need not wait for each other's writes, which vary (not "
                             "isolated there)", f"{ABT}, sections 3.2 and 4.2, Figure 3(b)", f"{device}, {ranks} ranks",
                             f"write and close take {told} of those without buffer", _falls(ratios)))
    return found


def _falls(ratios: dict[float, Interval]) -> Outcome:
    """With the variance, and below 1."""
    if len(ratios) < 2:
        return Outcome.not_comparable
    least, most = ratios[min(ratios)], ratios[max(ratios)]
    if most.high < min(1.0, least.low):
        return Outcome.reproduced
    return Outcome.differs if most.low > min(1.0, least.high) else Outcome.undecided
