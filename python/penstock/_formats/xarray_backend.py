"""`xarray.open_dataset(path, engine="penstock")`: raw and .npy files, read when their elements are asked for.

With a communicator every such read is collective: all ranks load the same variables in the same order. What they select
may differ; a rank that needs nothing selects nothing (``isel(x=slice(0))``).
"""

from __future__ import annotations

import json
import os
import threading
from typing import Any, Optional

import numpy as np
from xarray import Dataset, Variable
from xarray.backends import BackendArray, BackendEntrypoint
from xarray.core import indexing

from .._core import ArgumentError, FormatError
from .._file import File
from .._first_rank import ask_first_rank
from .._open import open as open_array
from .._regular import open_regular
from .._sections import section
from .._values import comm_address, path_bytes

SIDECAR = ".attrs.json"  # beside the file: its attributes, a JSON object
LONGEST = 16 << 20  # of that, in bytes
DIMS = "dims"  # the attribute that has the names of the dimensions


def _forward(key: Any, extent: int) -> tuple[Any, Any]:
    """A range or list of indices that ascends, without one twice; and what makes `key` of it, in memory."""
    if isinstance(key, slice):
        indices = range(*key.indices(extent))
        if not indices:
            return (0, 0), slice(None)
        if indices.step > 0:
            return (indices.start, indices[-1] + 1, indices.step), slice(None)
        return (indices[-1], indices[0] + 1, -indices.step), slice(None, None, -1)
    if np.ndim(key) == 0:
        return (int(key) % extent, int(key) % extent + 1), 0
    wanted = np.where(np.asarray(key) < 0, np.asarray(key) + extent, key)
    ascending, places = np.unique(wanted, return_inverse=True)
    return (ascending.tolist() if ascending.size else (0, 0)), places


class PenstockArray(BackendArray):
    """The elements of an open file, which are read when they are indexed. Collective, as `File.read` is."""

    def __init__(self, file: File):
        self.file, self.shape, self.dtype = file, file.shape, file.dtype
        self._lock = threading.Lock()  # threads of dask

    def close(self) -> None:
        """Collective, as `File.close` is."""
        self.file.close()

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._read)

    def _read(self, key: tuple[Any, ...]) -> Any:
        pairs = [_forward(one, extent) for one, extent in zip(key, self.shape)]
        with self._lock:
            result = self.file.read(section(*(indices for indices, _ in pairs)))
        for axis in reversed(range(len(pairs))):  # an index removes its axis: those before stay where they are
            result = result[(slice(None),) * axis + (pairs[axis][1],)]
        return result


def read_attributes(path: str) -> dict[str, Any]:
    """Those beside the file; none where there are none."""
    try:
        with open_regular(path + SIDECAR, "a record of attributes") as file:
            text = file.read(LONGEST + 1)
        if len(text) > LONGEST:
            raise FormatError(f"'{path}{SIDECAR}' is longer than 16 MiB, the most that is read of attributes")
        values = json.loads(text)
    except FileNotFoundError:
        return {}
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise FormatError(f"'{path}{SIDECAR}' is not valid JSON: {error}") from None
    if not isinstance(values, dict):
        raise FormatError(f"'{path}{SIDECAR}' must hold a JSON object, not {type(values).__name__}")
    return values


def dimension_names(given: Any, attributes: dict[str, Any], file: File) -> tuple[str, ...]:
    """As given, else as the attributes have them, else dim_0, dim_1..., as xarray calls them."""
    told = attributes.get(DIMS)
    names = given if given is not None else told
    if names is None:
        return tuple(f"dim_{d}" for d in range(len(file.shape)))
    listed = isinstance(names, (list, tuple)) and all(isinstance(name, str) for name in names)
    if not listed or len(names) != len(file.shape):
        where = "dims" if given is not None else f"attribute {DIMS!r} of '{file.path}'"
        raise ArgumentError(f"{where} is {names!r}; it must be {len(file.shape)} names, for shape {file.shape}")
    return tuple(names)


class PenstockBackend(BackendEntrypoint):
    """What xarray finds under the name penstock."""

    description = "Raw and .npy files by Penstock; in parallel with comm="
    open_dataset_parameters = ("filename_or_obj", "drop_variables", "name", "dims", "shape", "dtype", "order", "offset",
                               "comm", "hints")

    def open_dataset(self, filename_or_obj: Any, *, drop_variables: Any = None, name: Optional[str] = None,
                     dims: Any = None, shape: Any = None, dtype: Any = None, order: Optional[str] = None,
                     offset: int = 0, comm: Any = None, hints: Any = None) -> Dataset:
        """A dataset with one variable. Collective over ``comm``, as is its ``close``.

        Args:
            filename_or_obj: The file.
            drop_variables: As xarray has it.
            name: Of the variable. Default: the file's, without its ending.
            dims: Names of the dimensions. Default: the attribute "dims", else dim_0, dim_1...
            shape: As in `penstock.open`, as the next.
            dtype: Needed for raw files, as shape is.
            order: "C" or "F".
            offset: In bytes.
            comm: An mpi4py communicator. Then all ranks load the same variables in the same order.
            hints: Settings.
        """
        file = open_array(filename_or_obj, shape=shape, dtype=dtype, order=order, offset=offset, comm=comm,
                          hints=hints)
        try:
            path = os.fspath(filename_or_obj)
            attributes = ask_first_rank(comm_address(comm), path_bytes(path), {"path": path, "dims": dims},
                                        lambda: read_attributes(path))
            names = dimension_names(dims, attributes, file)
        except Exception:
            file.close()
            raise
        values = {key: value for key, value in attributes.items() if key != DIMS}
        label = name or os.path.splitext(os.path.basename(path))[0]
        dropped = [drop_variables] if isinstance(drop_variables, str) else list(drop_variables or [])
        array = PenstockArray(file)
        data = indexing.LazilyIndexedArray(array)
        result = Dataset({} if label in dropped else {label: Variable(names, data, values)})
        result.set_close(array.close)
        return result

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Files whose shape is known without arguments."""
        try:
            return os.fspath(filename_or_obj).endswith(".npy")
        except (TypeError, AttributeError):
            return False
