"""Tiles of out-of-core arrays: what a loop's body is given, and the memory that they are read into and written from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray

from ._core import Section
from ._file import File
from ._handle import Handle


class Tile:
    """A part of an `OutOfCoreArray` in memory, as `OutOfCoreArray.tiles` yields it.

    Its arrays are memory that is reused: they belong to this tile until the next step.
    """

    index: int  #: of the step of the loop, from 0
    section: Section  #: the tile's own elements, in the array
    with_halo: Section  #: these and the halo cells around them, clipped at the array's edge
    ghosted: NDArray[Any]  #: elements of `with_halo`, in the file's order
    interior: tuple[slice, ...]  #: the tile's own elements within `ghosted`
    values: NDArray[Any]  #: these elements: a view of `ghosted`
    out: NDArray[Any]  #: elements of `section` in the array given as ``into``; else `values`

    def __init__(self, index: int, sections: tuple[Section, Section, Sequence[int]]):
        self.index = index
        self.section, self.with_halo, before = sections
        self.interior = tuple(slice(b, b + n) for b, n in zip(before, self.section.shape))

    def __bool__(self) -> bool:
        """Whether it has any element; a rank may have fewer tiles than others, see ``even``."""
        return self.section.size > 0

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of `section`."""
        return tuple(self.section.shape)

    def __repr__(self) -> str:
        return f"<Tile {self.index}: {self.section!r}>"


class _Buffer:
    """Memory of one tile at a time, with what goes on there."""

    def __init__(self, elements: int, dtype: np.dtype):
        self.memory = np.empty(elements, dtype)
        self.holds: Optional[int] = None  #: the step whose elements are there
        self.reading: Optional[Handle] = None
        self.writing: Optional[Handle] = None

    def settle(self) -> None:
        """Collective: what was begun has ended."""
        for handle in (self.reading, self.writing):
            if handle is not None:
                handle.wait()
        self.reading = self.writing = None


class Buffers:
    """The tiles of one array in memory: each step of a loop has the next buffer in turn.

    All methods that begin or end something are collective; a rank without a tile passes None.
    """

    def __init__(self, file: File, count: int, elements: int):
        self._file = file
        self._buffers = [_Buffer(elements, file.dtype) for _ in range(count)]
        self.settings: dict[str, Any] = {}  #: of calls

    def _of(self, step: int) -> _Buffer:
        return self._buffers[step % len(self._buffers)]

    def begin_read(self, step: int, section: Optional[Section]) -> None:
        buffer = self._of(step)
        if buffer.holds == step:
            return
        buffer.settle()
        buffer.holds = step
        out = None if section is None else self._shaped(buffer, section)
        buffer.reading = self._file.read_begin(section, out, **self.settings)

    def finish_read(self, step: int) -> None:
        buffer = self._of(step)
        if buffer.reading is not None:
            buffer.reading.wait()
            buffer.reading = None

    def make_room(self, step: int) -> None:
        """What was in this step's buffer is in the file."""
        self._of(step).settle()
        self._of(step).holds = step

    def array(self, step: int, section: Section) -> NDArray[Any]:
        return self._shaped(self._of(step), section)

    def _shaped(self, buffer: _Buffer, section: Section) -> NDArray[Any]:
        shape = tuple(section.shape) or (0,) * len(self._file.shape)
        order: Any = self._file.order
        return buffer.memory[: math.prod(shape)].reshape(shape, order=order)

    def begin_write(self, step: int, section: Optional[Section]) -> None:
        buffer = self._of(step)
        if buffer.writing is not None:  # of a loop before, in a buffer that is kept
            buffer.writing.wait()
        values = None if section is None else self._shaped(buffer, section)
        buffer.writing = self._file.write_begin(values, section, **self.settings)

    def finish(self) -> None:
        """Collective: nothing is in progress any more."""
        for buffer in self._buffers:
            buffer.settle()

    @property
    def writing(self) -> list[Handle]:
        """Writes that have not been waited for."""
        return [buffer.writing for buffer in self._buffers if buffer.writing is not None]
