"""Findings of papers and measurements here: sentences generated from the papers' and the measured numbers.

A verdict has two sides, and rests on an interval: a ratio that was measured in several rounds has one value a round.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any, Optional

import numpy as np

ALIKE = 0.03  #: a negligible difference


class Outcome(Enum):
    """Of a finding of a paper."""

    reproduced = "reproduced"  #: all of the interval is between half and twice what was found, on the same side
    order = "order reproduced"  #: it is on the same side, but of another size
    differs = "differs"
    undecided = "undecided"  #: the interval is on both sides, or was measured once only
    bound = "bound only"  #: one side was not measured: only the least that it takes is known
    not_comparable = "not comparable"
    not_measured = "not measured"


@dataclass(frozen=True)
class Interval:
    """A ratio, or a share, with its median, and what lies around it with 95 % confidence; of fewer than six values all."""

    low: float
    middle: float
    high: float
    count: int = 1

    @staticmethod
    def of(values: Sequence[float]) -> Interval:
        found = sorted(values)
        left_out = _left_out(len(found))
        return Interval(found[left_out], float(np.median(found)), found[-1 - left_out], len(found))

    @staticmethod
    def between(these: Sequence[float], others: Sequence[float]) -> Interval:
        """Of these times over the others, of the same rounds."""
        return Interval.of([one / other for one, other in zip(these, others)])

    @staticmethod
    def around(intervals: Sequence[Interval]) -> Interval:
        """All of them."""
        middles = [one.middle for one in intervals]
        return Interval(min(one.low for one in intervals), float(np.median(middles)), max(one.high for one in intervals),
                        min(one.count for one in intervals))

    @property
    def saved(self) -> Interval:
        """Of a ratio of times: the share that is saved."""
        return Interval(1 - self.high, 1 - self.middle, 1 - self.low, self.count)

    @property
    def inverse(self) -> Interval:
        return Interval(1 / self.high, 1 / self.middle, 1 / self.low, self.count)

    def text(self, form: str) -> str:
        """"1.52 (1.40 to 1.71)"; of one value without what is around it."""
        if self.count < 2:
            return f"{self.middle:{form}} (once)"
        return f"{self.middle:{form}} ({self.low:{form}} to {self.high:{form}})"


@cache
def _left_out(count: int) -> int:
    """How many of the sorted values on each side are outside of the interval of the median."""
    most, below = 0, 0.0
    for k in range(count // 2):
        below += math.comb(count, k) / 2**count
        if 2 * below <= 0.05:
            most = k
    return most


def compared(found: Optional[Interval], least: float, most: float, neutral: float = 1.0) -> Outcome:
    """With what a paper found, from `least` to `most`: ratios, or with neutral=0 shares."""
    if found is None:
        return Outcome.not_measured
    more = least + most > 2 * neutral
    low, high = (max(least / 2, neutral), 2 * most) if more else (least / 2, min(2 * most, neutral))
    if found.count > 1 and low <= found.low and found.high <= high and neutral not in (found.low, found.high):
        return Outcome.reproduced
    return on_its_side(found, neutral, more, Outcome.order)


def on_its_side(found: Optional[Interval], limit: float, more: bool, same: Outcome = Outcome.reproduced) -> Outcome:
    """Whether all of it is more, or less, than the limit. `same`: the outcome then."""
    if found is None:
        return Outcome.not_measured
    if found.count > 1 and (found.low > limit or found.high < limit):
        return same if (found.low > limit) == more else Outcome.differs
    return Outcome.undecided


def decided(holds: Optional[bool]) -> Outcome:
    """Of what has no interval, such as counts."""
    return Outcome.not_measured if holds is None else Outcome.reproduced if holds else Outcome.differs


@dataclass(frozen=True)
class Finding:
    paper: str  #: the finding, or an aim of Penstock
    source: str  #: title and table or figure; "": an aim of Penstock
    device: str
    here: str  #: what was measured
    outcome: Outcome

    @property
    def verdict(self) -> str:
        if self.source:
            return self.outcome.value
        return {Outcome.reproduced: "met", Outcome.differs: "MISSED"}.get(self.outcome, self.outcome.value)

    def __str__(self) -> str:
        source = f" ({self.source})" if self.source else ""
        return f"{self.verdict:16} {self.device}: {self.paper}{source}; here: {self.here}"


def print_findings(screen: Any, found: Iterable[Finding]) -> None:
    for finding in found:
        screen.print(str(finding), highlight=False, markup=False, soft_wrap=True)
