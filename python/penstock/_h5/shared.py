"""The open file, which its groups and datasets share."""

from __future__ import annotations

import fcntl
import os
import posixpath
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Optional

from .._core import ArgumentError, StateError
from .._dataset import open_dataset
from .._first_rank import ask_first_rank_of
from .._types import Comm, Path
from .._variable import Variable
from .entries import Entry, Lacking, entries_in
from .own import OwnArray, OwnChunks

if TYPE_CHECKING:
    import h5py

BEYOND = 1 << 62  # byte of a file where nobody locks anything else


class Shared:
    """Of one `File`. What is not said to be collective, a rank does alone."""

    def __init__(self, path: Path, mode: str, comm: Comm):
        """Collective."""
        self.rank, self.size = (0, 1) if comm is None else (comm.Get_rank(), comm.Get_size())
        self.owner: Any = None  #: the `File`
        # What a rank writes alone and what all write together go through one page cache, without a buffer before it.
        hints = {"active_buffer_size": 0} if self.size > 1 else None
        self.file = open_dataset(path, mode, comm, container="hdf5", hints=hints)
        self.path, self.can_write = self.file.path, self.file.mode != "r"
        self._store: Any = self.file._store  # of an HDF5 file, not of a Zarr group
        self.is_atomic = False
        self.entries: dict[str, Entry] = {}  #: by absolute names
        self._children: dict[str, list[str]] = {}  # of each group
        self._own: dict[str, OwnArray] = {}
        self._own_chunks: dict[str, OwnChunks] = {}
        self._by_hdf5: Any = None
        self._lock: Optional[int] = None
        try:
            found: dict[str, Entry] = ask_first_rank_of(
                self._store.anchor, {"the call": "penstock.h5.File"}, self._store._in_words(self._look))
            self.entries["/"] = found.pop("/")
            for name, entry in found.items():
                if entry.found is not None and entry.found.refused and not self.can_write:
                    entry.found = None  # was never written: HDF5's own library reads its fill values
                self.add(name, entry)
        except Exception as error:
            self.abandon(type(error), error)
            raise

    def _look(self) -> dict[str, Entry]:
        """On rank 0."""
        import h5py

        with h5py.File(self.path, "r") as file:
            return entries_in(file)

    def _tell_of(self, path: str, entry: Entry) -> None:
        """Its elements are opened by the first collective call that reads or writes them."""
        if entry.found is not None:
            self.file._add({path[1:]: entry.found}, is_new=False)

    # ---- names

    def entry(self, path: str) -> Entry:
        self.require_open()
        return self.entries[path]

    def require_open(self) -> None:
        if not self:
            raise StateError(f"'{self.path}' is closed")

    def __bool__(self) -> bool:
        return not self.file.closed

    def resolved(self, group: str, name: Any, depth: int = 0) -> str:
        """The absolute name of what `name` is in a group, links followed. Raises KeyError where nothing is."""
        self.require_open()
        name = name.decode() if isinstance(name, bytes) else name
        if not isinstance(name, str):
            raise TypeError(f"Accessing a group is done with bytes or str, not {type(name)}")
        path = "/"
        for part in posixpath.join(group, name).split("/"):
            if part in ("", "."):
                continue
            path = posixpath.join(path, part)
            entry = self.entries.get(path)
            if entry is None or depth > 40:
                raise KeyError(f"'{self.path}': object {path!r} doesn't exist")
            if entry.kind == "link":
                if not entry.target:
                    raise Lacking(f"'{self.path}': {path} is an external link, which penstock.h5 does not follow; open "
                                  "the file to which it leads")
                path = self.resolved(posixpath.dirname(path), entry.target, depth + 1)
        return path

    def children(self, group: str) -> list[str]:
        """In the order of their names."""
        return sorted(self._children.get(group, ()))

    def add(self, path: str, entry: Entry) -> None:
        """What is there or has been made, and the groups before it."""
        parent = posixpath.dirname(path)
        if parent not in self.entries:
            self.add(parent, Entry("group"))
        self.entries[path] = entry
        self._children.setdefault(parent, []).append(posixpath.basename(path))
        self._tell_of(path, entry)

    # ---- changes

    def change(self, call: str, common: dict[str, str], work: Callable[[Any], Any],
               problem: Optional[Exception] = None, **how: Any) -> Any:
        """Collective: what `work` returned on rank 0, which has h5py change the file."""
        def worded(file: h5py.File) -> Any:
            try:
                return work(file)
            except (TypeError, ValueError, KeyError) as error:  # of the arguments, and not of the file
                raise ArgumentError(f"'{self.path}', {call}: {error}") from None

        self.require_open()
        return self._store.change({"the call": call, **common}, worded, f"{call} in", problem, **how)

    def remove(self, path: str) -> None:
        """Collective: a name, and all that is below it."""
        gone = [name for name in self.entries if name == path or name.startswith(path + "/")]
        kept = [name for name, entry in self.entries.items() if entry.target in gone and name not in gone]
        if kept:
            raise Lacking(f"'{self.path}': {path} cannot be removed, since {kept[0]} is another name of it; use h5py "
                          "on one rank, when the file is closed")
        for name in gone:
            self._own_chunks.pop(name, None)
            if name in self._own:
                self._own.pop(name)._inner.close()
            if name[1:] in self.file:
                self.file._close_variable(name[1:])
                self.file._variables.pop(name[1:])
        try:
            self.change("remove", {"object": path}, lambda file: file.__delitem__(path))
        except Exception:
            for name in gone:
                self._tell_of(name, self.entries[name])
            raise
        for name in gone:
            self.entries.pop(name)
            self._children.pop(name, None)
        self._children[posixpath.dirname(path)].remove(posixpath.basename(path))

    def reopened(self, path: str, change: Callable[[], Entry]) -> None:
        """Collective: the dataset is closed while it is changed, and opened by the next call that needs it."""
        self.require_open()
        self._own_chunks.pop(path, None)
        if path[1:] in self.file:
            self.file._close_variable(path[1:])
        try:
            self.entries[path] = change()
        finally:
            self._tell_of(path, self.entries[path])

    # ---- elements

    def variable(self, path: str) -> Variable:
        return self.file[path[1:]]

    def has_place(self, path: str) -> bool:
        """Whether a process can write its elements alone."""
        found = self.entries[path].found
        return found is not None and found.chunks is None and not found.refused

    def own(self, path: str) -> OwnArray:
        self.require_open()
        if path not in self._own:
            found = self.entries[path].found
            assert found is not None
            mode = "r+" if self.can_write else "r"
            self._own[path] = OwnArray(self.path, mode, found.shape, found.dtype, found.offset)
        return self._own[path]

    def has_plain_chunks(self, path: str) -> bool:
        """Whether its chunks have no filters."""
        found = self.entries[path].found
        return found is not None and found.chunks is not None and not found.chunks.filters

    def own_chunks(self, path: str) -> OwnChunks:
        if path not in self._own_chunks:
            found = self.entries[path].found
            assert found is not None
            with self.by_hdf5() as file:
                self._own_chunks[path] = OwnChunks(self.path, file[path], found.dtype)
        return self._own_chunks[path]

    @contextmanager
    def by_hdf5(self) -> Iterator[h5py.File]:
        """The file as HDF5's own library reads it, on this process alone."""
        import h5py

        self.require_open()
        if self.can_write:  # closed again, so that rank 0 can have it changed
            with h5py.File(self.path, "r") as file:
                yield file
            return
        if self._by_hdf5 is None:
            self._by_hdf5 = h5py.File(self.path, "r")
        yield self._by_hdf5

    def is_pending(self, path: str) -> bool:
        """Whether chunks of it may not be in the file yet."""
        found = self.entries[path].found
        if not self.can_write or found is None or found.chunks is None:
            return False
        return bool(self.variable(path)._inner.is_changed)

    def in_turn(self, path: str, writes: bool) -> Any:
        """In atomic mode keeps others out while this process is at a dataset."""
        found = self.entries[path].found
        if not self.is_atomic or found is None:
            return nullcontext()
        return self._locked(BEYOND + found.offset, writes)

    @contextmanager
    def _locked(self, byte: int, writes: bool) -> Iterator[None]:
        if self._lock is None:
            self._lock = os.open(self.path, (os.O_RDWR if self.can_write else os.O_RDONLY) | os.O_CLOEXEC)
        kind = fcntl.F_WRLCK if writes else fcntl.F_RDLCK
        fcntl.fcntl(self._lock, fcntl.F_OFD_SETLKW, struct.pack("hhqqi", kind, os.SEEK_SET, byte, 1, 0))
        try:
            yield
        finally:
            fcntl.fcntl(self._lock, fcntl.F_OFD_SETLK, struct.pack("hhqqi", fcntl.F_UNLCK, os.SEEK_SET, byte, 1, 0))

    # ---- the end

    def flush(self) -> None:
        """Collective."""
        self.require_open()
        if not self.can_write:
            return
        try:
            for array in self._own.values():
                array._inner.sync()
        finally:
            self.file.sync()

    def close(self) -> None:
        """Collective."""
        if not self:
            return
        try:
            self._leave()
        finally:
            self.file.close()

    def _leave(self) -> None:
        own, self._own = self._own, {}
        if self._by_hdf5 is not None:
            self._by_hdf5.close()
        if self._lock is not None:
            os.close(self._lock)
        self._by_hdf5 = self._lock = None
        for array in own.values():
            array._inner.close()

    def abandon(self, kind: Any, error: Any) -> None:
        """On this rank alone, after an exception."""
        try:
            self._leave()
        finally:
            self.file.__exit__(kind, error, None)
