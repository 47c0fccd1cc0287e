"""What a call of a file asks for, in the terms of the library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Optional

import numpy as np

from ._core import ArgumentError, Section, SectionError
from ._distribution import Distribution
from ._hints import check_hints, hint_text
from ._sections import Normalized, normalize
from ._values import tellable


class Requests:
    """The calls of one array: its shape, the type of its elements and their order are known.

    A program makes the same call again and again: what was worked out once is kept.
    """

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype, order: str):
        self.shape, self.dtype, self.order = shape, dtype, order
        self._last: Optional[tuple[Any, Normalized, tuple[int, ...]]] = None
        self._settings: dict[Any, dict[str, str]] = {}
        self._record = np.dtype((np.void, dtype.itemsize))

    def prepare(self, memory: Any, section: Any, method: Optional[str], hints: Mapping[str, Any],
                reading: bool) -> Any:
        """Never raises: a rank that found a fault must still take part in the call."""
        arrays: list[np.ndarray] = []
        sections: list[Section] = []
        text: dict[str, str] = {}
        try:
            if method is not None or hints:
                text = self._call_settings(method, hints)
            many = isinstance(section, list)
            wanted = section if many else [] if section is None else [section]
            given = memory if many and memory is not None else [memory] * len(wanted)
            if len(given) != len(wanted):
                raise ArgumentError(f"{len(given)} arrays for {len(wanted)} sections")
            results: list[Any] = []
            for array, entry in zip(given, wanted):
                if entry is None:  # nothing, as for a whole call
                    results.append(None)
                    continue
                result, filled, part = self._one(array, entry, reading)
                results.append(result)
                arrays.append(filled)
                sections.append(part)
            result = results if many else results[0] if results else None
            return arrays, sections, text, None, result
        except SectionError as error:
            return [], [], text, ("section", tellable(error)), None
        except Exception as error:
            return [], [], text, ("argument", tellable(error)), None

    def _call_settings(self, method: Optional[str], hints: Mapping[str, Any]) -> dict[str, str]:
        key = (method, *hints.items())
        try:
            return self._settings[key]
        except (KeyError, TypeError):  # not seen before; not hashable
            pass
        text = hint_text({"method": method, **hints})
        check_hints(text, "a setting of a call")
        try:
            if len(self._settings) < 100:
                self._settings[key] = text
        except TypeError:
            pass
        return text

    def _normal(self, entry: Any) -> tuple[Normalized, tuple[int, ...]]:
        """The section in its own terms, and its shape."""
        if self._last is not None and self._last[0] is entry:
            return self._last[1], self._last[2]
        normal = normalize(entry, self.shape)
        normal.section.check(list(self.shape))
        shape = tuple(normal.section.shape)
        if isinstance(entry, Section):  # does not change
            self._last = entry, normal, shape
        return normal, shape

    def _one(self, array: Any, entry: Any, reading: bool) -> tuple[Any, np.ndarray, Section]:
        if isinstance(entry, Distribution):
            if isinstance(array, np.ndarray) and array.shape == entry.local_shape:
                array_view = array[entry.interior]
            else:
                array_view = array
            result, filled, part = self._one(array_view, entry.section, reading)
            return (array if array is not None else result), filled, part
        normal, shape = self._normal(entry)
        if array is None and reading:
            array = np.empty(normal.memory_shape, self.dtype, order=self.order)  # type: ignore[call-overload]
        elif reading and not isinstance(array, np.ndarray):
            raise ArgumentError(f"out must be a NumPy array, not {type(array).__name__}")
        return array, self._as_bytes(array, normal, shape), normal.section

    def _as_bytes(self, array: Any, normal: Normalized, shape: tuple[int, ...]) -> np.ndarray:
        """The array as records of bytes, its own memory, with the section's dimensions."""
        if array is None:
            raise ArgumentError("an array is needed for a section that is not None")
        array = np.asarray(array)
        if array.dtype is not self.dtype and array.dtype != self.dtype:
            raise ArgumentError(f"array has dtype {array.dtype}, the file has {self.dtype}; "
                                f"convert it first: array.astype({self.dtype.str!r})")
        if array.shape != shape:
            if array.shape != normal.memory_shape:
                raise ArgumentError(f"array has shape {array.shape}, the section {normal.section!r} "
                                    f"has shape {normal.memory_shape}")
            array = np.expand_dims(array, normal.dropped)
        return array.view(self._record)
