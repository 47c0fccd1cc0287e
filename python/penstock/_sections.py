"""Sections from what Python programmers write: slices, integers, index lists."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._core import Section, SectionError


@dataclass(frozen=True)
class Normalized:
    """A section, and the axes that integers in it remove from the memory side."""

    section: Section
    dropped: tuple[int, ...] = ()

    @property
    def memory_shape(self) -> tuple[int, ...]:
        return tuple(n for axis, n in enumerate(self.section.shape) if axis not in self.dropped)


def _bound(value: Any, default: int, extent: int, axis: int) -> int:
    if value is None:
        return default
    try:
        number = operator.index(value)
    except TypeError:
        raise SectionError(f"section, dimension {axis}: bound {value!r} is not an integer") from None
    return number + extent if number < 0 else number


def _dimension(entry: Any, extent: int, axis: int) -> Any:
    if isinstance(entry, slice):
        step = 1 if entry.step is None else operator.index(entry.step)
        lower = _bound(entry.start, 0, extent, axis)
        upper = _bound(entry.stop, extent, extent, axis)
        return (lower, upper, step, 1)
    if isinstance(entry, range):
        return (entry.start, entry.stop, entry.step, 1)
    if isinstance(entry, (list, np.ndarray)):
        array = np.asarray(entry)
        if array.size == 0:
            return []
        if array.ndim == 1 and array.dtype == bool:
            if array.size != extent:
                raise SectionError(f"section, dimension {axis}: a mask of {array.size} for {extent} indices")
            array = np.flatnonzero(array)
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise SectionError(f"section, dimension {axis}: an index list must be a list of integers")
        return [int(i) + extent if i < 0 else int(i) for i in array]
    if entry is None or isinstance(entry, (bool, np.bool_)):
        raise SectionError(f"section, dimension {axis}: {entry!r} selects no index; use slices, "
                           "integers or index lists")
    index = _bound(entry, 0, extent, axis)
    return (index, index + 1, 1, 1)


def normalize(entries: Any, shape: Sequence[int]) -> Normalized:
    """Turns one section as the user wrote it into a Section of an array of `shape`."""
    if isinstance(entries, Section):
        return Normalized(entries)
    if not isinstance(entries, tuple):
        entries = (entries,)
    places = [axis for axis, entry in enumerate(entries) if entry is Ellipsis]
    if len(places) > 1:
        raise SectionError("section: only one '...' can stand in it")
    if places:
        at = places[0]
        missing = len(shape) - (len(entries) - 1)
        entries = entries[:at] + (slice(None),) * missing + entries[at + 1 :]
    if len(entries) != len(shape):
        raise SectionError(f"section has {len(entries)} dimensions, the array has {len(shape)}")
    dimensions = [_dimension(e, n, axis) for axis, (e, n) in enumerate(zip(entries, shape))]
    kept = (slice, range, list, np.ndarray)
    dropped = tuple(axis for axis, e in enumerate(entries) if not isinstance(e, kept))
    return Normalized(Section._of(dimensions), dropped)


def section(*ranges: Any) -> Section:
    """A half-open section: ``section((0, 10), (5, 100, 2))`` is 0:10 by 5:100:2.

    Args:
        ranges: One for each of 1 to 8 dimensions: ``(lower, upper)``, ``(lower, upper, stride)`` or
            ``(lower, upper, stride, block)``, which takes ``block`` neighbours at every step; or a list of
            indices. In elements.

    Raises:
        SectionError: For a range that is none of these.
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
        SectionError: For a range that is no section.
    """
    return section(*((r[0] - 1, r[1], r[2] if len(r) > 2 else 1) for r in ranges))


def extents(runs: Iterable[tuple[int, int]]) -> Section:
    """A section of runs of elements, counted along the array as it lies in the file.

    Its memory is one-dimensional, of as many elements as the runs have together.

    Args:
        runs: ``(begin, end)`` of each, half-open; ascending and apart, or the call that uses the section
            raises SectionError.
    """
    return Section._extents([(int(begin), int(end)) for begin, end in runs])
