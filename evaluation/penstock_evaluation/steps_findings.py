"""Findings of Dickens and Thakur about the steps, and aims for Penstock relative to MPI-IO, compared with
measurements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

from penstock._bench.patterns import size_text
from penstock._bench.phases import REDISTRIBUTION, share
from penstock._bench.ratios import Record, is_penstock

from .findings import ALIKE, Finding, Interval, Outcome, compared, decided, on_its_side
from .report import distinct

EVALUATION = "Dickens and Thakur, Evaluation of Collective I/O Implementations on Parallel Architectures"

# Which exchange is faster for writes, and the factors they found on the SP2 with 32 and 64 processors.
ORDER = (("step1", "direct", "step 1 beats no collective call (by 310 and 740 %)", 4.1, 8.4),
         ("step2", "step1", "step 2 beats step 1 (by 95 and 62 %)", 1.62, 1.95),
         ("step5", "step2", "step 5 beats step 2 (by 10 and 0 %)", 1.0, 1.1))


def _quicker(records: Sequence[Record], method: str, other: str) -> Optional[Interval]:
    """Ratio of speeds, from the same rounds."""
    times = {r["method"]: r["times"] for r in records}
    if method not in times or other not in times:
        return None
    return Interval.between(times[other], times[method])


def _percent(ratio: Interval) -> str:
    return Interval(*(100 * (value - 1) for value in (ratio.low, ratio.middle, ratio.high)), ratio.count).text("+.0f") + " %"


def steps_findings(records: list[Record]) -> list[Finding]:
    """Of the paper's own set-up where it was measured: every rank writes its whole share. The steps: with the largest file."""
    writes = [r for r in records if r["operation"] == "write" and r["experiment"] == "exchange"]
    set_up = "paper" if "paper" in {r.get("set_up") for r in writes} else "default"
    by_step = [{**r, "method": r["step"]} for r in writes if r.get("set_up") in (set_up, "any")]
    found, largest = [], max((r["size"] for r in by_step), default=0)
    for device, pattern, ranks, size in _cases([r for r in by_step if r["size"] == largest], "device", "pattern", "ranks", "size"):
        chosen = [r for r in by_step if (r["device"], r["pattern"], r["ranks"], r["size"]) == (device, pattern, ranks, size)]
        place = f"{device}, {pattern}, {size_text(size)}, {ranks} ranks"
        found += [_ordered(chosen, place, *pair) for pair in ORDER]
        found += [_between(chosen, place, step) for step in ("step3", "step4")]
    for device, pattern in _cases(by_step, "device", "pattern"):
        found += _redistribution([r for r in by_step if (r["device"], r["pattern"], r["method"]) == (device, pattern, "step5")],
                                 f"{device}, {pattern}")
    return found + _direct(by_step) + _staggered([r for r in records if r["experiment"] == "staggered"])


def _cases(records: Sequence[Record], *keys: str) -> list[tuple[Any, ...]]:
    return list(dict.fromkeys(tuple(r[key] for key in keys) for r in records))


def _redistribution(records: Sequence[Record], place: str) -> list[Finding]:
    """How the part of the redistribution changes with ranks and with the file's size."""
    if not records:
        return []
    size, ranks = max(r["size"] for r in records), max(r["ranks"] for r in records)
    over_ranks = {r["ranks"]: share(r, *REDISTRIBUTION) for r in records if r["size"] == size}
    over_sizes = {r["size"]: share(r, *REDISTRIBUTION) for r in records if r["ranks"] == ranks}
    return [
        Finding("the redistribution takes 90, 75 and 55 % of step 5 with 16, 32 and 64 processors (Origin); elsewhere the write takes "
                "at least 90 % with 64", f"{EVALUATION}, section 4.1.2", f"{place}, {size_text(size)}",
                _listed({f"{n} ranks": part for n, part in over_ranks.items()}), _falls(over_ranks, 0.9, 0.55)),
        Finding("the redistribution's part falls from 55 to 35 % when the file grows from 64 MB to 1 GB (Origin, 64 processors)",
                f"{EVALUATION}, section 4.1.2, Figure 3", f"{place}, {ranks} ranks",
                _listed({size_text(n): part for n, part in over_sizes.items()}), _falls(over_sizes, 0.55, 0.35))]


def _listed(parts: dict[str, float]) -> str:
    return ", ".join(f"{part:.0%} ({name})" for name, part in parts.items())


def _falls(parts: dict[int, float], first: float, last: float) -> Outcome:
    """From the least to the most, as from `first` to `last`. The parts are medians, without intervals."""
    if len(parts) < 2:
        return Outcome.not_comparable
    if parts[max(parts)] >= parts[min(parts)]:
        return Outcome.differs
    alike = all(told / 2 <= part <= 2 * told for part, told in ((parts[min(parts)], first), (parts[max(parts)], last)))
    return Outcome.reproduced if alike else Outcome.order


def _direct(records: Sequence[Record]) -> list[Finding]:
    """Step 5 past the page cache, of that through it. The methods did not take turns: seconds are compared."""
    times = {(r["on"], r["pattern"], r["ranks"], r["size"]): r["times"] for r in records if r["method"] == "step5"}
    found = []
    for (on, pattern, ranks, size), direct in times.items():
        cached = times.get(("page-cache", pattern, ranks, size))
        if on == "o-direct" and cached is not None:
            ratio = Interval.of([one / other for one in cached for other in direct])
            found.append(Finding("O_DIRECT makes every collective way more than twice as fast (Origin)", f"{EVALUATION}, section 4.1.2",
                                 f"{pattern}, {size_text(size)}, {ranks} ranks", f"step 5 {ratio.text('.2f')} times as fast",
                                 on_its_side(ratio, 2, more=True)))
    return found


def _staggered(records: Sequence[Record]) -> list[Finding]:
    found = []
    for device, ranks, size in _cases(records, "device", "ranks", "size"):
        chosen = [r for r in records if (r["device"], r["ranks"], r["size"]) == (device, ranks, size)]
        ratios = {r["method"]: ratio for r in chosen if r["method"] not in ("rod", "at once")
                  and (ratio := _quicker(chosen, r["method"], "at once")) is not None}
        if not ratios:
            continue
        best = max(ratios, key=lambda name: ratios[name].middle)
        found.append(Finding("writes of 128 ranks that start at different times reach 140 MB/s, all at once 94: 1.49 times (Exemplar)",
                             f"{EVALUATION}, section 4.1.1", f"{device}, {size_text(size)}, {ranks} ranks",
                             f"{ratios[best].text('.2f')} times, {best}", compared(ratios[best], 1.49, 1.49)))
    return found


def _ordered(records: Sequence[Record], place: str, method: str, other: str, words: str, least: float, most: float) -> Finding:
    ratio = _quicker(records, method, other)
    here = "not measured" if ratio is None else _percent(ratio)
    return Finding(words, f"{EVALUATION}, section 4.1, Figure 2", place, here, compared(ratio, least, most))


def _between(records: Sequence[Record], place: str, step: str) -> Finding:
    of_step2, of_step5 = _quicker(records, step, "step2"), _quicker(records, step, "step5")
    words = f"step {step[-1]} generally falls between steps 2 and 5"
    source = f"{EVALUATION}, section 4"
    if of_step2 is None or of_step5 is None:
        return Finding(words, source, place, "not measured", Outcome.not_measured)
    here = f"{_percent(of_step2)} against step 2, {_percent(of_step5)} against step 5"
    return Finding(words, source, place, here, _lies_between(of_step2, of_step5))


def _lies_between(one: Interval, other: Interval) -> Outcome:
    """Faster than the one and slower than the other, or as fast."""
    for slower, faster in (one, other), (other, one):
        if slower.low >= 1 - ALIKE and faster.high <= 1 + ALIKE:
            return Outcome.reproduced
    outside = min(one.low, other.low) > 1 or max(one.high, other.high) < 1
    return Outcome.differs if outside else Outcome.undecided


def peers_findings(records: list[Record]) -> list[Finding]:
    """Not from a paper: Penstock should not be slower than the MPI library's own MPI-IO."""
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
    return Finding("Penstock is no slower than the MPI library's MPI-IO", "", place, here, decided(not slower))
