"""Sections by their bounds: half-open, in the papers' form, and runs along the file."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ._core import Section, SectionError


def section(*ranges: Any) -> Section:
    """A half-open section: ``section((0, 10), (5, 100, 2))`` is 0:10 by 5:100:2.

    Args:
        ranges: One for each of 1 to 8 dimensions: ``(lower, upper)``, ``(lower, upper, stride)`` or
            ``(lower, upper, stride, block)``, which takes ``block`` neighbours at every step; or a list of
            indices. In elements.

    Raises:
        SectionError: For an invalid range.
    """
    dimensions: list[Any] = []
    for r in ranges:
        if isinstance(r, (list, np.ndarray)):
            dimensions.append([int(i) for i in r])
        else:
            try:
                values = tuple(operator.index(v) for v in r)
            except TypeError:
                values = ()
            if not 2 <= len(values) <= 4:
                raise SectionError(f"section: {r!r} is not (lower, upper), (lower, upper, stride) or "
                                   "(lower, upper, stride, block)")
            dimensions.append(values + (1,) * (4 - len(values)))
    return Section._of(dimensions)


def inclusive(*ranges: Sequence[int]) -> Section:
    """A section in the papers' form: 1-based, upper bound included.

    ``inclusive((1, 100, 1), (11, 110, 1))`` is the papers' ``(1:100:1, 11:110:1)``. To type in a
    table as printed, with the rank in it, use ``Section.paper("(1:100:1, 1+10p:100+10p:1)", p=3)``.

    Args:
        ranges: One for each dimension: ``(lower, upper)`` or ``(lower, upper, stride)``.

    Raises:
        SectionError: For an invalid range.
    """
    return section(*((r[0] - 1, r[1], r[2] if len(r) > 2 else 1) for r in ranges))


def extents(runs: Iterable[tuple[int, int]]) -> Section:
    """A section of runs of elements, numbered in the order of the file.

    Its memory is one-dimensional, of as many elements as the runs have together.

    Args:
        runs: ``(begin, end)`` of each, half-open; ascending and apart, or the call that uses the section
            raises SectionError.
    """
    return Section._extents([(int(begin), int(end)) for begin, end in runs])
