"""Datasets whose bytes cannot be read in place: rank 0 decodes them into a temporary file, which all ranks read."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import FormatError, StorageError
from .hdf5 import plain_type
from .wanted import Found

if TYPE_CHECKING:
    import h5py

SLAB = 64 << 20  # bytes in memory at a time, unless a row of chunks has more


def rows_at_a_time(dataset: h5py.Dataset) -> int:
    """Along the first dimension: whole chunks, since part of one costs as much as all of it."""
    row = max(dataset.dtype.itemsize * int(np.prod(dataset.shape[1:])), 1)
    chunk = dataset.chunks[0] if dataset.chunks else 1
    return max(SLAB // (row * chunk), 1) * chunk


def check_decodable(dataset: h5py.Dataset, path: str) -> None:
    dtype = dataset.dtype
    if not dataset.shape:
        raise FormatError(f"'{path}': dataset {dataset.name} is a single value, with no dimension: read it with h5py")
    if dtype.hasobject or dtype.subdtype is not None:
        raise FormatError(f"'{path}': dataset {dataset.name} has elements of no fixed size, or arrays of these "
                          f"({dtype}), which no array in memory has: read it with h5py")


def decode(dataset: h5py.Dataset, path: str, found: Found, folder: Any) -> Found:
    """On rank 0: its elements in a file of their own. `folder`: True (that of `path`), or its name."""
    check_decodable(dataset, path)
    where = os.path.dirname(os.path.realpath(path)) if folder is True else os.fsdecode(folder)
    try:
        handle, copy = tempfile.mkstemp(prefix=os.path.basename(path) + ".", suffix=".decoded", dir=where)
    except OSError as error:
        refused = StorageError(f"cannot make a temporary file in '{where}' to decode '{path}' into: {error.strerror}; "
                               "name a folder that all ranks see: decode='FOLDER'")
        refused.errno, refused.filename = error.errno, where
        raise refused from None
    try:
        with os.fdopen(handle, "wb") as file:
            step = rows_at_a_time(dataset)
            for begin in range(0, dataset.shape[0], step):
                np.ascontiguousarray(dataset[begin : begin + step]).tofile(file)
    except BaseException:
        os.unlink(copy)
        raise
    found.dtype, found.offset, found.copy, found.refused = plain_type(dataset.dtype), 0, copy, ""
    return found
