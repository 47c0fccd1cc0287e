"""What Dickens and Thakur found of the steps, and how Penstock stands to MPI-IO: beside what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

import numpy as np

from .findings import Finding
from .ratios import Record, is_penstock
from .report import distinct

EVALUATION = "Dickens and Thakur, Evaluation of Collective I/O Implementations on Parallel Architectures"

# What is quicker than what in writes, and by how much they found it on the SP2 with 32 and 64 processors.
ORDER = (("step1", "direct", "step 1 beats no collective call (by 310 and 740 %)"),
         ("step2", "step1", "step 2 beats step 1 (by 95 and 62 %)"),
         ("step5", "step2", "step 5 beats step 2 (by 10 and 0 %)"))


def _quicker(records: Sequence[Record], method: str, other: str) -> Optional[float]:
    """How many times as fast, of the same rounds."""
    times = {r["method"]: r["times"] for r in records}
    if method not in times or other not in times:
        return None
    return float(np.median([b / a for a, b in zip(times[method], times[other])]))


def steps_findings(records: list[Record]) -> list[Finding]:
    found = []
    writes = [r for r in records if r["operation"] == "write"]
    for pattern in distinct(writes, "pattern"):
        for ranks in distinct(writes, "ranks"):
            chosen = [r for r in writes if r["pattern"] == pattern and r["ranks"] == ranks]
            place = f"{chosen[0]['device']}, {pattern}, {ranks} ranks" if chosen else pattern
            found += [_ordered(chosen, place, *pair) for pair in ORDER] if chosen else []
            found += [_between(chosen, place, step) for step in ("step3", "step4")] if chosen else []
    return found


def _ordered(records: Sequence[Record], place: str, method: str, other: str, words: str) -> Finding:
    ratio = _quicker(records, method, other)
    here = "not measured" if ratio is None else f"{100 * (ratio - 1):+.0f} %"
    return Finding(words, f"{EVALUATION}, section 4.1, Figure 2", place, here, None if ratio is None else ratio > 1)


def _between(records: Sequence[Record], place: str, step: str) -> Finding:
    of_step2, of_step5 = _quicker(records, step, "step2"), _quicker(records, step, "step5")
    words = f"step {step[-1]} generally falls between steps 2 and 5"
    source = f"{EVALUATION}, section 4"
    if of_step2 is None or of_step5 is None:
        return Finding(words, source, place, "not measured", None)
    here = f"{100 * (of_step2 - 1):+.0f} % against step 2, {100 * (of_step5 - 1):+.0f} % against step 5"
    return Finding(words, source, place, here, (of_step2 - 1) * (of_step5 - 1) <= 0)


def peers_findings(records: list[Record]) -> list[Finding]:
    """No paper: Penstock is to be no slower than what the MPI library has."""
    found = []
    for operation in distinct(records, "operation"):
        chosen = [r for r in records if r["operation"] == operation and is_penstock(r) and "of_mpi_io" in r
                  and not r["method"].endswith("buffered")]
        for ranks in distinct(chosen, "ranks"):
            found.append(_against_mpi_io([r for r in chosen if r["ranks"] == ranks], f"{operation}, {ranks} ranks"))
    return found


def _against_mpi_io(records: Sequence[Record], place: str) -> Finding:
    ratios = {f"{r['pattern']}, {r['file']} file ({r['of_mpi_io']:.2f})": r["of_mpi_io"] for r in records}
    slower = [name for name, ratio in ratios.items() if ratio < 1]
    here = f"{min(ratios.values()):.1f} to {max(ratios.values()):.1f} times as fast"
    here += f"; slower: {', '.join(slower)}" if slower else ""
    return Finding("Penstock is no slower than the MPI library's MPI-IO", "", place, here, not slower)
