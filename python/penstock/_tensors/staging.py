"""Checkpoints that are written beside each node first: a file of every rank, and what brings them together."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from threading import Thread
from typing import Any, NamedTuple, Optional

import numpy as np

from .._core import Error, FormatError, Section, StorageError
from . import files, header, pending
from .index import make_folder
from .meeting import Meeting
from .pending import SaveHandle
from .shard import Part, Piece
from .verify import header_of

_NAME = re.compile(r"step-(\d{9,})\.([0-9a-f]{16})\.(\d+)-of-(\d+)\.safetensors")
_PARTS = "penstock.parts"  #: in the metadata: JSON of what the rank has of which tensor
_UNBUFFERED = {"active_buffer_size": 0}


class Copy(NamedTuple):
    """The files that the ranks of one save have written."""

    step: int
    token: str  #: of the save
    size: int  #: ranks of it


@dataclass
class Staged:
    """What this rank has of a copy, to be passed on."""

    pieces: list[Piece]
    metadata: dict[str, str]


class Stage:
    """A folder of each node. What is in it counts where the files of all ranks of a save are there."""

    def __init__(self, stage: str, folder: str, meeting: Meeting):
        name = hashlib.sha256(os.fsencode(os.path.abspath(folder))).hexdigest()[:16]
        self.folder, self._meeting = os.path.join(stage, f"penstock-{name}"), meeting

    def _path(self, copy: Copy, rank: int) -> str:
        return os.path.join(self.folder, f"step-{copy.step:09}.{copy.token}.{rank}-of-{copy.size}.safetensors")

    def put(self, step: int, pieces: list[Piece], metadata: dict[str, str]) -> Copy:
        """Collective. When it returns, every rank's file is on its node's device."""
        meeting = self._meeting
        copy = Copy(step, meeting.broadcast(secrets.token_hex(8)), meeting.size)

        def work() -> None:
            try:
                make_folder(self.folder)
            except OSError as error:
                raise StorageError(f"cannot make '{self.folder}': {error.strerror}") from None
            _write(self._path(copy, meeting.rank), pieces, metadata, meeting.alone)

        meeting.check(work)
        return copy

    def copies(self) -> dict[Copy, list[int]]:
        """Collective: those that are complete, with which of their files are this rank's to pass on. A file may be
        seen by several ranks."""
        seen = self._meeting.everywhere(sorted(self._names()))
        taken = [0] * len(seen)
        holders: dict[tuple[Copy, int], list[int]] = {}
        for rank, names in enumerate(seen):
            for name in names:
                step, token, number, size = _NAME.fullmatch(name).groups()  # type: ignore[union-attr]
                holders.setdefault((Copy(int(step), token, int(size)), int(number)), []).append(rank)
        complete: dict[Copy, list[int]] = {}
        for copy in dict.fromkeys(copy for copy, _ in sorted(holders)):
            if not all((copy, number) in holders for number in range(copy.size)):
                continue
            complete[copy] = []
            for number in range(copy.size):
                rank = min(holders[copy, number], key=lambda one: taken[one])
                taken[rank] += 1
                if rank == self._meeting.rank:
                    complete[copy].append(number)
        return complete

    def _names(self) -> list[str]:
        try:
            return [name for name in os.listdir(self.folder) if _NAME.fullmatch(name)]
        except OSError:
            return []  # none that this rank can use

    def take(self, copy: Copy, numbers: list[int]) -> Staged:
        """Not collective. The pieces are in the files, which stay mapped. Raises FormatError, OSError."""
        staged = Staged([], {})
        for number in numbers:
            one = _read(self._path(copy, number))
            staged.pieces += one.pieces
            staged.metadata = one.metadata
        return staged

    def keep_only(self, copy: Optional[Copy]) -> None:
        """Not collective: what this rank sees of other saves goes."""
        for name in self._names():
            if copy is None or not name.startswith(f"step-{copy.step:09}.{copy.token}."):
                try:
                    os.unlink(os.path.join(self.folder, name))
                except FileNotFoundError:
                    pass  # another rank of the node was first


def _write(path: str, pieces: list[Piece], metadata: dict[str, str], alone: Any) -> None:
    """By this rank alone, by its communicator: each piece is a tensor of its own."""
    local, entries, offsets, end = list[Piece](), list[tuple[str, str, tuple[int, ...], int]](), list[int](), 0
    for number, piece in enumerate(pieces):
        memory = piece.memory
        shape = piece.shape if piece.part is None else memory.shape
        local.append(Piece(str(number), piece.dtype, shape, None, memory, (0,) * memory.ndim, memory.shape))
        entries.append((str(number), piece.dtype, shape, memory.nbytes))
        offsets.append(end)
        end += memory.nbytes
    parts = [[piece.name, piece.dtype, piece.shape, _described(piece.part), piece.placed, piece.memory.shape,
              piece.memory.dtype.str] for piece in pieces]
    text = header.written(header.entries(entries), {_PARTS: json.dumps({"parts": parts, "metadata": metadata})})
    file = files.make(path, len(text) + end, alone, _UNBUFFERED)
    files.write(file, text, local, [len(text) + offset for offset in offsets]).close()


def _read(path: str) -> Staged:
    with open(path, "rb") as file:
        found = header_of(file, path)
    try:
        content = json.loads(found.metadata[_PARTS])
        raw = np.memmap(path, "u1", "r")
        pieces = [_piece(raw, found.tensors[str(number)].begin, *part) for number, part in enumerate(content["parts"])]
        return Staged(pieces, dict(content["metadata"]))
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise FormatError(f"'{path}' is not what Penstock has written beside a node: {error!s:.200}") from None


def _piece(raw: np.ndarray, begin: int, name: str, dtype: str, shape: list[int], part: Any, placed: list[int],
           extents: list[int], elements: str) -> Piece:
    kind = np.dtype(elements)
    memory = raw[begin : begin + int(np.prod(extents)) * kind.itemsize].view(kind).reshape(extents)
    section: Any = (0,) * len(placed)
    known: Part = None
    if isinstance(part, dict):
        section = known = Section._of([entry if isinstance(entry, list) else tuple(entry["bounds"])
                                       for entry in part["dimensions"]])
    elif part is not None:
        section = tuple(part[0])
        known = (section, tuple(part[1]))
    return Piece(name, dtype, tuple(shape), known, memory, section, tuple(placed))


def _described(part: Part) -> Any:
    if not isinstance(part, Section):
        return part
    return {"dimensions": [entry if isinstance(entry, list) else {"bounds": entry} for entry in part.dimensions]}


class StagedHandle(SaveHandle):
    """Of a checkpoint that is beside the nodes, and is being brought to its place: in the background where MPI allows
    calls of several threads at a time, else by `wait`."""

    def __init__(self, meeting: Meeting, path: str, size: int, bring: Callable[[], None], in_background: bool):
        super().__init__(meeting, path, size)
        self._bring, self._error = bring, None
        self._thread = Thread(target=self._run, name="penstock-stage") if in_background else None
        if self._thread is not None:
            self._thread.start()

    _error: Optional[BaseException]

    def _run(self) -> None:
        try:
            self._bring()
        except BaseException as error:
            self._error = error

    def test(self) -> bool:
        return self._over or (self._thread is not None and not self._thread.is_alive())

    @property
    def progress(self) -> float:
        return 1.0 if self.test() else 0.0

    def wait(self) -> None:
        if self._over:
            return
        pending.remove(self)
        self._over = True
        if self._thread is None:
            self._run()
        else:
            self._thread.join()
        if isinstance(self._error, Error):
            raise self._error
        if self._error is not None:
            raise RuntimeError(f"'{self.path}': the background could not bring it to its place") from self._error
        for work in self._at_end:
            work()
