"""Files in whose bytes tensors lie: opened, written and read in one operation each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Optional

import numpy as np

from .._file import File
from .._open import NOTHING_MORE, given_for, opened
from .shard import Piece


def make(path: Any, size: int, comm: Any, hints: Optional[Mapping[str, Any]]) -> File:
    """Collective. One that takes its place when it is closed."""
    how = {**NOTHING_MORE, "replace": True}
    return opened(path, comm, lambda: given_for(path, "w", (size,), "u1", None, 0, hints, "raw", how))


def open_bytes(path: Any, comm: Any, hints: Optional[Mapping[str, Any]]) -> File:
    """Collective."""
    return opened(path, comm, lambda: given_for(path, "r", (None,), "u1", None, 0, hints, "raw", NOTHING_MORE))


def _columns(pieces: Sequence[Piece]) -> tuple[list[Any], list[Any], list[Any]]:
    return ([piece.memory for piece in pieces], [piece.section for piece in pieces], [piece.placed for piece in pieces])


def write(file: File, header: Optional[bytes], pieces: Sequence[Piece], offsets: Sequence[int]) -> File:
    """Collective. `header`: of the rank that writes it. `offsets`: where each piece's tensor begins. They ascend, or it
    costs more. The file."""
    arrays, sections, shapes = _columns(pieces)
    if header:
        for column, first in ((arrays, np.frombuffer(header, "u1")), (sections, (0,)), (shapes, (len(header),))):
            column.insert(0, first)
        offsets = [0, *offsets]
    try:
        file._inner.write_placed(arrays, sections, shapes, offsets, None)
    except BaseException:
        file._inner.abandon()
        raise
    return file


def read(file: File, pieces: Sequence[Piece], offsets: Sequence[int], problem: Optional[tuple[str, str]]) -> None:
    """Collective. `problem`: what this rank has found wrong, for all."""
    order = sorted(range(len(pieces)), key=offsets.__getitem__)
    file._inner.read_placed(*_columns([pieces[i] for i in order]), [offsets[i] for i in order], problem)


def replace_text(path: Any, text: Optional[bytes], length: int, comm: Any) -> None:
    """Collective: a small file, as a whole. `text`: of the rank that has it; `length`: of that."""
    with make(path, length, comm, {"active_buffer_size": 0}) as file:
        write(file, text, [], [])
