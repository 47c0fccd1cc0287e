"""Files of xarray Datasets of which each rank has a block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from ._core import ArgumentError, SectionError
from ._dataset import Dataset, open_dataset
from ._distribution import Distribution
from ._tensors.meeting import Meeting
from ._types import Comm, Path
from ._values import comm_address, path_bytes

if TYPE_CHECKING:
    import xarray


@dataclass
class _Part:
    """What this rank has of a variable."""

    name: str
    dims: tuple[str, ...]
    shape: tuple[int, ...]  #: of the whole variable
    values: np.ndarray  #: of the block
    index: tuple[slice, ...]  #: where the block is
    attributes: dict[str, Any]
    fill_value: Any
    is_shared: bool  #: all ranks have all of it

    @property
    def summary(self) -> tuple[Any, ...]:
        """What is the same on all ranks."""
        return self.name, self.dims, self.shape, str(self.values.dtype)


def _slices_of(distribution: Optional[Distribution], dims: Sequence[str]) -> dict[str, tuple[slice, int]]:
    """Of each distributed dimension, which indices this rank has, and the extent."""
    if distribution is None:
        return {}
    index = distribution.section.index
    if isinstance(dims, str) or len(dims) != len(distribution.shape):
        raise ArgumentError(f"dims={dims!r} must name the {len(distribution.shape)} dimensions of the distribution")
    if not isinstance(index, tuple) or not all(isinstance(one, slice) and one.step in (None, 1) for one in index):
        raise SectionError("distribution: a rank's part must be one block, as kind='block' makes")
    return {name: (one, extent) for name, one, extent in zip(dims, index, distribution.shape)}


def _of_32_bits(name: Any, values: np.ndarray) -> np.ndarray:
    """As xarray writes integers into files whose format has none of 64 bits."""
    if values.dtype.kind not in "iu" or values.dtype.name in ("int8", "int16", "int32"):
        return values
    found = values.astype(np.int32)
    if not np.array_equal(found, values):
        raise ArgumentError(f"variable {name!r} has integers of more than 32 bits, which this kind of file lacks: use "
                            "container='cdf5' or 'netcdf'")
    return found


def _parts_of(block: xarray.Dataset, slices: Mapping[str, tuple[slice, int]],
              has_64_bits: bool) -> tuple[list[_Part], dict[str, Any]]:
    """In the form in which xarray writes them: times are numbers, with their units."""
    from xarray.conventions import encode_cf_variable, encode_dataset_coordinates

    missing = [name for name in slices if name not in block.sizes]
    if missing:
        raise ArgumentError(f"dims: the Dataset has no dimension {', '.join(map(repr, missing))}; it has "
                            f"{', '.join(map(str, block.sizes))}")
    for name, (one, _) in slices.items():
        if block.sizes[name] != one.stop - one.start:
            raise SectionError(f"dimension {name!r}: the block has {block.sizes[name]} indices, this rank's part of "
                               f"the distribution {one.stop - one.start}")
    variables, attributes = encode_dataset_coordinates(block)
    parts = []
    for name, variable in variables.items():
        kept = "_FillValue" in variable.encoding or "_FillValue" in variable.attrs
        encoded = encode_cf_variable(variable, name=name)
        told = dict(encoded.attrs)
        fill = told.pop("_FillValue", None)
        values = np.asarray(encoded.values, order="C")
        values = values if has_64_bits else _of_32_bits(name, values)
        where = [slices.get(str(dim), (slice(0, extent), extent)) for dim, extent in zip(encoded.dims, values.shape)]
        parts.append(_Part(str(name), tuple(map(str, encoded.dims)), tuple(extent for _, extent in where), values,
                           tuple(one for one, _ in where), told, fill if kept else None,
                           not any(dim in slices for dim in encoded.dims)))
    return parts, dict(attributes)


def _create(file: Dataset, part: _Part, unlimited: Sequence[str], chunks: Mapping[str, int],
            compressors: Any) -> None:
    """Collective."""
    grows = part.dims[:1] if part.dims and part.dims[0] in unlimited else ()
    shape = (None, *part.shape[1:]) if grows else part.shape
    how: dict[str, Any] = {"dims": part.dims, "fill_value": part.fill_value, "attributes": part.attributes}
    if any(dim in chunks for dim in part.dims):
        how["chunks"] = tuple(chunks.get(dim, extent) for dim, extent in zip(part.dims, part.shape))
    if compressors is not None and len(part.dims) > 1:
        how["compressors"] = compressors
    file.create(part.name, shape, part.values.dtype, **how)


def _write(file: Dataset, part: _Part, unlimited: Sequence[str], is_first: bool) -> None:
    """Collective."""
    variable = file[part.name]
    mine = is_first or not part.is_shared
    if not part.dims or part.dims[0] not in unlimited:
        variable.write(part.values if mine else None, part.index or ... if mine else None)
        return
    for values in part.values:  # the block has all steps
        variable.append(values if mine else None, (part.index[1:] or ...) if mine else None)


def _save(block: Any, path: Path, container: str, distribution: Optional[Distribution], dims: Sequence[str],
          comm: Comm, unlimited_dims: Sequence[str], chunks: Optional[Mapping[str, int]], compressors: Any,
          replace: bool, hints: Optional[Mapping[str, Any]]) -> None:
    meeting = Meeting(comm, comm_address(comm), path_bytes(path))
    unlimited = [unlimited_dims] if isinstance(unlimited_dims, str) else list(unlimited_dims)

    def work() -> tuple[list[_Part], dict[str, Any]]:
        slices = _slices_of(distribution, dims)
        if any(dim in slices for dim in unlimited):
            raise ArgumentError(f"unlimited_dims={unlimited_dims!r}: a distributed dimension has a fixed extent")
        return _parts_of(block, slices, container not in ("cdf1", "cdf2"))

    parts, attributes = meeting.check(work)
    meeting.agree({"variables": [part.summary for part in parts]})
    with open_dataset(path, "w", comm, attributes=attributes, hints=hints, container=container,
                      replace=replace) as file:
        for part in parts:
            _create(file, part, unlimited, dict(chunks or {}), compressors)
        for part in parts:
            _write(file, part, unlimited, meeting.rank == 0)


def to_netcdf(block: xarray.Dataset, path: Path, distribution: Optional[Distribution] = None, *,
              dims: Sequence[str] = (), comm: Comm = None, unlimited_dims: Sequence[str] = (),
              chunks: Optional[Mapping[str, int]] = None, compressors: Any = None, replace: bool = False,
              hints: Optional[Mapping[str, Any]] = None, container: str = "netcdf") -> None:
    """Writes a netCDF file of an ``xarray.Dataset`` of which each rank has a block. Collective over ``comm``.

    >>> d = ps.distribute((ny, nx), comm, kind=("block", "block"))
    >>> ps.to_netcdf(block, "run.nc", d, dims=("y", "x"), comm=comm, compressors="shuffle,gzip")

    Args:
        block: This rank's: along the distributed dimensions it has the indices of its part, along others all. Variables
            without a distributed dimension are alike on all ranks, and rank 0 writes them. Coordinates are variables.
        path: The file, which is made anew.
        distribution: Which part of the distributed dimensions each rank has: blocks. None: this rank has everything.
        dims: Names of the dimensions of the distribution, in its order.
        comm: An mpi4py communicator. None: this process alone.
        unlimited_dims: Dimensions that can grow later: the first of their variables, and not distributed.
        chunks: Extents of chunks by dimension, in elements. Default: no chunks, or as in `penstock.open` where
            variables are compressed or grow.
        compressors: As in `penstock.open`, for variables of 2 dimensions and more.
        replace: As in `penstock.open`.
        hints: As in `penstock.open`.
        container: "netcdf" (netCDF-4), or "cdf1", "cdf2", "cdf5" (classic).

    Raises:
        ArgumentError: For dimensions that are not there, and types that the format lacks, as text.
        SectionError: If a block has other extents than its rank's part.
        DisagreementError: If ranks have different variables.
        StorageError: If the operating system refuses.

    Times and missing values are encoded as xarray encodes them. The same class is raised on every rank.
    """
    _save(block, path, container, distribution, dims, comm, unlimited_dims, chunks, compressors, replace, hints)


def to_zarr(block: xarray.Dataset, path: Path, distribution: Optional[Distribution] = None, *,
            dims: Sequence[str] = (), comm: Comm = None, chunks: Optional[Mapping[str, int]] = None,
            compressors: Any = None, replace: bool = False, hints: Optional[Mapping[str, Any]] = None) -> None:
    """Writes a Zarr group of an ``xarray.Dataset`` of which each rank has a block. Collective over ``comm``.

    Args:
        block: As in `to_netcdf`.
        path: The folder, which is made anew.
        distribution: As in `to_netcdf`.
        dims: As in `to_netcdf`.
        comm: As in `to_netcdf`.
        chunks: Extents of chunks by dimension, in elements. Default: as in `penstock.open`.
        compressors: As in `penstock.open`, for variables of 2 dimensions and more.
        replace: As in `penstock.open`.
        hints: As in `penstock.open`.

    Raises:
        ArgumentError, SectionError, DisagreementError, StorageError: As `to_netcdf`.
    """
    _save(block, path, "zarr", distribution, dims, comm, (), chunks, compressors, replace, hints)
