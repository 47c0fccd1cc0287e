"""Whole arrays: made, written and closed in one call, or opened, read and closed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray

from ._core import ArgumentError
from ._distribution import Distribution
from ._formats.wanted import CLASSIC, container_of
from ._open import NOTHING_MORE, Given, given_for, open, opened
from ._types import Comm, Index, Path
from ._values import path_bytes


def _comm_of(comm: Any, d: Any, call: str) -> Any:
    if comm is not None or not isinstance(d, Distribution):
        return comm
    if d.comm is None and d.ranks > 1:
        raise ArgumentError(f"{call}: the distribution is the share of one of {d.ranks} ranks, and was made without a "
                            "communicator; pass comm=")
    return d.comm


def _check_shape(array: np.ndarray, d: Distribution) -> None:
    if array.shape not in (tuple(d.section.shape), d.local_shape):
        raise ArgumentError(f"local has shape {array.shape}; the share of rank {d.rank} has shape "
                            f"{tuple(d.section.shape)}, with halo {d.local_shape}")


def save(path: Path, local: Any, d: Optional[Distribution] = None, *, order: Optional[str] = None,
         comm: Comm = None, hints: Optional[Mapping[str, Any]] = None, container: str = "auto",
         dataset: Optional[str] = None, dims: Any = None, replace: bool = False) -> None:
    """Writes one array into a new file, and closes it. Collective.

    Args:
        path: As in `open`; an old file of that name is replaced.
        local: This rank's elements, with the shape of ``d.section``, or with halo cells, which are not written.
        d: This rank's part of the array. None: ``local`` is all of the array, and one process writes it.
        order: As in `open`. Default: "C".
        comm: Default: the communicator that ``d`` was made for.
        hints: As in `open`.
        container: As in `open`.
        dataset: As in `open`, for HDF5 and netCDF-4. Default: "data".
        dims: As in `open`. Default in a netCDF-4 file: "dim_0", "dim_1"..., as xarray names them.
        replace: As in `open`: True keeps an old file until the new one is complete.

    Raises:
        ArgumentError, StorageError, DisagreementError: As `open` and `File.write`. After an ArgumentError, and with
            ``replace`` after any of these, an old file is unchanged.
    """
    def give() -> Given:
        array = np.asarray(local)
        if d is not None:
            _check_shape(array, d)
        shape = array.shape if d is None else d.shape
        kind = container_of(path_bytes(path), container, dataset)
        how = {**NOTHING_MORE, "dataset": "data" if kind is not None and dataset is None else dataset, "dims": dims,
               "replace": replace}
        if kind in ("netcdf", *CLASSIC) and dims is None:
            how["dims"] = tuple(f"dim_{d}" for d in range(len(shape)))
        return given_for(path, "w", shape, array.dtype, order, 0, hints, container, how)

    with opened(path, _comm_of(comm, d, "save"), give) as f:
        f.write(local, ... if d is None else d)


def load(path: Path, d: Optional[Index] = None, *, comm: Comm = None,
         hints: Optional[Mapping[str, Any]] = None, dataset: Optional[str] = None) -> NDArray[Any]:
    """Reads an array from a file that has its shape and dtype (.npy, HDF5, netCDF-4), and closes it. Collective.

    Args:
        path: As in `open`.
        d: A Distribution: this rank's share, with its halo cells, which are read too. Or what `File.read` takes as a
            section. None: all of the array, on every rank.
        comm: Default: the communicator that ``d`` was made for.
        hints: As in `open`.
        dataset: As in `open`.

    Returns:
        A new array; with a Distribution of its `local_shape`.

    Raises:
        FormatError, SectionError, StorageError, DisagreementError: As `open` and `File.read`.
    """
    wanted: Index = ... if d is None else d.ghosted if isinstance(d, Distribution) else d
    with open(path, comm=_comm_of(comm, d, "load"), hints=hints, dataset=dataset) as f:
        return f.read(wanted)
