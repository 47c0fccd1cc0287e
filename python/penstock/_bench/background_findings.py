"""What Ma and others found of active buffering, beside what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

from .findings import Finding
from .ratios import Record
from .report import distinct

ABT = "Ma, Winslett, Lee and Yu, Improving MPI-IO Output Performance with Active Buffering Plus Threads"
ALIKE = 0.03  #: a difference in time that is none


def abt_findings(records: list[Record]) -> list[Finding]:
    found = []
    for device in distinct(records, "device"):
        of_device = [r for r in records if r["device"] == device]
        for pattern in distinct((r for r in of_device if r["experiment"] == "throughput"), "pattern"):
            for ranks in distinct(of_device, "ranks"):
                chosen = [r for r in of_device if r["experiment"] == "throughput" and (r["pattern"], r["ranks"]) == (pattern, ranks)]
                found += _throughput(chosen, f"{device}, {pattern}, {ranks} ranks") if chosen else []
        found += _jacobi([r for r in of_device if r["experiment"] == "jacobi"], device)
    return found


def _throughput(records: Sequence[Record], place: str) -> list[Finding]:
    speed = {r["method"]: r["gb_per_s"] for r in records}
    rival = speed.get("unbuffered")
    twice, half = (speed[name] / rival if name in speed and rival else None for name in ("twice", "half"))
    return [
        Finding("with room for twice the data a write's apparent throughput is 6 times that of none (Origin, 64 processors)",
                f"{ABT}, section 4.1, Figure 2", place, _times(twice), None if twice is None else twice > 1),
        Finding("with room for half, 1.35 times (Origin, not conforming) to twice (conforming, and the cluster)",
                f"{ABT}, sections 4.1 and 4.2, Figures 2 and 4", place, _times(half), None if half is None else half > 1)]


def _times(ratio: Optional[float]) -> str:
    return "not measured" if ratio is None else f"{ratio:.2f} times"


def _jacobi(records: Sequence[Record], device: str) -> list[Finding]:
    found = []
    for ranks in distinct(records, "ranks"):
        totals = {(r["snapshots"], r["method"]): r for r in records if r["ranks"] == ranks and r["snapshots"]}
        pairs = [(n, r, totals[n, "unbuffered"]) for (n, name), r in totals.items()
                 if name == "twice" and (n, "unbuffered") in totals]
        if not pairs:
            continue
        n, best, rival = min(pairs, key=lambda pair: pair[1]["seconds"] / pair[2]["seconds"])
        shorter = 1 - best["seconds"] / rival["seconds"]
        visible = best["visible"] / rival["visible"]
        found.append(Finding("with room for twice the data Jacobi with snapshots runs up to 40 % (Origin) or almost 75 % (cluster) "
                             "shorter, with 23 % of the visible I/O (Origin)", f"{ABT}, sections 4.1 and 4.2, Figure 3",
                             f"{device}, {ranks} ranks", f"up to {shorter:.0%} shorter ({n} snapshots), with {visible:.0%} of the visible I/O", shorter > ALIKE))
    return found
