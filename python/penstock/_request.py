"""The request of a call, in the library's form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Optional

import numpy as np

from ._core import ArgumentError, Section, SectionError, _Settings
from ._distribution import Distribution, Ghosted
from ._index import Normalized, normalize
from ._values import assigned, check_conversion, converted_to_file, is_float, tellable


@dataclass
class CallArguments:
    """One call's arrays and sections, its settings, and what is wrong with them."""

    arrays: list[np.ndarray] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)
    settings: Optional[_Settings] = None  #: None: those of the file
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
    """What one section of a call means, with the user's array for it: one section of the library, or several."""

    value: Any  #: what a read returns
    memory: list[np.ndarray]  #: records of bytes, each of its section's shape
    sections: list[Section]
    fill: Optional[Callable[[], None]] = None


class Requests:
    """The calls of one array: its shape, the type of its elements and their order are known.

    A program makes the same call again and again: what was worked out once is kept.
    """

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype, order: str):
        self.shape, self.dtype, self.order = shape, dtype, order
        self._last: Optional[tuple[Any, Normalized]] = None
        self._settings: dict[Any, _Settings] = {}
        self._record = np.dtype((np.void, dtype.itemsize))

    def one_longer(self) -> Requests:
        """Those of an array that has grown by a step."""
        slowest = 0 if self.order == "C" else len(self.shape) - 1
        shape = tuple(n + (axis == slowest) for axis, n in enumerate(self.shape))
        longer = Requests(shape, self.dtype, self.order)
        longer._settings = self._settings
        return longer

    def in_last_step(self, section: Any) -> Any:
        """The index of what ``section`` is in the last step along the slowest dimension."""
        if section is None or not self.shape:
            return section
        entries = section if isinstance(section, tuple) else (section,)
        return (self.shape[0] - 1, *entries) if self.order == "C" else (*entries, self.shape[-1] - 1)

    def write(self, memory: Any, section: Any, method: Optional[str], hints: Mapping[str, Any]) -> CallArguments:
        return self._prepare(memory, section, method, hints, self._to_write)

    def assign(self, value: Any, index: Any) -> CallArguments:
        """``f[index] = value``: what fits is repeated, and converted where nothing is lost."""
        return self._prepare(value, index, None, {}, self._to_assign)

    def read(self, out: Any, section: Any, method: Optional[str], hints: Mapping[str, Any]) -> CallArguments:
        return self._prepare(out, section, method, hints, self._to_read)

    def _prepare(self, memory: Any, section: Any, method: Optional[str], hints: Mapping[str, Any],
                 one: Callable[[Any, Any], _Part]) -> CallArguments:
        """Never raises: a rank that found a fault must still take part in the call."""
        settings: Optional[_Settings] = None
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
            return CallArguments([memory for part in there for memory in part.memory],
                                 [section for part in there for section in part.sections], settings, None,
                                 values if many else values[0], [part.fill for part in there if part.fill is not None])
        except SectionError as error:
            return CallArguments(settings=settings, problem=("section", tellable(error)))
        except MemoryError as error:
            return CallArguments(settings=settings, problem=("memory", tellable(error) or "out of memory"))
        except Exception as error:
            return CallArguments(settings=settings, problem=("argument", tellable(error)))

    def _call_settings(self, method: Optional[str], hints: Mapping[str, Any]) -> _Settings:
        key = (method, *hints.items())
        try:
            return self._settings[key]
        except (KeyError, TypeError):  # not seen before; not hashable
            pass
        settings = _Settings({"method": method, **hints})
        try:
            if len(self._settings) < 100:
                self._settings[key] = settings
        except TypeError:
            pass
        return settings

    def _normal(self, entry: Any) -> Normalized:
        last = self._last  # once: another thread may change it
        if last is not None and last[0] is entry:
            return last[1]
        normal = normalize(entry, self.shape, self.order)
        normal.section.check(list(self.shape) or [1])
        if isinstance(entry, Section):  # does not change
            self._last = entry, normal
        return normal

    def _to_write(self, array: Any, entry: Any) -> _Part:
        array, entry = self._without_halo(array, entry)
        normal = self._normal(entry)
        if array is None:
            raise ArgumentError("a section that is not None needs an array")
        return self._part(None, self._fitting(self._in_file_type(np.asarray(array)), normal), normal)

    def _to_assign(self, value: Any, entry: Any) -> _Part:
        value, entry = self._without_halo(value, entry)
        normal = self._normal(entry)
        return self._part(None, assigned(value, self.dtype, normal.memory_shape), normal)

    def _to_read(self, out: Any, entry: Any) -> _Part:
        if out is not None and not isinstance(out, np.ndarray):
            raise ArgumentError(f"out must be a NumPy array, not {type(out).__name__}")
        if _find(Ghosted, entry) is not None:
            return self._to_read_ghosted(out, entry)
        array, entry = self._without_halo(out, entry)
        normal = self._normal(entry)
        if array is not None and array.dtype != self.dtype:
            return self._to_convert(out, array, normal)
        if array is None:
            array = out = np.empty(normal.memory_shape, self.dtype, order=self.order)  # type: ignore[call-overload]
        fitting = self._fitting(array, normal)
        if not normal.flat:
            return self._part(out, fitting, normal)
        if not fitting.flags.writeable:
            raise ArgumentError("buffer: not writable")
        flat = np.empty(fitting.size, self.dtype)
        return _Part(out, [flat.view(self._record)], [normal.section], normal.filler(fitting, flat))

    def _to_read_ghosted(self, out: Any, entry: Any) -> _Part:
        """Several sections, each to its place in the local array."""
        entries = entry if isinstance(entry, tuple) else (entry,)
        at = _place(Ghosted, entries)
        ghosted: Ghosted = entries[at]
        whole = self._normal((*entries[:at], *(slice(0, 0) for _ in ghosted.shape), *entries[at + 1 :]))
        if at not in (0, len(entries) - 1) or whole.reversed or whole.lists_first:
            raise SectionError("section: what has halo cells is the first or the last of an index, beside integers and "
                               "slices of positive steps")
        before = whole.memory_shape[: len(whole.memory_shape) - len(ghosted.shape)] if at else ()
        after = () if at else whole.memory_shape[len(ghosted.shape) :]
        shape = (*before, *ghosted.shape, *after)
        if out is None:
            out = np.zeros(shape, self.dtype, order=self.order)  # type: ignore[call-overload]
        elif out.shape != shape:
            raise ArgumentError(f"array has shape {out.shape}, the section with its halo has shape {shape}")
        parts = []
        for section, place in ghosted.pieces:
            here = (*(slice(None) for _ in before), *place)
            normal = self._normal((*entries[:at], section, *entries[at + 1 :]))
            parts.append(self._to_convert(None, out[here], normal) if out.dtype != self.dtype else
                         self._part(None, self._fitting(out[here], normal), normal))
        fills = [part.fill for part in parts if part.fill is not None]

        def fill() -> None:
            for one in fills:
                one()

        return _Part(out, [m for part in parts for m in part.memory], [s for part in parts for s in part.sections],
                     fill)

    def _part(self, value: Any, array: np.ndarray, normal: Normalized) -> _Part:
        return _Part(value, [normal.as_section(array).view(self._record)], [normal.section])

    def _without_halo(self, array: Any, entry: Any) -> tuple[Any, Any]:
        """With the section of a Distribution in its place, and of an array that has its halo cells the interior."""
        if _find(Ghosted, entry) is not None:
            raise SectionError("section: halo cells belong to other ranks and are read, not written; write the "
                               "distribution")
        d = _find(Distribution, entry)
        if d is None:
            return array, entry
        entries = entry if isinstance(entry, tuple) else (entry,)
        at = _place(Distribution, entries)
        if isinstance(array, np.ndarray):
            if at == len(entries) - 1 and array.shape[-len(d.shape) :] == d.local_shape:
                interior = (..., *d.interior)
                array = array[interior]
            elif at == 0 and array.shape[: len(d.shape)] == d.local_shape:
                array = array[d.interior]
        return array, d.section if entry is d else (*entries[:at], d.section, *entries[at + 1 :])

    def _in_file_type(self, array: np.ndarray) -> np.ndarray:
        if array.dtype is self.dtype or array.dtype == self.dtype:
            return array
        return converted_to_file(array, self.dtype)

    def _to_convert(self, value: Any, out: np.ndarray, normal: Normalized) -> _Part:
        """Reads elements of the file's type, which become those of `out` at the end."""
        check_conversion(self.dtype, out.dtype, "out", "same_kind" if is_float(out.dtype) else "safe")
        if not out.flags.writeable:
            raise ArgumentError("buffer: not writable")
        target = self._fitting(out, normal)
        array = np.empty(target.shape, self.dtype, order=self.order)  # type: ignore[call-overload]

        def fill() -> None:
            target[...] = array

        if not normal.flat:
            return _Part(value, [normal.as_section(array).view(self._record)], [normal.section], fill)
        flat = np.empty(array.size, self.dtype)
        fill_array = normal.filler(array, flat)

        def fill_and_convert() -> None:
            fill_array()
            fill()

        return _Part(value, [flat.view(self._record)], [normal.section], fill_and_convert)

    @staticmethod
    def _fitting(array: np.ndarray, normal: Normalized) -> np.ndarray:
        """The array with the shape of the index's memory; raises where it has another."""
        if array.shape == normal.memory_shape:
            return array
        if normal.dropped and not normal.lists_first and array.shape == tuple(normal.section.shape):
            return np.squeeze(array, normal.dropped)
        raise ArgumentError(f"array has shape {array.shape}, the section {normal.section!r} "
                            f"has shape {normal.memory_shape}")


def _place(kind: type, entries: tuple[Any, ...]) -> int:
    return next(at for at, entry in enumerate(entries) if isinstance(entry, kind))


def _find(kind: type, entry: Any) -> Any:
    """The one of that kind which the index is, or has in it."""
    if isinstance(entry, kind):
        return entry
    found = [e for e in entry if isinstance(e, kind)] if isinstance(entry, tuple) else []
    if len(found) > 1:
        raise SectionError(f"section: an index can have one {kind.__name__}, not {len(found)}")
    return found[0] if found else None
