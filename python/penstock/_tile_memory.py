"""Checks the memory and disk that out-of-core arrays need, before a file is changed."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Union

import numpy as np

from . import _core
from ._core import ArgumentError, StorageError, _TileBudget, parse_bytes
from ._values import whole_number

UNITS = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def text_of(size: int) -> str:
    """As people read it."""
    for unit, name in UNITS:
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size} bytes"


def bytes_of(value: Any, name: str) -> int:
    """Of a number, or of a text such as "64M" and "64MiB"."""
    if not isinstance(value, str):
        return whole_number(value, name)
    try:
        return parse_bytes(re.sub(r"i?B$", "", value.strip()))
    except ArgumentError:
        raise ArgumentError(f"{name} {value!r} is no number of bytes; expected one as 64M or 64MiB") from None


@dataclass(frozen=True)
class Wanted:
    """What is to be opened, as far as it takes room."""

    path: Any
    mode: str
    shape: Any
    dtype: Any
    memory: Union[int, str]
    hints: Mapping[str, Any]

    def budget(self, ranks: int) -> _TileBudget:
        """Raises where memory for so many ranks on this machine, or the disk, is not there."""
        size = bytes_of(self.memory, "memory")
        given = self.hints.get("buffer_size")
        budget = _TileBudget(size, 0 if given in (None, "auto") else bytes_of(given, "hint buffer_size"))
        disk, free = _core._free_room(os.fsencode(self.path))
        if ranks * size > free:
            each = f"{text_of(size)} each for {ranks} ranks on one machine are" if ranks > 1 else f"{text_of(size)} are"
            raise ArgumentError(f"memory: {each} more than the {text_of(free)} that are free; give less, or start "
                                "fewer ranks on a machine")
        if self.new_bytes > disk:
            raise StorageError(f"'{os.fsdecode(self.path)}': the array has {text_of(self.new_bytes)}, and the disk has "
                               f"{text_of(disk)} free; nothing was changed")
        return budget

    @property
    def new_bytes(self) -> int:
        """Bytes of a new file. The chunks of a Zarr array may take less; how much is not known."""
        if self.mode != "w" or self.shape is None or self.dtype is None or os.fsdecode(self.path).endswith(".zarr"):
            return 0
        extents = self.shape if np.iterable(self.shape) else (self.shape,)
        return math.prod(int(n or 0) for n in extents) * np.dtype(self.dtype).itemsize
