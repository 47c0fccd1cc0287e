"""Opening an array in a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional, Union, overload

import numpy as np

from . import _chunks, _core
from ._core import ArgumentError
from ._fields import FieldsFile, GivenFields, open_fields
from ._file import File
from ._formats.attributes import checked
from ._formats.chunks import filters_of
from ._formats.classic import Classic
from ._formats.dataset import open_dataset
from ._formats.replacing import Replacing, check_array
from ._formats.wanted import CLASSIC, Wanted, container_of
from ._hints import plain_text
from ._small_floats import is_foreign
from ._types import Comm, Path
from ._values import comm_address, descr_of, path_bytes, tellable, whole_number


@dataclass
class Given:
    """The arguments of `open` in the library's form. By default those that report a problem."""

    name: bytes = b""
    mode: str = "r"
    replace: bool = False
    extents: Optional[list[int]] = None  #: None: as many as are in the file; []: of a single element
    dtype: Optional[np.dtype] = None
    descr: str = ""
    element_size: int = 0
    order: str = ""
    offset: int = 0
    container: str = "auto"
    hints: Optional[_core._Settings] = None
    wanted: Optional[Wanted] = None  #: of a dataset in a file of another library
    chunks: _chunks.Members = _chunks.NONE


#: What some files may be told at open, with the values that say nothing.
NOTHING_MORE: Mapping[str, Any] = {"dataset": None, "dims": None, "decode": False, "chunks": None,
                                   "shards": None, "compressors": None, "fill_value": None,
                                   "attributes": None, "replace": False}


def extents_of(shape: Any) -> Optional[list[int]]:
    """Of an array's shape; `_core.unlimited` where it can grow."""
    if shape is None:
        return None
    extents = [_core.unlimited if n is None else whole_number(n, f"shape {shape!r}: extent")
               for n in (shape if np.iterable(shape) else (shape,))]
    if any(n is not None and n < 0 for n in (shape if np.iterable(shape) else (shape,))):
        raise ArgumentError(f"shape {shape!r}: an extent must not be negative; one that can grow is None")
    return extents


def replaces(replace: Any, mode: str) -> bool:
    """Whether a new file is to take the place of the old one at close."""
    if not isinstance(replace, (bool, np.bool_)):
        raise ArgumentError(f"replace={replace!r} is neither True nor False")
    if mode == "replace":
        raise ArgumentError("mode 'replace' does not exist; pass mode 'w' and replace=True")
    if mode not in ("r", "r+", "w", "x"):  # "a" is one of these by now
        raise ArgumentError(f"mode {mode!r} is not known; known are r, r+, a, w, x")
    if replace and mode != "w":
        raise ArgumentError(f"replace=True is for mode 'w', which makes a file anew, not for mode {mode!r}, which "
                            + ("refuses one that is there" if mode == "x" else "uses the one that is there"))
    return bool(replace)


def given_for(path: Any, mode: str, shape: Any, dtype: Any, order: Optional[str], offset: int,
              hints: Optional[Mapping[str, Any]], container: str, how: Mapping[str, Any]) -> Given:
    """`how`: arguments of containers that need more than shape and dtype, as in NOTHING_MORE."""
    given = Given(path_bytes(path), offset=whole_number(offset, "offset"), extents=extents_of(shape))
    given.mode, given.container = plain_text(mode, "mode"), plain_text(container, "container")
    given.replace = replaces(how["replace"], given.mode)
    given.order = plain_text(order or "", "order")
    if dtype is not None:
        given.dtype = np.dtype(dtype)
        if given.dtype.hasobject:
            raise ArgumentError(f"dtype {given.dtype} holds Python objects, which have no fixed size in a file")
        given.descr, given.element_size = plain_text(descr_of(given.dtype), "dtype"), given.dtype.itemsize
        if given.element_size == 0:
            raise ArgumentError(f"dtype {given.dtype} has elements of 0 bytes; give them a size, as in 'S8'")
        if is_foreign(given.dtype) and _is_zarr(given):
            given.descr = given.dtype.name
    given.hints = _core._Settings(dict(hints or {}))
    given.wanted = _dataset_or_array(given, how)
    if given.wanted is None:
        given.chunks = _chunks.members(how, len(given.extents or ()), given.dtype)
    return given


def _wanted_dataset(given: Given, container: str, how: Mapping[str, Any]) -> Wanted:
    if given.order not in ("", "C"):
        raise ArgumentError(f"order {given.order!r}: datasets lie in order 'C'; turn the dimensions around for 'F'")
    if given.offset != 0:
        raise ArgumentError(f"offset {given.offset}: the file itself says where a dataset is")
    if how["shards"] is not None:
        raise ArgumentError("shards= is for Zarr arrays; datasets of HDF5 and netCDF-4 have chunks=")
    wanted = Wanted(os.fsdecode(given.name), given.mode, container, how["dataset"],
                    None if given.extents is None else tuple(given.extents), given.dtype, how["dims"], how["decode"],
                    tuple(_chunks.extents_of_chunks(how["chunks"], "chunks", len(given.extents or ()))),
                    filters_of(how["compressors"], given.element_size),
                    _chunks.fill_of(how["fill_value"], given.dtype) or None,
                    {name: checked(name, value) for name, value in dict(how["attributes"] or {}).items()},
                    replace=given.replace)
    if container in CLASSIC and wanted.makes_file:
        Classic(container).check_new(wanted)
    return wanted


def _is_zarr(given: Given) -> bool:
    parts = os.fsdecode(given.name).split(os.sep)
    return given.container == "zarr" or (given.container == "auto" and any(part.endswith(".zarr") for part in parts))


def _dataset_or_array(given: Given, how: Mapping[str, Any]) -> Optional[Wanted]:
    """What is wanted of a dataset; None: the file is one of another container."""
    container = container_of(given.name, given.container, how["dataset"])
    if container is not None:
        return _wanted_dataset(given, container, how)
    for name, of_zarr in (("dims", True), ("decode", False)):
        if how[name] and not (of_zarr and _is_zarr(given)):
            raise ArgumentError(f"{name}={how[name]!r} is for datasets of HDF5 and netCDF-4"
                                f"{', and for Zarr arrays' if of_zarr else ''}; pass dataset= if the file is one of "
                                "these, else leave it out")
    return None


@overload
def open(path: Path, mode: str = "r", shape: Any = None, dtype: Any = None, order: Optional[str] = None,
         offset: int = 0, comm: Comm = None, hints: Optional[Mapping[str, Any]] = None,
         container: str = "auto", dataset: Optional[str] = None, dims: Any = None,
         decode: Any = False, chunks: Any = None, shards: Any = None,
         compressors: Any = None, fill_value: Any = None,
         attributes: Optional[Mapping[str, Any]] = None, *, fields: None = None, replace: bool = False) -> File: ...
@overload
def open(path: Path, mode: str = "r", shape: None = None, dtype: None = None, order: Optional[str] = None,
         offset: int = 0, comm: Comm = None, hints: Optional[Mapping[str, Any]] = None,
         container: str = "auto", *, fields: Sequence[Any], replace: bool = False) -> FieldsFile: ...
def open(path: Path, mode: str = "r", shape: Any = None, dtype: Any = None, order: Optional[str] = None,
         offset: int = 0, comm: Comm = None, hints: Optional[Mapping[str, Any]] = None,
         container: str = "auto", dataset: Optional[str] = None, dims: Any = None,
         decode: Any = False, chunks: Any = None, shards: Any = None,
         compressors: Any = None, fill_value: Any = None,
         attributes: Optional[Mapping[str, Any]] = None, *,
         fields: Optional[Sequence[Any]] = None, replace: bool = False) -> Union[File, FieldsFile]:
    """Opens an array in a file, or several. Collective over ``comm``.

    Args:
        path: The file. A name ending in .npy means a NumPy file, .h5, .hdf5 or .he5 an HDF5 file, .nc or .nc4 a
            netCDF-4 file, .zarr, also of a folder above, a Zarr array; files with other names hold bare elements.
        mode: "r"; "r+" (read and write: the file exists, and grows if the array does not fit yet); "w" (created, old
            content dropped); "x" (created; `FileExistsError` if the name exists); or "a" ("r+" if it exists when rank 0
            looks, else "x").
        shape: Extents of the array, up to 8, in elements; () is a single element. None for the slowest (the first;
            with order "F" the last): as many as are in the file, 0 in a new one, and one more with each `File.append`.
        dtype: Type of its elements, which have 1 to 65536 bytes. An .npy file stores types of ml_dtypes (bfloat16,
            float8_*) as raw bytes: pass them at each open.
        order: "C" (the default) or "F". An .npy file has its own shape, dtype and order; arguments must agree with
            them.
        offset: Byte of the file where the array (an .npy file's header) starts. With "r+" and the `File.end_offset` of
            the previous array, a file can hold several.
        comm: An mpi4py communicator. None: this process alone, without MPI.
        hints: Hints by name, as {"buffer_size": "16M", "aggregators": 2}; `hints` lists them.
        container: "raw" (bare elements), "npy", "hdf5", "netcdf", "cdf1", "cdf2", "cdf5" (classic netCDF), "zarr" (a
            folder of chunks, Zarr 3), or "auto": by the name of a new file, by the content of an existing one.
        dataset: Its name in an HDF5 or netCDF-4 file, with its groups, as "/run/u", which are created. With "r+" a new
            name adds a dataset. May be omitted if the file has only one. It is in chunks if ``chunks``,
            ``compressors``, ``fill_value`` or a shape that grows require that.
        dims: Names of the dimensions of a dataset or Zarr array, as ("z", "y", "x"). A netCDF-4 file needs them. In
            HDF5 and netCDF-4 also a mapping of these names to the coordinates, or to None. In Zarr a name may be None.
        decode: What to do with a dataset that Penstock cannot read (virtual, unknown filters...). False: raise an
            error. True: rank 0 decodes it into a temporary file beside it, which all ranks read. A folder: the same,
            with the temporary file there.
        chunks: Extents of the chunks of a new Zarr array or dataset, or one number for all dimensions. Default: some
            MiB each. With "r" and "r+" the array has its own, also of the next three arguments.
        shards: Extents of a file that holds several chunks, multiples of theirs. Default: a file for each.
        compressors: "zstd", "zstd:5", "blosc", "gzip", "zstd,crc32c"; a dictionary with name and
            configuration, as zarr.json has it; a codec of zarr-python; or a list of these. Default: none. Of a
            dataset: "gzip", "zstd", "blosc", and "shuffle" before one of these, as "shuffle,gzip:4".
        fill_value: Value of elements that were not written. Default: zeros.
        attributes: Those of a new dataset or Zarr array, as {"units": "K"}: JSON values; for a dataset texts, numbers
            and arrays.
        fields: Several arrays in one file of bare elements: a list of ``(name, shape, dtype)`` or ``(name, shape,
            dtype, offset)``, one after the other, from ``offset`` on, unless they give their own; ``order`` is that
            of each. They are not stored in the file: pass them at each open, instead of ``shape`` and ``dtype``.
        replace: With "w". True: a new file is written beside the old one, and takes its
            place when all ranks have closed it. Until then, after an exception in the ``with`` block, after a call that
            could not write, and after a crash at any moment, the old file and its attributes are unchanged.

    Returns:
        The open file. Close it, or use it as a context manager. A `DatasetFile` for a dataset, with ``fields`` a
        `FieldsFile`.

    Raises:
        ArgumentError: For an invalid value, and an unknown hint.
        FormatError: If the file does not match the arguments.
        StorageError: If the operating system refuses.
        DisagreementError: If ranks passed different arguments, or only some may write the file.

    The same class is raised on every rank, and no file is changed.
    """
    how = {"dataset": dataset, "dims": dims, "decode": decode, "chunks": chunks, "shards": shards,
           "compressors": compressors, "fill_value": fill_value,
           "attributes": attributes, "replace": replace}
    mode = settled_mode(path, comm, mode)
    if fields is not None:
        alone = shape is None and dtype is None and container in ("auto", "raw") and all(
            how[name] is nothing for name, nothing in NOTHING_MORE.items() if name != "replace")
        return open_fields(comm, lambda: GivenFields.of(path, mode, fields, order, offset, hints, alone,
                                                        replaces(replace, mode), container))
    return opened(path, comm, lambda: given_for(path, mode, shape, dtype, order, offset, hints, container, how))


def open_replacing(comm: int, given: Given, ranks: int) -> File:
    """A Zarr array."""
    path = os.fsdecode(given.name)
    replacing = Replacing(comm, path.rstrip("/"), is_folder=True)
    place = replacing.begin({"mode": "replace"}, lambda: check_array(path))
    try:
        inner = _core._open(comm, os.fsencode(place), "w", given.extents, given.descr, given.element_size, given.order,
                            given.offset, "zarr", given.hints, given.chunks, None, None)
    except Exception:
        replacing.abandon()
        raise
    file = File(inner, path, "replace", given.dtype, ranks)
    file._replacing = replacing
    return file


def name_of(path: Any) -> bytes:
    """For a message; up to a byte 0, and empty if it is no path."""
    try:
        return os.fsencode(path).split(b"\0")[0]
    except (TypeError, ValueError):
        return b""


def settled_mode(path: Any, comm: Any, mode: str) -> str:
    """Collective if the mode is "a", which becomes "r+" or "x" depending on what rank 0 finds."""
    return _core._settled_mode(comm_address(comm), name_of(path), mode) if mode == "a" else mode


def opened(path: Any, comm: Any, give: Callable[[], Given]) -> File:
    """Collective: what `give` raises on one rank is raised on all."""
    address = comm_address(comm)  # without a communicator there is nobody to tell
    try:
        given, problem = give(), None
    except Exception as error:  # all ranks must raise it
        given, problem = Given(name_of(path)), tellable(error)
    ranks = 1 if comm is None else comm.Get_size()
    if given.wanted is not None:
        return open_dataset(address, ranks, given.hints, given.wanted)
    mode = "replace" if given.replace else given.mode
    if given.replace and problem is None and _is_zarr(given):
        return open_replacing(address, given, ranks)
    inner = _core._open(address, given.name, mode, given.extents, given.descr, given.element_size, given.order,
                        given.offset, given.container, given.hints, given.chunks, None,
                        problem)
    return File(inner, os.fsdecode(given.name), mode, given.dtype, ranks)
