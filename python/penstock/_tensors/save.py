"""Saving tensors: what the ranks have becomes one file, or several with an index."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Optional, Union, overload

import numpy as np

from .._core import ArgumentError, Error, _crc32c_share, parse_bytes
from .._first_rank import as_problem
from .._types import Comm, Path
from .._values import comm_address, path_bytes, tellable
from . import files, pending
from .index import INDEX, files_of, index_text, make_folder, names_for
from .layout import CHECKSUMS, FileLayout, Layout, check_replicas, layout_of
from .meeting import Meeting
from .pending import SaveHandle
from .plan import Table
from .shard import Piece, Shard, piece_to_save, shards_of

ALL_OF_IT = 1 << 60  #: bytes that a process may buffer, where nothing shall wait for the device
#: What `save_tensors` takes for one name.
Given = Union[Any, Shard, list[Shard]]


@dataclass
class Wanted:
    """The arguments of a save. By default those that report a problem."""

    pieces: list[Piece] = field(default_factory=list)
    metadata: dict[str, str] = field(default_factory=dict)
    most: Optional[int] = None  #: bytes of a file; None: one file
    checksums: bool = False


def _pieces_of(tensors: Mapping[str, Given]) -> list[Piece]:
    if not isinstance(tensors, Mapping):
        raise ArgumentError(f"tensors must be a dictionary of names, not {type(tensors).__name__}")
    pieces: list[Piece] = []
    for name, value in tensors.items():
        try:
            if type(name) is not str or name == "__metadata__":
                raise ArgumentError("a tensor's name must be text, and another one than __metadata__")
            name.encode()
            if type(value) is list and all(isinstance(one, Shard) for one in value):
                pieces.extend(piece_to_save(name, one) for one in value)
            elif type(value) is not np.ndarray and hasattr(value, "addressable_shards"):
                pieces.extend(piece_to_save(name, one) for one in shards_of(value))
            else:
                pieces.append(piece_to_save(name, value))
        except Error as error:
            raise type(error)(f"tensor {name!r}: {error}") from None
        except (TypeError, ValueError, AttributeError) as error:
            raise ArgumentError(f"tensor {name!r}: {tellable(error)}") from None
    return pieces


def most_of(max_file_size: Any) -> Optional[int]:
    """Bytes of a file; None: of one for all. Raises ArgumentError."""
    if max_file_size is None:
        return None
    most = max_file_size if isinstance(max_file_size, int) else parse_bytes(max_file_size)
    if most < 1:
        raise ArgumentError(f"max_file_size={max_file_size!r} must be at least 1 byte")
    return most


def _wanted(tensors: Any, metadata: Any, max_file_size: Any, checksums: Any) -> Wanted:
    wanted = Wanted(_pieces_of(tensors), dict(metadata or {}))
    for key, value in wanted.metadata.items():
        if not isinstance(key, str) or not isinstance(value, str) or key == CHECKSUMS:
            raise ArgumentError(f"metadata {key!r}: {value!r:.60}: both must be text, and {CHECKSUMS!r} is Penstock's")
        (key + value).encode()
    wanted.most = most_of(max_file_size)
    if not isinstance(checksums, (bool, np.bool_)):
        raise ArgumentError(f"checksums={checksums!r} is neither True nor False")
    wanted.checksums = bool(checksums)
    return wanted


@dataclass
class _Plan:
    """What is written, the same on all ranks."""

    names: list[bytes]  #: of the files
    headers: list[int]  #: bytes of each one's header
    sizes: list[int]  #: of each file
    index: Optional[int] = None  #: bytes of the index; None: there is one file


@dataclass
class _Texts:
    """What rank 0 alone has of it."""

    headers: list[bytes] = field(default_factory=list)
    index: bytes = b""
    old: set[str] = field(default_factory=set)  #: files of the checkpoint before, which go at the end


class _Saving:
    """One call of `save_tensors`."""

    def __init__(self, meeting: Meeting, path: bytes, wanted: Wanted):
        self._meeting, self._path, self._wanted = meeting, path, wanted
        self._texts = _Texts()

    def _shares(self, numbers: Iterable[int]) -> dict[int, int]:
        """Of checksums, of these of the own pieces."""
        pieces = self._wanted.pieces
        return {n: _crc32c_share(pieces[n].memory, pieces[n].section, list(pieces[n].placed)) for n in numbers}

    def _plan(self, layout: Layout) -> _Plan:
        """Collective. Raises where ranks have the same part of a tensor, and different elements."""
        wanted, shares = self._wanted, list[dict[int, int]]()
        if wanted.checksums or layout.compares:
            mine = range(len(wanted.pieces)) if wanted.checksums else layout.compare
            shares = self._meeting.gather(self._shares(mine))

        def work() -> _Plan:
            if layout.compares:
                check_replicas(layout.tensors, shares)
            sums = shares if wanted.checksums else None
            self._texts.headers = [file.header(wanted.metadata, sums) for file in layout.files]
            return self._named(layout.files)

        return self._meeting.first(work)

    def _named(self, made: list[FileLayout]) -> _Plan:
        """On rank 0."""
        headers = [len(header) for header in self._texts.headers]
        sizes = [length + file.bytes for length, file in zip(headers, made)]
        if self._wanted.most is None:
            return _Plan([self._path], headers, sizes)
        folder = os.fsdecode(self._path)
        make_folder(folder)
        self._texts.old = files_of(folder)
        names = names_for(len(made), self._texts.old)
        tensors = {tensor.name: name for name, file in zip(names, made) for tensor in file.tensors}
        self._texts.index = index_text(tensors, sum(file.bytes for file in made), self._wanted.metadata)
        paths = [os.fsencode(os.path.join(folder, name)) for name in names]
        return _Plan(paths, headers, sizes, len(self._texts.index))

    def write(self, comm: Any, hints: Mapping[str, Any]) -> SaveHandle:
        """Collective. Returns when this rank's memory is free; the handle's wait() puts the files in place."""
        layout = layout_of(self._meeting, Table.of(self._wanted.pieces), self._wanted.most)
        plan = self._plan(layout)
        handle = SaveHandle(self._meeting, os.fsdecode(self._path), sum(plan.sizes))
        for number, (name, size, begin) in enumerate(zip(plan.names, plan.sizes, plan.headers)):
            pieces = [self._wanted.pieces[i] for i in layout.order[number]]
            offsets = [begin + offset for offset in layout.offsets[number]]
            header = self._texts.headers[number] if self._meeting.rank == 0 else None
            try:
                handle.add(files.write(files.make(name, size, comm, hints), header, pieces, offsets))
            except BaseException:
                handle.abandon()
                raise
        if plan.index is not None:
            length = plan.index
            handle.finish_with(lambda: self._put_index(length, comm))
        return handle

    def _put_index(self, length: int, comm: Any) -> None:
        """Collective, when all files are in place: from here on it is the new checkpoint."""
        folder = os.fsdecode(self._path)
        text = self._texts.index if self._meeting.rank == 0 else None
        files.replace_text(os.path.join(folder, INDEX), text, length, comm)
        for name in self._texts.old:
            try:
                os.unlink(os.path.join(folder, name))
            except OSError:
                pass  # it is nobody's any more


def checked_tensors(meeting: Meeting, tensors: Any, metadata: Any, max_file_size: Any, checksums: Any) -> Wanted:
    """Collective: what is given to a save, all that is wrong with it found."""
    wanted = meeting.check(lambda: _wanted(tensors, metadata, max_file_size, checksums))
    layout_of(meeting, Table.of(wanted.pieces), wanted.most)
    return wanted


def save_pieces(path: str, wanted: Wanted, comm: Any, hints: Mapping[str, Any]) -> None:
    """Collective. Returns when they are in place."""
    name = path_bytes(path)
    _Saving(Meeting(comm, comm_address(comm), name), name, wanted).write(comm, hints).wait()


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
    """Writes named tensors, distributed over the ranks, into one safetensors file. Collective over ``comm``.

    All tensors are written in one operation. An existing file is unchanged until the new one is complete and on the
    device, also after a crash at any moment.

    Args:
        path: The file; with ``max_file_size`` a folder, which is created.
        tensors: What this rank has, by the tensors' names: an array, which is all of the tensor, a `Shard`, a list of
            Shards, or a jax.Array, of which each process has its shards. Ranks need not have the same names. Ranks that
            have the same part have the same elements in it, which are written once. Different parts of a tensor must
            not overlap, and together are all of it. 0 to 8 dimensions; any number for tensors saved whole.
        comm: An mpi4py communicator. None: this process alone.
        metadata: Texts by name, for the file's ``__metadata__``, the same on all ranks.
        max_file_size: Bytes of tensors in a file, as "5G". Given: several files, with the names that Hugging Face
            gives them, and ``model.safetensors.index.json``, which is put in place last. None: one file.
        checksums: Whether the file gets a CRC-32C of each tensor, for `verify_tensors`.
        hints: As in `penstock.open`. ``active_buffer_size`` is what a process may buffer; with ``wait=False`` by
            default all that it has to write, so that nothing waits for the device.
        wait: False: returns when the arrays may be changed again. The file is in place after the handle's
            `SaveHandle.wait`, which the next save or load with this communicator calls if the program has not.

    Returns:
        A `SaveHandle` with ``wait=False``, else None.

    Raises:
        ArgumentError: For what is no tensor, parts that overlap, or elements that no rank has.
        SectionError: For a part that does not fit its tensor.
        DisagreementError: Where ranks mean different tensors by one name, have different elements in the same part, or
            passed different settings.
        StorageError: If the operating system refuses, now or to an earlier save with ``wait=False``.

    The same class is raised on every rank and names the tensor; an old file is unchanged.
    """
    address = comm_address(comm)
    pending.settle(comm)
    wanted, name, problem, settings = Wanted(), b"", None, {}
    try:
        name = path_bytes(path)
        settings = dict(hints or {})
        if not wait:
            settings.setdefault("active_buffer_size", ALL_OF_IT)
        wanted = _wanted(tensors, metadata, max_file_size, checksums)
    except Exception as error:  # all ranks must raise it
        problem = as_problem(error)
    meeting = Meeting(comm, address, name)
    meeting.agree({"the call": "save_tensors", "path": name, "metadata": sorted(wanted.metadata.items()),
                   "max_file_size": wanted.most, "checksums": wanted.checksums, "wait": bool(wait)}, problem)
    handle = _Saving(meeting, name, wanted).write(comm, settings)
    if not wait:
        pending.add(comm, handle)
        return handle
    handle.wait()
    return None
