"""Selections as h5py has them, and the values that go there."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._values import assigned


@dataclass(frozen=True)
class Selected:
    """What one index takes of a dataset."""

    entries: Any  #: for the library. No integers, so that a list stays where it is
    full: tuple[int, ...]  #: of the elements, with an extent of 1 for each integer
    shape: tuple[int, ...]  #: of what the program has
    is_fancy: bool = False  #: with a list or a mask: no value is repeated to fill it


def split_fields(index: Any) -> tuple[tuple[str, ...], Any]:
    """The names of members of a compound type that an index has, and the rest of it."""
    entries = index if isinstance(index, tuple) else (index,)
    names = tuple(entry for entry in entries if isinstance(entry, str))
    return (names, tuple(entry for entry in entries if not isinstance(entry, str))) if names else ((), index)


def select(index: Any, shape: tuple[int, ...]) -> Selected:
    """Raises what h5py raises for an index that is none."""
    entries = index if isinstance(index, tuple) else (index,)
    if not shape:
        return _of_scalar(entries)
    if len(entries) == 1 and isinstance(entries[0], np.ndarray) and entries[0].dtype == bool and entries[0].ndim > 1:
        return _by_mask(entries[0], shape)
    taken = [_take(entry, extent) for entry, extent in zip(_filled_up(entries, len(shape)), shape)]
    lists = sum(isinstance(part, list) for part, _, _ in taken)
    if lists > 1:
        raise TypeError("Only one indexing vector or array is currently allowed for fancy indexing")
    full = tuple(extent for _, extent, _ in taken)
    return Selected(tuple(part for part, _, _ in taken), full,
                    tuple(extent for _, extent, is_integer in taken if not is_integer), bool(lists))


def _of_scalar(entries: tuple[Any, ...]) -> Selected:
    if entries not in ((), (Ellipsis,)):
        raise ValueError("Illegal slicing argument for scalar dataspace")
    return Selected((), (), ())


def _by_mask(mask: np.ndarray, shape: tuple[int, ...]) -> Selected:
    if mask.shape != shape:
        raise TypeError(f"Boolean indexing array of shape {mask.shape} has incompatible shape, for {shape}")
    count = int(np.count_nonzero(mask))
    return Selected(mask, (count,), (count,), True)


def _filled_up(entries: tuple[Any, ...], ndim: int) -> tuple[Any, ...]:
    dots = [at for at, entry in enumerate(entries) if entry is Ellipsis]
    if len(dots) > 1:
        raise ValueError("Only one ellipsis may be used.")
    at = dots[0] if dots else len(entries)
    before, after = entries[:at], entries[at + 1 :]
    missing = ndim - len(before) - len(after)
    if missing < 0:
        raise ValueError(f"{len(before) + len(after)} indexing arguments for {ndim} dimensions")
    return before + (slice(None),) * missing + after


def _take(entry: Any, extent: int) -> tuple[Any, int, bool]:
    """For the library; how many elements; whether it is an integer."""
    if isinstance(entry, slice):
        if entry.step is not None and operator.index(entry.step) < 1:
            raise ValueError(f"Step must be >= 1 (got {entry.step})")
        indices = range(*entry.indices(extent))
        return slice(indices.start, max(indices.stop, indices.start), indices.step), len(indices), False
    if isinstance(entry, (list, range, np.ndarray)) and np.ndim(entry) == 1:
        listed = _listed(np.asarray(entry), extent)
        return listed, len(listed), False
    if entry is None or isinstance(entry, (bool, np.bool_)):
        raise TypeError(f"Indexing with {entry} (or np.newaxis) is not supported")
    try:
        place = operator.index(entry)
    except TypeError:
        raise TypeError(f"Selection can't process {entry!r}") from None
    place = _within(place, extent)
    return slice(place, place + 1), 1, True


def _within(place: int, extent: int) -> int:
    if not -extent <= place < extent:
        raise IndexError(f"Index ({place}) out of range for " + (f"(0-{extent - 1})" if extent else "empty dimension"))
    return place % extent


def _listed(entry: np.ndarray, extent: int) -> list[int]:
    if entry.dtype == bool:
        if entry.size != extent:
            raise TypeError(f"Boolean indexing array of {entry.size} elements has incompatible shape, for {extent}")
        return [int(place) for place in np.flatnonzero(entry)]
    if entry.size and entry.dtype.kind not in "iu":
        raise TypeError(f"Selection can't process {entry!r}")
    places = [_within(int(place), extent) for place in entry]
    if any(left >= right for left, right in zip(places, places[1:])):
        raise TypeError("Indexing elements must be in increasing order")
    return places


def to_write(value: Any, selected: Selected, dtype: np.dtype) -> np.ndarray:
    """What ``dataset[index] = value`` puts there: numbers converted as HDF5 does, but for those that would become
    others: these raise ArgumentError."""
    array = np.asarray(value) if isinstance(value, (np.ndarray, np.generic)) or dtype.kind in "biufc" else \
        np.asarray(value, dtype)
    if array.dtype.kind == "f" and dtype.kind in "iu" and np.isfinite(array).all():
        array = _whole(np.trunc(array), dtype)
    if array.shape != selected.shape and [n for n in array.shape if n != 1] == [n for n in selected.shape if n != 1]:
        array = array.reshape(selected.shape)
    if selected.is_fancy and array.shape != selected.shape:
        raise TypeError(f"Broadcasting is not supported for complex selections: a value of shape {array.shape} for "
                        f"{selected.shape}")
    try:
        np.broadcast_to(array, selected.shape)
    except ValueError:
        raise TypeError(f"Can't broadcast {array.shape} -> {selected.shape}") from None
    return assigned(array, dtype, selected.shape).reshape(selected.full)


def _whole(numbers: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Unchanged where they do not fit, so that `assigned` refuses them."""
    limits = np.iinfo(dtype)
    fits = numbers.size == 0 or (numbers.min() >= limits.min and numbers.max() <= limits.max)
    return numbers.astype(dtype) if fits else numbers


def of_fields(values: Any, names: Sequence[str]) -> Any:
    """Of elements of a compound type."""
    if names and not values.dtype.names:
        raise ValueError(f"Field names {', '.join(names)} are of a compound type, and not of {values.dtype}")
    return values if not names else values[names[0]] if len(names) == 1 else values[list(names)]
