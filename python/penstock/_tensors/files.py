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


def _arguments(pieces: Sequence[Piece], offsets: Sequence[int]) -> tuple[list[Any], ...]:
    """In the order of the file, in which thousands cost little."""
    order = sorted(range(len(pieces)), key=offsets.__getitem__)
    return ([pieces[i].memory for i in order], [pieces[i].section for i in order], [pieces[i].placed for i in order],
            [int(offsets[i]) for i in order])


def write(file: File, header: Optional[bytes], pieces: Sequence[Piece], offsets: Sequence[int]) -> File:
    """Collective. `header`: of the rank that writes it. `offsets`: where each piece's tensor begins. The file."""
    arrays, sections, shapes, places = _arguments(pieces, offsets)
    if header:
        for column, first in ((arrays, np.frombuffer(header, "u1")), (sections, (0,)), (shapes, (len(header),)),
                              (places, 0)):
            column.insert(0, first)
    try:
        file._inner.write_placed(arrays, sections, shapes, places, None)
    except BaseException:
        file._inner.abandon()
        raise
    return file


def read(file: File, pieces: Sequence[Piece], offsets: Sequence[int], problem: Optional[tuple[str, str]]) -> None:
    """Collective. `problem`: what this rank has found wrong, for all."""
    file._inner.read_placed(*_arguments(pieces, offsets), problem)


def replace_text(path: Any, text: bytes, meeting_rank: int, comm: Any) -> None:
    """Collective: a small file, as a whole. `text`: rank 0's, of the same length on all."""
    with make(path, len(text), comm, {"active_buffer_size": 0}) as file:
        write(file, text if meeting_rank == 0 else None, [], [])

