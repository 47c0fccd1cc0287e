"""Saving tensors: what the ranks have becomes one file, or several with an index."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Optional, Union, overload

import numpy as np

from .._core import ArgumentError, Error, _crc32c_share, parse_bytes
from .._first_rank import as_problem
from .._types import Comm, Path
from .._values import comm_address, path_bytes, tellable
from . import files, pending
from .index import INDEX, files_of, index_text, names_for
from .meeting import Meeting
from .pending import SaveHandle
from .plan import CHECKSUMS, PlannedFile, Table, assigned, check_replicas, checksum, merged, planned
from .shard import Piece, Shard, piece_to_save

ALL_OF_IT = 1 << 60  #: bytes that a process may buffer, where nothing shall wait for the device
#: What `save_tensors` takes for one name.
Given = Union[Any, Shard, list[Shard]]


@dataclass
class _Wanted:
    """The arguments of a save as they are taken. By default what tells of a problem with them."""

    pieces: list[Piece] = field(default_factory=list)
    metadata: dict[str, str] = field(default_factory=dict)
    most: Optional[int] = None  #: bytes of a file; None: one file
    checksums: bool = False


def _pieces_of(tensors: Mapping[str, Given]) -> list[Piece]:
    if not isinstance(tensors, Mapping):
        raise ArgumentError(f"tensors must be a dictionary of names, not {type(tensors).__name__}")
    pieces = []
    for name, value in tensors.items():
        try:
            if type(name) is not str or name == "__metadata__":
                raise ArgumentError("a tensor's name must be text, and another one than __metadata__")
            name.encode()
            if type(value) is list and all(isinstance(one, Shard) for one in value):
                pieces.extend(piece_to_save(name, one) for one in value)
            else:
                pieces.append(piece_to_save(name, value))
        except Error as error:
            raise type(error)(f"tensor {name!r}: {error}") from None
        except (TypeError, ValueError, AttributeError) as error:
            raise ArgumentError(f"tensor {name!r}: {tellable(error)}") from None
    return pieces


def _wanted(tensors: Any, metadata: Any, max_file_size: Any, checksums: Any) -> _Wanted:
    wanted = _Wanted(_pieces_of(tensors), dict(metadata or {}))
    for key, value in wanted.metadata.items():
        if not isinstance(key, str) or not isinstance(value, str) or key == CHECKSUMS:
            raise ArgumentError(f"metadata {key!r}: {value!r:.60}: both must be text, and {CHECKSUMS!r} is Penstock's")
        (key + value).encode()
    if max_file_size is not None:
        wanted.most = max_file_size if isinstance(max_file_size, int) else parse_bytes(max_file_size)
        if wanted.most < 1:
            raise ArgumentError(f"max_file_size={max_file_size!r} must be at least 1 byte")
    if not isinstance(checksums, (bool, np.bool_)):
        raise ArgumentError(f"checksums={checksums!r} is neither True nor False")
    wanted.checksums = bool(checksums)
    return wanted


@dataclass
class _Plan:
    """What all ranks do. On rank 0 with the files' headers."""

    names: list[bytes]  #: of the files
    sizes: list[int]
    old: set[str]  #: files of a checkpoint before, which go at the end
    index: Optional[bytes]  #: None: there is one file
    headers: list[bytes] = field(default_factory=list)


class _Saving:
    """One call of `save_tensors`."""

    def __init__(self, meeting: Meeting, path: bytes, wanted: _Wanted):
        self._meeting, self._path, self._wanted = meeting, path, wanted

    def plan(self) -> tuple[_Plan, np.ndarray, np.ndarray]:
        """Collective. Of each own piece the number of its file (-1: none), too, and its tensor's offset there."""
        wanted, meeting = self._wanted, self._meeting
        table = Table.of(wanted.pieces)
        if wanted.checksums:
            table.shares = [self._share(piece) for piece in wanted.pieces]
        tables = meeting.gather(table)
        tensors: list[Any] = []
        meeting.first(lambda: tensors.extend(merged(tables)))
        self._compare(tables, tensors)
        plans: list[_Plan] = []
        shares: list[tuple[np.ndarray, np.ndarray]] = []

        def work() -> None:
            sums = {t.name: f"{checksum(t, tables):08x}" for t in tensors} if wanted.checksums else None
            made = planned(tensors, wanted.most, wanted.metadata, sums)
            plans.append(self._name(made))
            shares.extend(assigned(made, tables))

        meeting.first(work)
        plan = plans[0] if plans else None
        headers = plan.headers if plan else []
        if plan:
            plan.headers = []
        plan = meeting.broadcast(plan)
        assert plan is not None
        plan.headers = headers
        return (plan, *meeting.scatter(shares))

    @staticmethod
    def _share(piece: Piece) -> int:
        return _crc32c_share(piece.memory, piece.section, list(piece.placed))

    def _compare(self, tables: list[Table], tensors: list[Any]) -> None:
        """Collective. Raises where ranks have the same part of a tensor, and different elements."""
        if self._meeting.size == 1:
            return
        wanted: list[list[int]] = [[] for _ in range(self._meeting.size)]
        for tensor in tensors:
            for group in tensor.groups:
                for holder in group if len(group) > 1 else ():
                    rank, number = tensor.holders[holder]
                    wanted[rank].append(number)
        mine = self._meeting.scatter(wanted)
        shares = self._meeting.gather({number: self._share(self._wanted.pieces[number]) for number in mine})
        self._meeting.first(lambda: check_replicas(tensors, shares))

    def _name(self, made: list[PlannedFile]) -> _Plan:
        """On rank 0."""
        sizes, headers = [file.bytes for file in made], [file.header for file in made]
        if self._wanted.most is None:
            return _Plan([self._path], sizes, set(), None, headers)
        folder = os.fsdecode(self._path)
        os.makedirs(folder, exist_ok=True)
        old = files_of(folder)
        names = names_for(len(made), old)
        tensors = {tensor.name: name for name, file in zip(names, made) for tensor in file.tensors}
        index = index_text(tensors, sum(size - len(header) for size, header in zip(sizes, headers)),
                           self._wanted.metadata)
        return _Plan([os.fsencode(os.path.join(folder, name)) for name in names], sizes, old, index, headers)

    def write(self, comm: Any, hints: Mapping[str, Any]) -> SaveHandle:
        """Collective. Returns when this rank's memory is free; the handle's wait() puts the files in place."""
        plan, at, offsets = self.plan()
        handle = SaveHandle(self._meeting, os.fsdecode(self._path), sum(plan.sizes))
        for number, (name, size) in enumerate(zip(plan.names, plan.sizes)):
            own = np.flatnonzero(at == number)
            pieces = [self._wanted.pieces[i] for i in own]
            try:
                file = files.make(name, size, comm, hints)
                handle.add(files.write(file, plan.headers[number] if plan.headers else None, pieces,
                                       offsets[own].tolist()))
            except BaseException:
                handle.abandon()
                raise
        if plan.index is not None:
            handle.finish_with(lambda: self._put_index(plan, comm))
        return handle

    def _put_index(self, plan: _Plan, comm: Any) -> None:
        """Collective, when all files are in place: from here on it is the new checkpoint."""
        folder = os.fsdecode(self._path)
        assert plan.index is not None
        files.replace_text(os.path.join(folder, INDEX), plan.index, self._meeting.rank, comm)
        if self._meeting.rank == 0:
            for name in plan.old:
                if re.fullmatch(r"[^/]+\.safetensors", name):
                    try:
                        os.unlink(os.path.join(folder, name))
                    except OSError:
                        pass  # it is nobody's any more, and goes with the next one


@overload
def save_tensors(path: Path, tensors: Mapping[str, Given], *, comm: Comm = None,
                 metadata: Optional[Mapping[str, str]] = None, max_file_size: Union[str, int, None] = None,
                 checksums: bool = False, hints: Optional[Mapping[str, Any]] = None,
                 wait: Literal[True] = True) -> None: ...
@overload
def save_tensors(path: Path, tensors: Mapping[str, Given], *, comm: Comm = None,
                 metadata: Optional[Mapping[str, str]] = None, max_file_size: Union[str, int, None] = None,
                 checksums: bool = False, hints: Optional[Mapping[str, Any]] = None,
                 wait: bool) -> Optional[SaveHandle]: ...
def save_tensors(path: Path, tensors: Mapping[str, Given], *, comm: Comm = None,
                 metadata: Optional[Mapping[str, str]] = None, max_file_size: Union[str, int, None] = None,
                 checksums: bool = False, hints: Optional[Mapping[str, Any]] = None,
                 wait: bool = True) -> Optional[SaveHandle]:
    """Writes named tensors, of which each rank has parts, into one safetensors file. Collective over ``comm``.

    All tensors are written in one operation, whatever their number. A file of that name is there as it was until the
    new one is whole and on the device, also after a crash at any moment.

    Args:
        path: The file; with ``max_file_size`` a folder, which is made.
        tensors: What this rank has, by the tensors' names: an array, which is all of the tensor, a `Shard`, or a list
            of Shards. Ranks need not have the same names. Ranks that have the same part have the same elements in it,
            which are written once. Different parts of a tensor do not overlap, and are all of it together. 0 to 8
            dimensions; whole ones any number.
        comm: An mpi4py communicator. None: this process alone.
        metadata: Texts by name, for the file's ``__metadata__``, the same on all ranks.
        max_file_size: Bytes of tensors in a file, as "5G". Given: several files, with the names that Hugging Face
            gives them, and ``model.safetensors.index.json``, which is put in place last. None: one file.
        checksums: Whether the file gets a CRC-32C of each tensor, for `verify_tensors`.
        hints: As in `penstock.open`. ``active_buffer_size`` is what a process may buffer; with ``wait=False`` by
            default as much as it has to write, so that nothing waits for the device.
        wait: False: returns when the arrays may be changed again. The file is in place after the handle's
            `SaveHandle.wait`, which the next save or load with this communicator makes up for.

    Returns:
        A `SaveHandle` with ``wait=False``, else None.

    Raises:
        ArgumentError: For what is no tensor, parts that overlap, or elements that no rank has.
        SectionError: For a part that does not fit its tensor.
        DisagreementError: Where ranks mean different tensors by one name, have different elements in the same part, or
            passed different settings.
        StorageError: If the operating system refuses, now or to an earlier save with ``wait=False``.

    The same class is raised on every rank, names the tensor, and leaves an old file as it was.
    """
    address = comm_address(comm)
    pending.settle(comm)
    wanted, name, problem, settings = _Wanted(), b"", None, {}
    try:
        name = path_bytes(path)
        settings = dict(hints or {})
        if not wait:
            settings.setdefault("active_buffer_size", ALL_OF_IT)
        wanted = _wanted(tensors, metadata, max_file_size, checksums)
    except Exception as error:  # the other ranks must hear of it
        problem = as_problem(error)
    meeting = Meeting(comm, address, name)
    meeting.agree({"the call": "save_tensors", "path": name, "metadata": sorted(wanted.metadata.items()),
                   "max_file_size": wanted.most, "checksums": wanted.checksums, "wait": bool(wait)}, problem)
    saving = _Saving(meeting, name, wanted)
    handle = saving.write(comm, settings)
    if not wait:
        pending.add(comm, handle)
        return handle
    handle.wait()
    return None
