"""Opening a dataset of an HDF5 or netCDF-4 file.

1. Rank 0 looks for it, and sends all ranks the place of its bytes. It creates a new file at once. 2. Where a dataset
has to be made in a file that is there: all ranks open that file first, so that nothing has changed if one of them
cannot; then rank 0 makes the dataset. 3. All ranks open these bytes of the file. Where that fails, rank 0 takes away
what it has made.

HDF5's own library never has the file open meanwhile, so that nothing of it is cached or locked; but for datasets in
chunks that are written: then rank 0 has it open in a way of its own (placing.py).
"""

from __future__ import annotations

import errno
import math
import os
import re
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Optional, Union

import numpy as np

from .. import _core
from .._chunks import NONE, Members
from .._core import ArgumentError, FormatError
from .._file import File
from .._first_rank import ask_first_rank
from .._handle import closing
from .._values import descr_of
from . import hdf5, refusals
from .attributes import Attributes, Keeper
from .chunks import StoredChunks
from .classic import Classic
from .classic_header import kind_in
from .decode import decode
from .hdf5 import Hdf5
from .placing import Placer
from .refusals import in_words
from .replacing import Replacing
from .wanted import CLASSIC, Found, Wanted


class DatasetFile(File):
    """A dataset of an HDF5 or netCDF-4 file. `penstock.open` makes one where it is asked for a ``dataset``."""

    dataset: str  #: its name, with its groups, as "/run/u"
    dims: Optional[tuple[str, ...]]  #: names of its dimensions; None where they have none

    def __init__(self, inner: Any, ranks: int, opening: Opening, found: Found):
        wanted = opening.wanted
        super().__init__(inner, opening.path, "replace" if opening.replacing else wanted.mode, found.dtype, ranks)
        self._replacing = opening.replacing
        self.container, self.dataset, self.dims = wanted.container, found.name, found.dims
        self._placer = opening.placer
        sync = inner.sync if found.chunks is not None and wanted.mode != "r" else None
        self._attrs: MutableMapping[str, Any] = Attributes(
            inner, wanted.path, dict(found.attrs), Keeper(opening.kind, wanted.path, found.name, self._placer), sync)

    @property
    def attrs(self) -> MutableMapping[str, Any]:
        """Its attributes: a mapping of names to texts, numbers and arrays.

        To look at them is not collective. To set or to delete one is: all ranks do the same, and it is in the file
        when that returns.
        """
        return self._attrs

    def close(self, wait: bool = True) -> Any:
        """As `File.close`."""
        try:
            if not wait and self._replacing is None:
                return closing(self._inner.close_begin(), self._leave)
            return super().close() if wait else super().close(wait=False)
        finally:
            if wait and self.closed:
                self._leave()

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        try:
            super().__exit__(kind, value, traceback)
        finally:
            if self.closed:
                self._leave()

    def _leave(self) -> None:
        if self._placer is not None:
            self._placer.leave()


@dataclass
class Opening:
    """What is passed on while a file is opened."""

    comm: int
    name: bytes
    hints: Optional[_core._Settings]
    wanted: Wanted
    kind: Hdf5
    placer: Optional[Placer] = None  #: on rank 0, of a dataset in chunks that may be written
    replacing: Optional[Replacing] = None

    def __post_init__(self) -> None:
        self.path = self.wanted.path  #: as the program gave it

    def begin_replacing(self) -> None:
        """Collective: from here on the file is the new one."""
        wanted = self.wanted
        self.replacing = Replacing(self.comm, wanted.path, is_folder=False)
        place = self.replacing.begin(wanted.common(), lambda: check_new(self.kind, wanted))
        wanted.path, wanted.replace, self.name = place, False, os.fsencode(place)

    def ask(self, work: Any) -> Any:
        return ask_first_rank(self.comm, self.name, self.wanted.common(), in_words(self.wanted.path, work),
                              self.wanted.mode != "r")

    def open_bytes(self, mode: str, shape: tuple[int, ...], dtype: np.dtype, offset: int, copy: str = "") -> Any:
        name = os.fsencode(copy) or self.name
        return _core._open(self.comm, name, mode, list(shape), descr_of(dtype), dtype.itemsize, "C", offset, "raw",
                           self.hints, NONE, None, None)

    def open_chunks(self, mode: str, shape: tuple[int, ...], dtype: np.dtype, chunks: StoredChunks) -> Any:
        placed = (list(chunks.filters), chunks.places, shape[0],
                  self.placer and self.placer.place, self.placer and self.placer.publish)
        extents = [_core.unlimited, *shape[1:]] if self.wanted.grows else list(shape)
        members: Members = (list(chunks.extents), [], "", chunks.fill, [], "")
        return _core._open(self.comm, self.name, mode, extents, descr_of(dtype), dtype.itemsize, "C", 0, "raw",
                           self.hints, members, placed, None)

    def open_found(self, found: Found) -> Any:
        mode = "r" if self.wanted.mode == "r" else "r+"
        if found.chunks is not None:
            return self.open_chunks(mode, found.shape, found.dtype, found.chunks)
        return self.open_bytes(mode, found.shape, found.dtype, found.offset, found.copy)

    def try_file(self) -> None:
        """Raises, on all ranks, where one cannot open the file in which a dataset is to be made, or has no such
        filters."""
        wanted = self.wanted
        assert wanted.dtype is not None
        if wanted.chunks:
            chunks = StoredChunks(wanted.chunks, wanted.filters, bytes(wanted.dtype.itemsize), b"")
            self.open_chunks("r+", wanted.new_shape, wanted.dtype, chunks).close()
        else:
            self.open_bytes("r+", (0,), wanted.dtype, 0).close()

    def ready_to_write(self, found: Found) -> None:
        """On rank 0, which keeps other writers out of the file. Raises where there is one."""
        if found.chunks is None or self.wanted.mode == "r":
            return
        self.placer = Placer(self.wanted.path, found.name, found.chunks.places)
        self.placer.lock()


def kind_of(container: str) -> Any:
    if container in CLASSIC:
        return Classic(container)
    if container == "netcdf":
        from .netcdf import NetCdf

        return NetCdf()
    return Hdf5()


def open_dataset(comm: int, ranks: int, hints: Optional[_core._Settings], wanted: Wanted) -> File:
    """Collective. The arguments have been looked at; whether all ranks have the same is found out here."""
    opening = Opening(comm, os.fsencode(wanted.path), hints, wanted, kind_of(wanted.container))
    with _core._OpeningSteps(opening.name):
        if wanted.replace and wanted.container not in CLASSIC:
            opening.begin_replacing()
        made: list[str] = []  # on rank 0: what it has made, to be taken away if not all ranks can open it
        try:
            looked = opening.ask(lambda: wanted.container if wanted.container in CLASSIC else _look(opening, made))
            if not isinstance(looked, str):
                inner, found = open_in_steps(opening, looked, made)
                return DatasetFile(inner, ranks, opening, found)
        except Exception:
            if opening.replacing is not None:
                opening.replacing.abandon()
            raise
    from .classic_file import open_alone

    return open_alone(comm, ranks, hints, wanted, looked)


def open_in_steps(opening: Opening, found: Optional[Found], made: list[str]) -> tuple[Any, Found]:
    if found is None:
        opening.try_file()
        found = opening.ask(lambda: _make_in_file(opening, made))
    assert found is not None
    try:
        inner = opening.open_found(found)
    except Exception:
        _take_away(opening, made)
        raise
    if "copy" in made:
        os.unlink(found.copy)
    return inner, found


def _look(opening: Opening, made: list[str]) -> Union[Found, str, None]:
    """On rank 0. None: the dataset has to be created in an existing file. The container of a classic netCDF file."""
    wanted, kind = opening.wanted, opening.kind
    there = refusals.check_regular(wanted.path)
    if wanted.container == "netcdf" and there and not wanted.makes_file and (classic := kind_in(wanted.path)):
        return classic
    refusals.import_or_refuse("h5py")
    if wanted.mode == "x" and there:
        raise refusals.already_there(wanted.path)
    if not wanted.makes_file and not there:
        raise refusals.refused_by_system(wanted.path, errno.ENOENT, "open")
    if not wanted.makes_file:
        refusals.check_signature(wanted.path)
        found = _find(opening, made)
        if found is not None:
            opening.ready_to_write(found)
            return found
    kind.check_new(wanted)
    if not there:
        return _make(opening, "x", "file", made)
    refusals.check_lock(wanted.path)
    with refused(wanted):
        kind.make(wanted.path, "w", wanted, dry=True)
    if wanted.mode == "r+":
        kind.check_beside(wanted.path, wanted)
    return None


def check_new(kind: Hdf5, wanted: Wanted) -> None:
    """On rank 0: raises for a dataset that no file can have."""
    refusals.import_or_refuse("h5py")
    refusals.check_regular(wanted.path)
    kind.check_new(wanted)
    with refused(wanted):
        kind.make(wanted.path, "w", wanted, dry=True)


@contextmanager
def refused(wanted: Wanted) -> Iterator[None]:
    """h5py's errors about arguments; errors of the system are unchanged."""
    try:
        yield
    except (ArgumentError, OSError):
        raise
    except Exception as error:
        raise ArgumentError(f"'{wanted.path}': dataset {wanted.dataset} of shape {wanted.told_shape} cannot be made: "
                            f"{_reason(error, wanted)}") from None


def _reason(error: Exception, wanted: Wanted) -> str:
    """Of an error of the system the errno alone: the rest are names of functions in HDF5."""
    number = re.search(r"errno = (\d+)", str(error))
    if number is None or wanted.dtype is None:
        return str(error)
    size = math.prod(wanted.new_shape) * wanted.dtype.itemsize
    return f"it needs {size} bytes: {os.strerror(int(number[1]))}; pass a smaller shape, or chunks="


def _find(opening: Opening, made: list[str]) -> Optional[Found]:
    """On rank 0: the dataset. None: it has to be created."""
    found = _find_as_it_is(opening, made)
    if found is not None and found.refused == hdf5.NO_SPACE and opening.wanted.mode == "r+":
        hdf5.give_space(opening.wanted.path, found.name)
        found = _find_as_it_is(opening, made)
    if found is None or not found.refused:
        return found
    raise FormatError(f"'{opening.wanted.path}': dataset {found.name} {found.refused}, so that Penstock "
                      "cannot read its elements as they are. With decode=True rank 0 decodes it into a temporary file "
                      "for all, or make it contiguous (h5repack -l CONTI)")


def _find_as_it_is(opening: Opening, made: list[str]) -> Optional[Found]:
    import h5py

    wanted = opening.wanted
    with h5py.File(wanted.path, "r") as file:
        name = wanted.dataset or hdf5.only_dataset(file, wanted.path)
        dataset = hdf5.dataset_in(file, opening.kind.name_in_file(file, name), wanted.path)
        if dataset is not None and not opening.kind.is_array(dataset):
            dataset = None
        if dataset is None and wanted.mode == "r+" and wanted.can_make:
            return None
        if dataset is None:
            raise hdf5.missing(file, name, wanted.path)
        found = hdf5.found_in(dataset, opening.kind.dims_of(dataset))
        check_against(wanted, found, np.dtype(dataset.dtype), dataset.chunks)
        if wanted.mode == "r+":
            check_growth(wanted, found, found.chunks is not None and dataset.maxshape[0] is None)
        if found.refused and wanted.decode:
            found = decode(dataset, wanted.path, found, wanted.decode)
            made[:] = ["copy", found.copy]
        return found


def check_against(wanted: Wanted, found: Found, dtype: np.dtype, stored_chunks: Any = None) -> None:
    """The program's arguments must agree with the file."""
    shape = found.shape[:1] + (wanted.shape or ())[1:] if wanted.grows else wanted.shape
    chunks = found.chunks.extents if found.chunks is not None else stored_chunks
    pairs = [("shape", shape, found.shape), ("dtype", wanted.dtype, dtype),
             ("dims", wanted.dim_names, found.dims), ("chunks", wanted.given_chunks or None, chunks)]
    for what, given, there in pairs:
        if given is not None and given != there:
            raise FormatError(f"'{wanted.path}': dataset {found.name} has {what} {there}, not {given}")
    for name, value in wanted.attributes.items():
        if name not in found.attrs or not np.array_equal(found.attrs[name], value):
            raise FormatError(f"'{wanted.path}': dataset {found.name} has attribute {name} {found.attrs.get(name)!r}, "
                              f"not {value!r}; change it by attrs, once it is open")


def check_growth(wanted: Wanted, found: Found, can_grow: bool) -> None:
    if wanted.grows and not can_grow:
        raise FormatError(f"'{wanted.path}': dataset {found.name} was made with {found.shape[0]} steps along its first "
                          "dimension, and cannot grow: make another one with shape=(None, ...)")


def _make(opening: Opening, mode: str, what: str, made: list[str]) -> Found:
    import h5py

    wanted = opening.wanted
    assert wanted.dataset is not None
    try:
        made.append(what)
        with refused(wanted):
            opening.kind.make(wanted.path, mode, wanted)
        with h5py.File(wanted.path, "r") as file:
            dataset = file[opening.kind.name_in_file(file, wanted.dataset)]
            found = hdf5.found_in(dataset, wanted.dim_names)
        if found.refused:
            raise FormatError(f"'{wanted.path}': dataset {found.name} {found.refused}")
        opening.ready_to_write(found)
    except FileExistsError:  # somebody else has made it since it was looked for
        made.clear()
        raise
    except Exception:
        _take_away(opening, made)
        raise
    assert wanted.dtype is not None
    found.dtype = wanted.dtype
    return found


def _make_in_file(opening: Opening, made: list[str]) -> Found:
    if opening.wanted.mode == "w":
        return _make(opening, "w", "content", made)
    return _make(opening, "r+", "dataset", made)


def _take_away(opening: Opening, made: list[str]) -> None:
    """On the rank that has made something which no rank can open."""
    if opening.placer is not None:
        opening.placer.leave()
    if not made:
        return
    what, path = made[0], opening.wanted.path
    try:
        if what == "file":
            os.unlink(path)
        elif what == "copy":
            os.unlink(made[1])
        elif what == "dataset":
            opening.kind.remove(path, opening.wanted)
    except Exception:
        pass  # what is raised is why it could not be opened
