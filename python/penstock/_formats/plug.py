"""Free space of an HDF5 file that must not be written yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import h5py

PLUG = 1 << 30  # bytes of a chunk that is never stored as it is


class Plug:
    """Takes up space of a file that is free to HDF5 and must not be written yet: chunks of a dataset without a name,
    which is gone when it is closed. Its space is lost then, as HDF5 loses what is free in a file that it closes."""

    TRIES = 100_000

    def __init__(self, file: h5py.File, register: Any):
        from h5py import h5d, h5p, h5s, h5t

        properties = h5p.create(h5p.DATASET_CREATE)
        properties.set_chunk((PLUG,))
        properties.set_shuffle()
        self._dataset = h5d.create(file.id, None, h5t.NATIVE_UINT8, h5s.create_simple((PLUG << 20,), (h5s.UNLIMITED,)),
                                   properties)
        self._register, self._chunks = register, 0
        self.is_last = False  #: something of it is behind all that the file tells of

    def be_last(self, end: int) -> None:
        """What is freed at the end of a file makes it shorter, and cannot be taken up. `end`: of the last chunk."""
        size = 1
        while self._take(size) < end:
            size *= 2
        self.is_last = True

    def _take(self, size: int) -> int:
        place = self._register(self._dataset, (self._chunks * PLUG,), size)
        self._chunks += 1
        return place

    def fill(self, begin: int, end: int) -> None:
        """HDF5 takes what fits best. As a rule that is all of it, and the first try is enough; else each one takes up
        something that would have fitted, too."""
        left = [(begin, end)]
        for _ in range(self.TRIES):
            size = max(high - low for low, high in left)
            place = self._take(size)
            left = [part for low, high in left
                    for part in ((low, min(high, place)), (max(low, place + size), high)) if part[0] < part[1]]
            if not left:
                return

    def close(self) -> None:
        self._dataset._close()
