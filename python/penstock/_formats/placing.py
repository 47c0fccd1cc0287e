"""Places for chunks of an HDF5 file, and the metadata that tells of them: on rank 0, by plain h5py.

HDF5 has the file open through an object of ours. What it writes is kept in memory: chunks are registered with bytes
that is not needed, only its place, and metadata get into the file when all ranks have written their chunks. So a file
never refers to a chunk that was not written, whenever a program is killed.
"""

from __future__ import annotations

import atexit
import errno
import fcntl
import io
import os
import secrets
from bisect import bisect_left, insort
from typing import TYPE_CHECKING, Any, ClassVar, Optional
from weakref import WeakSet, WeakValueDictionary

import numpy as np

from .._core import StorageError
from .plug import Plug

if TYPE_CHECKING:
    import h5py

MARK = 64  # bytes that tell what is written for a chunk from metadata


class Overlay(io.RawIOBase):
    """A file to HDF5, whose writes stay in memory until they are `published`."""

    def __init__(self, path: str):
        super().__init__()
        self._descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        self._pending: dict[int, bytes] = {}  # by offset; none overlaps another
        self._offsets: list[int] = []  # sorted
        self._at = 0
        self.told_end = self._end = os.fstat(self._descriptor).st_size
        self._mark = secrets.token_bytes(MARK)
        self.dropped: Optional[int] = None  #: bytes of the chunk that is registered; then where it is
        self.place = -1

    def chunk(self, size: int) -> memoryview:
        """Bytes that are not written when HDF5 writes them as a chunk."""
        if size > len(self._mark):
            self._mark = self._mark[:MARK] + bytes(2 * size)
        return memoryview(self._mark)[:size]

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + (0, self._at, self._end)[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def truncate(self, size: Optional[int] = None) -> int:
        self._end = self._at if size is None else size
        return self._end

    def readinto(self, memory: Any) -> int:
        view = memoryview(memory).cast("B")
        begin, size = self._at, min(len(view), max(self._end - self._at, 0))
        data = os.pread(self._descriptor, size, begin)
        view[:size] = data.ljust(size, b"\0")
        for offset in self._between(begin, begin + size):
            block = self._pending[offset]
            low, high = max(offset, begin), min(offset + len(block), begin + size)
            view[low - begin : high - begin] = block[low - offset : high - offset]
        self._at += size
        return size

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        size, at = len(view), self._at
        self._at += size
        self._end = max(self._end, self._at)
        if size == self.dropped and view[:MARK] == self._mark[: min(size, MARK)]:
            self.place, self.dropped = at, None
            self._cut(at, at + size)
            return size
        if self._pending.get(at) is None or len(self._pending[at]) != size:
            self._cut(at, at + size)
            insort(self._offsets, at)
        self._pending[at] = view.tobytes()
        return size

    def _between(self, begin: int, end: int) -> list[int]:
        """Of the blocks that have bytes there."""
        first, last = bisect_left(self._offsets, begin), bisect_left(self._offsets, end)
        if first and self._offsets[first - 1] + len(self._pending[self._offsets[first - 1]]) > begin:
            first -= 1
        return self._offsets[first:last]

    def _cut(self, begin: int, end: int) -> None:
        """What was to be written there, and has been freed since."""
        for offset in self._between(begin, end):
            block = self._pending.pop(offset)
            self._offsets.remove(offset)
            for low, high in ((offset, begin), (end, offset + len(block))):
                if low < high:
                    self._pending[low] = block[low - offset : high - offset]
                    insort(self._offsets, low)

    def publish(self) -> None:
        """Brings the file up to date. First writes what it does not refer to yet; then, in an order in which each step
        leaves a readable file, what refers to that. The steps have this order also after a power cut."""
        if self._end > os.fstat(self._descriptor).st_size:
            os.ftruncate(self._descriptor, self._end)
        before = None
        for offset in sorted(self._pending, key=self._turn):
            block, turn = self._pending[offset], self._turn(offset)[0]
            if before not in (None, turn):
                os.fdatasync(self._descriptor)
            before = turn
            while block:
                written = os.pwrite(self._descriptor, block, offset)
                block, offset = block[written:], offset + written
        self._pending.clear()
        self._offsets.clear()
        self.told_end = self._end

    def _turn(self, offset: int) -> tuple[int, int]:
        """New blocks; the superblock, which says how long the file is; nodes of a B-tree before those below them, which
        may have given half of their entries to a new one; the others."""
        block = self._pending[offset]
        if offset >= self.told_end:
            return 0, offset
        if block.startswith(b"\x89HDF\r\n\x1a\n"):
            return 1, 0
        if block.startswith(b"TREE"):
            return 2, -block[5]
        return 4 if block.startswith(b"OHDR") else 3, offset

    def close(self) -> None:
        if not self.closed:
            os.close(self._descriptor)
        super().close()


class WrittenFile:
    """A file with datasets in chunks, on rank 0, while it is open for writing: what HDF5 has open of it, for the
    Placers of all its datasets."""

    #: Those that are locked, by device and inode: locks do not keep a second one of this program out.
    here: ClassVar[WeakValueDictionary[tuple[int, int], WrittenFile]] = WeakValueDictionary()
    #: Those that HDF5 has open. At the end of the process it would close them through an Overlay that is gone.
    opened: ClassVar[WeakSet[WrittenFile]] = WeakSet()
    is_at_end: ClassVar[bool] = False

    def __init__(self, path: str):
        self._path = path
        self._placers: list[Placer] = []
        self._lock: Optional[int] = None
        self._overlay: Optional[Overlay] = None
        self._file: Any = None
        self._datasets: dict[str, h5py.Dataset] = {}
        self._plug: Optional[Plug] = None
        self._stays_open = False

    def add(self, placer: Placer) -> None:
        """In the place of the one that a dataset had before it was opened anew."""
        self._placers = [other for other in self._placers if other.name != placer.name] + [placer]

    def dataset(self, name: str) -> h5py.Dataset:
        import h5py

        if self.is_at_end:
            raise StorageError(f"'{self._path}': chunks cannot get a place when Python ends; close the file before")
        if self._file is None:
            self._overlay = Overlay(self._path)
            self._file = h5py.File(self._overlay, "r+")
            self.opened.add(self)
            self._stays_open = self._file.id.get_create_plist().get_version()[0] < 3
        if name not in self._datasets:
            self._datasets[name] = self._file[name]
        return self._datasets[name]

    def register(self, dataset: Any, corner: tuple[int, ...], size: int) -> int:
        overlay = self._overlay
        assert overlay is not None
        overlay.dropped = size
        dataset.write_direct_chunk(corner, overlay.chunk(size), 0)
        if overlay.dropped is not None:
            raise RuntimeError(f"HDF5 has not written a chunk of {size} bytes at once")
        return overlay.place

    def move_away(self, dataset: Any, corner: tuple[int, ...], offset: int, size: int) -> None:
        """HDF5 frees the place of a chunk before it looks for another one, and may take the same again, with what is
        free around it: so the chunk becomes too large for that, and something else gets the place. Then the chunk may
        be as large as it is, where nobody has told of it."""
        if self._plug is None:
            self._plug = Plug(self._file, self.register)
        if not self._plug.is_last:
            self._plug.be_last(max(placer.told_end for placer in self._placers))
        larger = size + 1
        while (place := self.register(dataset, corner, larger)) < offset + size and offset < place + larger:
            larger *= 2
        self._plug.fill(offset, offset + size)

    def publish(self) -> None:
        """All that was placed is in the file. Raises StorageError where some of it is not known to be there."""
        lost = [placer.name for placer in self._placers if placer.is_awaited]
        if lost:
            raise StorageError(f"'{self._path}': chunks of {', '.join(lost)} could not be written; the file is as it "
                               "was at the last sync")
        if self._file is None:
            return
        assert self._overlay is not None
        if self._stays_open:
            self._file.flush()
        else:  # the superblock says that somebody writes, until it is closed
            self._close_file()
        self._overlay.publish()
        for placer in self._placers:
            placer.was_published()
        if self._plug is not None:
            self._plug.is_last = False
        if not self._stays_open:
            self._forget_file()

    def _close_file(self) -> None:
        if self._plug is not None:
            self._plug.close()
        self._plug = None
        self._datasets.clear()
        self._file.close()

    def _forget_file(self) -> None:
        assert self._overlay is not None
        self._overlay.close()
        self._overlay = self._file = None
        self.opened.discard(self)

    @classmethod
    def end(cls) -> None:
        """The files are as last published."""
        cls.is_at_end = True
        for file in list(cls.opened):
            file.leave()

    def lock(self) -> None:
        """Others may read meanwhile. Raises BlockingIOError where one writes."""
        file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            self._keep_others_out(file)
        except BlockingIOError:
            os.close(file)
            raise
        self._lock = file

    def _keep_others_out(self, file: int) -> None:
        status = os.fstat(file)
        key = status.st_dev, status.st_ino
        other = self.here.get(key)
        if other is not None and other is not self and other.is_locked:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            raise
        except OSError:
            pass  # a file system without locks: HDF5 goes on without, too
        self.here[key] = self

    @property
    def is_locked(self) -> bool:
        return self._lock is not None

    def leave(self) -> None:
        """The file is as last published, and others may write it."""
        if self._file is not None:
            self._close_file()
            self._forget_file()
        for placer in self._placers:
            placer.forget()
        if self._lock is not None:
            os.close(self._lock)
        self._lock = None


atexit.register(WrittenFile.end)


class Placer:
    """Of one dataset, on rank 0, while it is open for writing."""

    def __init__(self, path: str, dataset: str, places: bytes, file: Optional[WrittenFile] = None):
        """`places`: of the existing chunks. `file`: of several datasets, which publishes them together."""
        self.name = dataset
        there = np.frombuffer(places, np.int64).reshape(-1, 4)
        #: Where the chunks are that the file tells of: offset and size, by number.
        self._told = dict(zip(there[:, 0].tolist(), zip(there[:, 1].tolist(), there[:, 2].tolist())))
        self._new: dict[int, tuple[int, int]] = {}  # of those that have got a place since it was published
        self.is_awaited = False  #: chunks have got places, and are not known to be there
        self._shape: Optional[list[int]] = None  # to which its scales have been made long enough
        self._file, self._alone = file or WrittenFile(path), file is None
        self._file.add(self)

    def place(self, shape: list[int], packed: bytes) -> bytes:
        """The chunks of the library's ChunkPlace, with their offsets."""
        self.is_awaited = True
        dataset = self._resized(shape)
        places = np.frombuffer(packed, np.int64).reshape(-1, 4).copy()
        extents = np.array(dataset.chunks)
        counts = -(-np.array(shape) // extents)
        corners = np.stack(np.unravel_index(places[:, 0], counts), -1) * extents
        filtered = dataset.id.get_create_plist().get_nfilters() > 0
        for row, number, corner, size in zip(places, places[:, 0].tolist(), corners.tolist(), places[:, 2].tolist()):
            row[1] = self._place_one(dataset.id, number, tuple(corner), size, filtered)
        return places.tobytes()

    def _place_one(self, dataset: Any, number: int, corner: tuple[int, ...], size: int, filtered: bool) -> int:
        """Where HDF5 puts a chunk. A published one stays in place until the new one is published."""
        if filtered and number in self._told and number not in self._new:
            self._file.move_away(dataset, corner, *self._told[number])
        place = self._file.register(dataset, corner, size)
        self._new[number] = place, size
        return place

    def publish(self, shape: list[int]) -> None:
        """All placed chunks of this dataset are in the file. If the file has other datasets, they are published
        later."""
        self._resized(shape)
        self.is_awaited = False
        if self._alone:
            self._file.publish()

    @property
    def told_end(self) -> int:
        """Byte past the last published chunk."""
        return max(map(sum, self._told.values()), default=0)

    def was_published(self) -> None:
        self._told.update(self._new)
        self._new.clear()

    def forget(self) -> None:
        """What has got a place, and was not published."""
        self._new.clear()
        self.is_awaited, self._shape = False, None

    def _resized(self, shape: list[int]) -> h5py.Dataset:
        """Longer, as a rule: as the scale of another one it may have become so before."""
        dataset = self._file.dataset(self.name)
        longer = tuple(map(max, shape, dataset.shape))
        if longer != dataset.shape:
            dataset.resize(longer)
        if shape != self._shape:
            self._resize_scales(dataset, shape)
            self._shape = shape
        return dataset

    @staticmethod
    def _resize_scales(dataset: h5py.Dataset, shape: list[int]) -> None:
        """Dimensions of netCDF are as long as their scales."""
        for dimension, extent in zip(dataset.dims, shape):
            for scale in dimension.values():
                if scale.maxshape == (None,) and scale.shape[0] < extent:
                    scale.resize((extent,))

    def lock(self) -> None:
        """Of the whole file."""
        self._file.lock()

    def leave(self) -> None:
        """The whole file, as last published."""
        self._file.leave()
