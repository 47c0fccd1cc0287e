"""Loading tensors: from files of any sharding onto any other."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, Optional, Union

import numpy as np

from .._core import ArgumentError, Error, FormatError, SectionError
from .._file import File
from .._first_rank import as_problem
from .._types import Comm, Path
from .._values import comm_address, path_bytes, tellable
from . import files, header, pending
from .dtypes import BITS, byte_count, holds, numpy_dtype
from .header import Entry, Header
from .index import INDEX, read_index
from .meeting import Meeting
from .shard import Piece, Shard, checked_shape, normalized, part_piece, whole_piece

#: What `load_tensors` takes: names, or what is wanted of each.
Wanted = Union[Iterable[str], Mapping[str, Any], None]
_AT_FIRST = 1 << 16  #: bytes of a file to read in the hope that they have all of the header


def read_header(file: File, path: str) -> Header:
    """Collective: the same on every rank. Each byte is read once, and sent on."""
    size = file.shape[0]
    first = file.read(slice(0, min(size, _AT_FIRST))).tobytes()
    end = header.LENGTH_BYTES + header.length_of(first, size, path)
    if end > len(first):
        first += file.read(slice(len(first), end)).tobytes()
    return header.parsed(first[header.LENGTH_BYTES : end], size, path)


def wanted_names(wanted: Wanted) -> Optional[list[str]]:
    """None: all. Raises ArgumentError."""
    if wanted is None:
        return None
    if isinstance(wanted, (str, bytes)):
        raise ArgumentError(f"wanted={wanted!r} is one name; give a list of names")
    names = list(wanted)
    for name in names:
        if not isinstance(name, str):
            raise ArgumentError(f"the name of a tensor is text, not {name!r}")
    return names


def _new_array(entry: Entry, shape: tuple[int, ...]) -> np.ndarray:
    if BITS[entry.dtype] < 8:
        return np.empty(byte_count(entry.dtype, int(np.prod(shape))), "u1")
    return np.empty(shape, numpy_dtype(entry.dtype))


def piece_to_load(name: str, entry: Entry, wish: Any) -> tuple[Piece, np.ndarray]:
    """Where a tensor goes, and the array that the program gets. Raises ArgumentError, SectionError."""
    if isinstance(wish, np.ndarray):
        wish = Shard(wish)
    elif not isinstance(wish, Shard):
        wish = Shard(None, None if wish is ... else wish)
    if wish.shape is not None and checked_shape(wish.shape) != entry.shape:
        raise ArgumentError(f"it has shape {entry.shape} in the file, not {tuple(wish.shape)}")
    if wish.dtype is not None and wish.dtype != entry.dtype:
        raise ArgumentError(f"it has dtype {entry.dtype} in the file, not {wish.dtype}")
    array = wish.array
    if array is not None and not isinstance(array, np.ndarray):
        raise ArgumentError(f"the array to fill must be a NumPy array, not {type(array).__name__}")
    if array is not None and not holds(array.dtype, entry.dtype) and not (BITS[entry.dtype] < 8 and
                                                                          array.dtype == np.uint8):
        raise ArgumentError(f"it has dtype {entry.dtype} in the file, and the array to fill {array.dtype}")
    if array is not None and not array.flags.writeable:
        raise ArgumentError("the array to fill is not writable")
    if wish.section is None:
        array = _new_array(entry, entry.shape) if array is None else array
        return whole_piece(name, entry.dtype, entry.shape, array, fills=True), array
    if array is None:
        array = _new_array(entry, normalized(wish.section, entry.shape).memory_shape)
    return part_piece(name, entry.dtype, entry.shape, array, wish.section), array


class _Loading:
    """One rank's requests and results."""

    def __init__(self, wanted: Wanted, names: Optional[list[str]]):
        self._wishes: Optional[Mapping[str, Any]] = None
        if wanted is not None:
            self._wishes = wanted if isinstance(wanted, Mapping) else dict.fromkeys(names or (), ...)
        self.values: dict[str, Any] = {}

    def names_in(self, held: Mapping[str, Any]) -> list[str]:
        return list(held) if self._wishes is None else [name for name in self._wishes if name in held]

    def pieces(self, found: Header, names: Iterable[str]) -> tuple[list[Piece], list[int], Optional[tuple[str, str]]]:
        """With where their tensors begin; or what is wrong with one."""
        pieces, offsets = list[Piece](), list[int]()
        for name in names:
            try:
                entry = found.tensors[name]
                wish: Any = ... if self._wishes is None else self._wishes[name]
                several = isinstance(wish, list) and len(wish) > 0 and all(isinstance(one, Shard) for one in wish)
                got = [piece_to_load(name, entry, one) for one in (wish if several else [wish])]
                arrays = [array for _, array in got]
                self.values[name] = arrays if several else arrays[0]
            except (Error, TypeError, ValueError, MemoryError) as error:
                kind = "section" if isinstance(error, SectionError) else "argument"
                return [], [], (kind, f"tensor {name!r}: {tellable(error) or type(error).__name__}")
            pieces.extend(piece for piece, _ in got)
            offsets.extend([entry.begin] * len(got))
        return pieces, offsets, None

    def missing(self, held: Mapping[str, Any], path: str) -> None:
        """Raises ArgumentError for an unknown name."""
        for name in self._wishes or ():
            if name not in held:
                some = ", ".join(repr(one) for one in list(held)[:5]) + (", ..." if len(held) > 5 else "")
                raise ArgumentError(f"'{path}' has no tensor {name!r}; it has {some or 'none'}")

    def result(self) -> dict[str, Any]:
        """In the order in which they were asked for."""
        return {name: self.values[name] for name in (self.values if self._wishes is None else self._wishes)}


def _load_file(path: str, comm: Any, hints: Any, loading: _Loading, names: Optional[list[str]]) -> None:
    """Collective. `names`: of this file's tensors; None: whatever it has, which then must be all that is wanted."""
    with files.open_bytes(path, comm, hints) as file:
        found = read_header(file, path)
        problem: Optional[tuple[str, str]] = None
        try:
            if names is None:
                loading.missing(found.tensors, path)
            for name in names or ():
                if name not in found.tensors:
                    raise ArgumentError(f"'{path}' has no tensor {name!r}, which the index says it has")
        except ArgumentError as error:
            problem = ("argument", str(error))
        mine = loading.names_in(found.tensors) if names is None else names
        pieces, offsets, wrong = ([], [], problem) if problem else loading.pieces(found, mine)
        files.read(file, pieces, offsets, wrong)


def _index_of(meeting: Meeting, path: str) -> Optional[dict[str, str]]:
    """Collective: the file of each tensor of a folder; None: it is one file."""
    index: list[Optional[dict[str, str]]] = [None]

    def look() -> None:
        if os.path.isdir(path):
            index[0] = read_index(path)

    meeting.first(look)
    return meeting.broadcast(index[0])


def read_entries(path: str, comm: Any, hints: Optional[Mapping[str, Any]]) -> dict[str, Entry]:
    """Collective: all tensors of a file or a folder. Every rank has the same."""
    pending.settle(comm)
    by_file = _index_of(Meeting(comm, comm_address(comm), path_bytes(path)), path)
    found: dict[str, Entry] = {}
    for one in [path] if by_file is None else [os.path.join(path, name) for name in sorted(set(by_file.values()))]:
        with files.open_bytes(one, comm, hints) as file:
            found.update(read_header(file, one).tensors)
    for name in by_file or ():
        if name not in found:
            raise FormatError(f"'{os.path.join(path, INDEX)}': tensor {name!r} is in none of its files")
    return found


def load_tensors(path: Path, wanted: Wanted = None, *, comm: Comm = None,
                 hints: Optional[Mapping[str, Any]] = None) -> dict[str, Any]:
    """Reads tensors from safetensors files of any origin into any sharding. Collective over ``comm``.

    All tensors of a file are read in one operation; each byte is read once from the disk, however many ranks request
    it.

    Args:
        path: A file; or a folder with a ``model.safetensors.index.json``.
        wanted: What this rank requests, which may differ between ranks: names; or a dictionary from names to the part
            of the tensor: ``...`` (all of it), an array to fill with all of it, a section as `File.read` takes it (an
            index, a Section, a Distribution), a `Shard` with both, or a list of Shards, for which it gets a list of
            arrays. None: all tensors. ``()``: nothing.
        comm: An mpi4py communicator. None: this process alone.
        hints: As in `penstock.open`.

    Returns:
        The arrays by name. New ones have NumPy's dtype, or that of ml_dtypes if installed, else the bits: uint16 for
        BF16, uint8 for the types of 8 and fewer bits.

    Raises:
        ArgumentError: For an unknown name, or an array of another shape or dtype.
        SectionError: For a section that does not fit the tensor.
        FormatError: If the file is not a safetensors file, damaged or truncated.
        StorageError: If the operating system refuses.

    The same class is raised on every rank and names the tensor. The content of arrays to fill is then undefined.
    """
    address = comm_address(comm)
    pending.settle(comm)
    name, names, problem = b"", None, None
    try:
        name, names = path_bytes(path), wanted_names(wanted)
    except Exception as error:  # all ranks must raise it
        problem = as_problem(error)
    meeting = Meeting(comm, address, name)
    meeting.agree({"the call": "load_tensors", "path": name}, problem)
    loading = _Loading(wanted, names)
    text = os.fsdecode(name)
    by_file = _index_of(meeting, text)
    if by_file is None:
        _load_file(text, comm, hints, loading, None)
        return loading.result()
    meeting.check(lambda: loading.missing(by_file, os.path.join(text, INDEX)))
    mine = loading.names_in(by_file)
    for one in sorted(set(by_file.values())):
        here = [tensor for tensor in mine if by_file[tensor] == one]
        if meeting.any(bool(here)):
            _load_file(os.path.join(text, one), comm, hints, loading, here)
    return loading.result()
