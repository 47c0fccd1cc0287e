"""Elements that a process reads and writes alone, where they lie in the file as they are."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import _core
from .._array import Array
from .._chunks import NONE
from .._formats.chunks import places_in
from .._request import Requests
from .._values import comm_address, descr_of
from .entries import Lacking
from .selection import Selected


class OwnArray(Array):
    """A contiguous dataset, or a chunk, by a handle of this process alone."""

    def __init__(self, path: str, mode: str, shape: tuple[int, ...], dtype: np.dtype, offset: int):
        from mpi4py import MPI

        self.shape, self.dtype, self.order = shape, dtype, "C"
        self._inner = _core._open(comm_address(MPI.COMM_SELF), os.fsencode(path), mode, list(shape), descr_of(dtype),
                                  dtype.itemsize, "C", offset, "raw", _core._Settings({"active_buffer_size": 0}), NONE,
                                  None, None)
        self._requests = Requests(shape, dtype, "C")


class OwnChunks:
    """The chunks of a dataset without filters: each is an array at its place."""

    def __init__(self, path: str, dataset: Any, dtype: np.dtype):
        self._path, self._name, self._extents, self._dtype = path, dataset.name, dataset.chunks, dtype
        self._counts = tuple(-(-n // extent) for n, extent in zip(dataset.shape, self._extents))
        there = np.frombuffer(places_in(dataset), np.int64).reshape(-1, 4)
        self._places = dict(zip(there[:, 0].tolist(), there[:, 1].tolist()))

    def write(self, elements: np.ndarray, selected: Selected) -> None:
        if isinstance(selected.entries, np.ndarray):
            raise Lacking(f"{self._name}: a rank alone does not write chunks by a mask of several dimensions; write it "
                          "on all ranks within 'with ds.collective:', or by slices")
        axes = [list(_by_chunk(entry, extent)) for entry, extent in zip(selected.entries, self._extents)]
        for parts in itertools.product(*axes):
            offset = self._place_of(tuple(part[0] for part in parts))
            chunk = OwnArray(self._path, "r+", self._extents, self._dtype, offset)
            try:
                chunk.write(elements[tuple(part[1] for part in parts)], tuple(part[2] for part in parts))
            finally:
                chunk._inner.close()

    def _place_of(self, coordinates: tuple[int, ...]) -> int:
        place = self._places.get(int(np.ravel_multi_index(coordinates, self._counts)))
        if place is None:
            raise Lacking(f"{self._name}: the chunk {coordinates} has no space in the file yet, which a rank alone "
                          "cannot give it; write it on all ranks within 'with ds.collective:'")
        return place


def _by_chunk(entry: Any, extent: int) -> Iterator[tuple[int, slice, Any]]:
    """Of what is selected along a dimension: each chunk, which of the elements are for it, and where they are in it."""
    indices = np.arange(entry.start, entry.stop, entry.step) if isinstance(entry, slice) else np.array(entry, int)
    numbers, begins = np.unique(indices // extent, return_index=True)
    for number, begin, end in zip(numbers.tolist(), begins.tolist(), [*begins[1:].tolist(), len(indices)]):
        within = (indices[begin:end] - number * extent).tolist()
        step = entry.step if isinstance(entry, slice) else 1
        yield number, slice(begin, end), slice(within[0], within[-1] + 1, step) if isinstance(entry, slice) else within
