"""Indices as NumPy means them, turned into sections and the way in which memory follows them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np

from ._core import Section, SectionError
from ._distribution import Distribution


@dataclass(frozen=True)
class Normalized:
    """A section, and how the user's array lies beside it.

    Integers drop a dimension of the section, negative steps reverse one. Where integers and lists have slices
    between them, NumPy puts the lists' dimensions first. A mask of several dimensions has elements in the order of
    the user's array, which need not be the order of the file.
    """

    section: Section
    memory_shape: tuple[int, ...]  #: of the user's array
    dropped: tuple[int, ...] = ()
    reversed: tuple[int, ...] = ()
    lists_first: tuple[int, ...] = ()  #: where the user's first dimensions belong
    flat: bool = False  #: a mask: the section's memory has one dimension
    places: Optional[np.ndarray] = None  #: of a mask: for each element of the file its place in flat memory

    def as_section(self, array: np.ndarray) -> np.ndarray:
        """A view of the user's array with the dimensions of the section; of a mask maybe a copy."""
        if self.flat:
            return array.reshape(-1) if self.places is None else array.reshape(-1)[self.places]
        if self.lists_first:
            array = np.moveaxis(array, range(len(self.lists_first)), self.lists_first)
        if self.dropped:
            array = np.expand_dims(array, self.dropped)
        if self.reversed:
            array = array[tuple(slice(None, None, -1 if axis in self.reversed else 1) for axis in range(array.ndim))]
        return array

    def filler(self, array: np.ndarray, flat: np.ndarray) -> Callable[[], None]:
        """Of a mask: what puts into the user's array what was read. All memory for that is had before the read."""
        in_order = flat if self.places is None else np.empty_like(flat)

        def fill() -> None:
            if self.places is not None:
                in_order[self.places] = flat
            array[...] = in_order.reshape(array.shape)

        return fill


@dataclass(frozen=True)
class _Taken:
    """What one entry of an index takes of one dimension."""

    indices: Any  # a range, or a list of indices
    kind: str  # "slice", "integer", "list" or "mesh" (of numpy.ix_)
    is_reversed: bool = False


def _outside(axis: int, index: int, extent: int) -> str:
    return f"section, dimension {axis}: index {index} is out of the array, whose indices are 0:{extent}"


def _slice(entry: slice, extent: int, axis: int) -> _Taken:
    try:
        if entry.step is not None and operator.index(entry.step) == 0:
            raise SectionError(f"section, dimension {axis}: stride 0 selects nothing; the smallest is 1")
        indices = range(*entry.indices(extent))
    except TypeError:
        raise SectionError(f"section, dimension {axis}: a bound or the step of {entry!r} is not an integer") from None
    if not indices:
        lower = min(max(indices.start, 0), extent)
        return _Taken((lower, lower, 1, 1), "slice")
    if indices.step < 0:
        return _Taken((indices[-1], indices[0] + 1, -indices.step, 1), "slice", is_reversed=True)
    return _Taken((indices.start, indices.stop, indices.step, 1), "slice")


def _integer(entry: Any, extent: int, axis: int) -> _Taken:
    if entry is None or isinstance(entry, (bool, np.bool_)):
        raise SectionError(f"section, dimension {axis}: {entry!r} selects nothing; use slices, "
                           "integers or index lists")
    try:
        index = operator.index(entry)
    except TypeError:
        raise SectionError(f"section, dimension {axis}: index {entry!r} is not an integer, a slice or a list of "
                           "integers") from None
    if not -extent <= index < extent:
        raise SectionError(_outside(axis, index, extent))
    index %= extent
    return _Taken((index, index + 1, 1, 1), "integer")


def _list(entry: Any, extent: int, axis: int, place: tuple[int, int]) -> _Taken:
    """`place`: its number among the lists of the index, and how many they are."""
    array = np.asarray(entry)
    kind = "list"
    if array.ndim > 1:  # of numpy.ix_, all dimensions but this entry's own are of one element
        if array.ndim != place[1] or array.shape[place[0]] != array.size:
            raise SectionError(f"section, dimension {axis}: a list of indices must have one dimension, not shape "
                               f"{array.shape}; for all combinations of several lists write f[np.ix_(rows, columns)]")
        array, kind = array.reshape(-1), "mesh"
    if array.size == 0 and not isinstance(entry, np.ndarray):
        array = array.astype(np.intp)
    if array.dtype == bool:
        if array.size != extent:
            raise SectionError(f"section, dimension {axis}: a mask of {array.size} for {extent} indices")
        array = np.flatnonzero(array)
    if array.dtype.kind not in "iu":
        raise SectionError(f"section, dimension {axis}: an index list must be a list of integers")
    indices = [int(index) for index in array]
    for index in indices:
        if not -extent <= index < extent:
            raise SectionError(_outside(axis, index, extent))
    return _Taken([index % extent for index in indices], kind)


def _is_list(entry: Any) -> bool:
    return isinstance(entry, (list, range)) or (isinstance(entry, np.ndarray) and entry.ndim > 0)


def _take(entries: tuple[Any, ...], shape: Sequence[int]) -> list[_Taken]:
    lists = [axis for axis, entry in enumerate(entries) if _is_list(entry)]
    taken = []
    for axis, (entry, extent) in enumerate(zip(entries, shape)):
        if isinstance(entry, _Taken):
            taken.append(entry)
        elif isinstance(entry, slice):
            taken.append(_slice(entry, extent, axis))
        elif axis in lists:
            taken.append(_list(entry, extent, axis, (lists.index(axis), len(lists))))
        else:
            taken.append(_integer(entry, extent, axis))
    return taken


def _of_sections(entries: tuple[Any, ...]) -> tuple[Any, ...]:
    """Sections within an index, as in ``(t, section)``, replaced by what they take of each dimension."""
    replaced: list[Any] = []
    for entry in (e.section if isinstance(e, Distribution) else e for e in entries):
        if not isinstance(entry, Section):
            replaced.append(entry)
        elif entry.is_extents:
            raise SectionError("section: extents cannot be combined with other indices; they count elements of the "
                               "whole file")
        else:
            replaced.extend(_Taken(indices, "slice") for indices in entry.dimensions)
    return tuple(replaced)


def _filled_up(entries: tuple[Any, ...], ndim: int) -> tuple[tuple[Any, ...], int]:
    """With ``:`` for omitted dimensions; and the dimension before which ``...`` is."""
    places = [at for at, entry in enumerate(entries) if entry is Ellipsis]
    if len(places) > 1:
        raise SectionError("section: only one '...' is allowed")
    at = places[0] if places else len(entries)
    before, after = entries[:at], entries[at + 1 :]
    missing = ndim - len(before) - len(after)
    if missing < 0:
        raise SectionError(f"section has {len(before) + len(after)} dimensions, the array has {ndim}")
    return before + (slice(None),) * missing + after, len(before)


def _mask_of_several(entries: tuple[Any, ...]) -> Optional[np.ndarray]:
    masks = [e for e in entries if isinstance(e, np.ndarray) and e.dtype == bool and e.ndim > 1]
    if not masks:
        return None
    others = [e for e in entries if e is not masks[0] and e is not Ellipsis and not
              (isinstance(e, slice) and e == slice(None))]
    if others or entries[0] is not masks[0]:
        raise SectionError("section: a mask of several dimensions must be the first of an index, and only ':' may "
                           "follow it; take a mask for each dimension, with f[np.ix_(rows, columns)], or numpy.nonzero")
    return masks[0]


def _by_mask(mask: np.ndarray, shape: Sequence[int], order: str) -> Normalized:
    rest = tuple(shape[mask.ndim :])
    if mask.shape != tuple(shape[: mask.ndim]):
        raise SectionError(f"section: a mask of shape {mask.shape} for an array of shape {tuple(shape)}")
    whole = np.broadcast_to(mask.reshape(mask.shape + (1,) * len(rest)), shape)
    along_file = whole.ravel(order=order).view(np.int8)  # type: ignore[arg-type]
    edges = np.flatnonzero(np.diff(along_file, prepend=0, append=0)).reshape(-1, 2)
    places = None
    if order == "F" and len(shape) > 1:
        number = np.cumsum(whole, dtype=np.int64).reshape(shape) - 1
        places = number.ravel(order="F")[along_file.view(bool)]
    section = Section._extents([(int(begin), int(end)) for begin, end in edges])
    return Normalized(section, (int(np.count_nonzero(mask)), *rest), flat=True, places=places)


def _check_lists(kinds: Sequence[str]) -> None:
    lists = [axis for axis, kind in enumerate(kinds) if kind in ("list", "mesh")]
    if len(lists) > 1 and any(kinds[axis] == "list" for axis in lists):
        raise SectionError(f"section: dimensions {lists[0]} and {lists[1]} both have a list, of which NumPy takes "
                           "pairs; for all combinations write f[np.ix_(rows, columns)], for pairs a mask")


def _lists_first(kinds: Sequence[str], kept: Sequence[int], dots: int) -> tuple[int, ...]:
    """Where lists that NumPy puts first belong: those with a slice, or ``...`` for no dimension, between them.

    Integers count as lists beside one.
    """
    advanced = [axis for axis, kind in enumerate(kinds) if kind != "slice"]
    lists = [place for place, axis in enumerate(kept) if kinds[axis] != "slice"]
    if not lists:
        return ()
    apart = advanced[-1] - advanced[0] >= len(advanced) or advanced[0] < dots <= advanced[-1]
    return tuple(lists) if apart else ()


def normalize(entries: Any, shape: Sequence[int], order: str = "C") -> Normalized:
    """Turns one index as the user wrote it into a Section of an array of `shape`."""
    if isinstance(entries, Distribution):
        entries = entries.section
    if isinstance(entries, Section):
        return Normalized(entries, tuple(entries.shape))
    if not isinstance(entries, tuple):
        entries = (entries,)
    mask = _mask_of_several(entries)
    if mask is not None:
        return _by_mask(mask, shape, order)
    filled, dots = _filled_up(_of_sections(entries), len(shape))
    if not shape:  # a single element, which the library has as a row of one
        return Normalized(Section._of([(0, 1, 1, 1)]), (), dropped=(0,))
    taken = _take(filled, shape)
    kinds = [t.kind for t in taken]
    _check_lists(kinds)
    section = Section._of([t.indices for t in taken])
    kept = [axis for axis, kind in enumerate(kinds) if kind != "integer"]
    extents = [section.shape[axis] for axis in kept]
    first = _lists_first(kinds, kept, dots)
    memory_shape = [extents[place] for place in first] + [n for place, n in enumerate(extents) if place not in first]
    return Normalized(section, tuple(memory_shape), tuple(a for a, kind in enumerate(kinds) if kind == "integer"),
                      tuple(a for a, t in enumerate(taken) if t.is_reversed), first)
