"""What a call of a file asks for, in the terms of the library."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Optional

import numpy as np

from ._core import ArgumentError, Section, SectionError
from ._distribution import Distribution
from ._hints import check_hints, hint_text
from ._index import Normalized, normalize
from ._values import assigned, tellable


@dataclass
class Prepared:
    """One call's arrays and sections, its settings, and what is wrong with them."""

    arrays: list[np.ndarray] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    problem: Optional[tuple[str, str]] = None
    values: Any = None  #: what a read returns
    fills: list[Callable[[], None]] = field(default_factory=list)

    @property
    def request(self) -> tuple[Any, ...]:
        return self.arrays, self.sections, self.settings, self.problem

    def result(self) -> Any:
        """What a read returns, once it is done."""
        for fill in self.fills:
            fill()
        return self.values


@dataclass(frozen=True)
class _Part:
    """One section of a call and the user's array for it."""

    value: Any  #: what a read returns
    memory: np.ndarray  #: records of bytes, of the section's shape
    section: Section
    fill: Optional[Callable[[], None]] = None


class Requests:
    """The calls of one array: its shape, the type of its elements and their order are known.

    A program makes the same call again and again: what was worked out once is kept.
    """

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype, order: str):
        self.shape, self.dtype, self.order = shape, dtype, order
        self._last: Optional[tuple[Any, Normalized]] = None
        self._settings: dict[Any, dict[str, str]] = {}
        self._record = np.dtype((np.void, dtype.itemsize))

    def write(self, memory: Any, section: Any, method: Optional[str], hints: Mapping[str, Any]) -> Prepared:
        return self._prepare(memory, section, method, hints, self._to_write)

    def assign(self, value: Any, index: Any) -> Prepared:
        """``f[index] = value``: what fits is repeated, and converted where nothing is lost."""
        return self._prepare(value, index, None, {}, self._to_assign)

    def read(self, out: Any, section: Any, method: Optional[str], hints: Mapping[str, Any]) -> Prepared:
        return self._prepare(out, section, method, hints, self._to_read)

    def _prepare(self, memory: Any, section: Any, method: Optional[str], hints: Mapping[str, Any],
                 one: Callable[[Any, Any], _Part]) -> Prepared:
        """Never raises: a rank that found a fault must still take part in the call."""
        settings: dict[str, str] = {}
        try:
            if method is not None or hints:
                settings = self._call_settings(method, hints)
            many = isinstance(section, list)
            wanted = section if many else [section]
            given = memory if many and memory is not None else [memory] * len(wanted)
            if len(given) != len(wanted):
                raise ArgumentError(f"{len(given)} arrays for {len(wanted)} sections")
            # None is nothing, for a section as for a whole call.
            parts = [None if entry is None else one(array, entry) for array, entry in zip(given, wanted)]
            there = [part for part in parts if part is not None]
            values = [None if part is None else part.value for part in parts]
            return Prepared([part.memory for part in there], [part.section for part in there], settings, None,
                            values if many else values[0], [part.fill for part in there if part.fill is not None])
        except SectionError as error:
            return Prepared(settings=settings, problem=("section", tellable(error)))
        except Exception as error:
            return Prepared(settings=settings, problem=("argument", tellable(error)))

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

    def _normal(self, entry: Any) -> Normalized:
        if self._last is not None and self._last[0] is entry:
            return self._last[1]
        normal = normalize(entry, self.shape, self.order)
        normal.section.check(list(self.shape))
        if isinstance(entry, Section):  # does not change
            self._last = entry, normal
        return normal

    def _to_write(self, array: Any, entry: Any) -> _Part:
        if isinstance(entry, Distribution):
            array, entry = self._interior(array, entry), entry.section
        normal = self._normal(entry)
        if array is None:
            raise ArgumentError("an array is needed for a section that is not None")
        array = self._fitting(np.asarray(array), normal)
        return _Part(None, normal.as_section(array).view(self._record), normal.section)

    def _to_assign(self, value: Any, entry: Any) -> _Part:
        if isinstance(entry, Distribution):
            value, entry = self._interior(value, entry), entry.section
        normal = self._normal(entry)
        array = assigned(value, self.dtype, normal.memory_shape)
        return _Part(None, normal.as_section(array).view(self._record), normal.section)

    def _to_read(self, out: Any, entry: Any) -> _Part:
        if out is not None and not isinstance(out, np.ndarray):
            raise ArgumentError(f"out must be a NumPy array, not {type(out).__name__}")
        if isinstance(entry, Distribution):
            part = self._to_read(self._interior(out, entry), entry.section)
            return part if out is None else _Part(out, part.memory, part.section, part.fill)
        normal = self._normal(entry)
        array = out
        if array is None:
            array = np.empty(normal.memory_shape, self.dtype, order=self.order)  # type: ignore[call-overload]
        fitting = self._fitting(array, normal)
        if not normal.flat:
            return _Part(array, normal.as_section(fitting).view(self._record), normal.section)
        if not fitting.flags.writeable:
            raise ArgumentError("buffer: it is not writable")
        flat = np.empty(fitting.size, self.dtype)
        return _Part(array, flat.view(self._record), normal.section, lambda: normal.fill(fitting, flat))

    @staticmethod
    def _interior(array: Any, d: Distribution) -> Any:
        return array[d.interior] if isinstance(array, np.ndarray) and array.shape == d.local_shape else array

    def _fitting(self, array: np.ndarray, normal: Normalized) -> np.ndarray:
        """The array with the shape of the index's memory; raises where it has another, or another type."""
        if array.dtype is not self.dtype and array.dtype != self.dtype:
            raise ArgumentError(f"array has dtype {array.dtype}, the file has {self.dtype}; "
                                f"convert it first: array.astype({self.dtype.str!r})")
        if array.shape == normal.memory_shape:
            return array
        if normal.dropped and not normal.lists_first and array.shape == tuple(normal.section.shape):
            return np.squeeze(array, normal.dropped)
        raise ArgumentError(f"array has shape {array.shape}, the section {normal.section!r} "
                            f"has shape {normal.memory_shape}")
