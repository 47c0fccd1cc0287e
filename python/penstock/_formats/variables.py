"""The variables of an HDF5 or netCDF-4 file that is opened as a whole.

All ranks have the file itself open (`anchor`), and meet there. Rank 0 looks at what is in it, once, and makes new
variables. The elements of a variable are opened when it is read or written for the first time, like those of a dataset
that is opened alone; but what HDF5 has open of the file meanwhile is one thing for all of them, and so is the moment
in which their chunks are published (placing.py).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, Optional

import numpy as np

from .. import _core
from .._chunks import NONE, Members
from .._core import ArgumentError, FormatError
from .._first_rank import as_problem, ask_first_rank, ask_first_rank_of
from .._open import given_for
from .._regular import sync_folder_of
from .._values import descr_of
from . import hdf5, refusals
from .attributes import Attributes, Keeper
from .classic_header import kind_in
from .dataset import Opening, kind_of, refused
from .placing import Placer, WrittenFile
from .refusals import in_words
from .replacing import Replacing
from .wanted import MAKES_FILE, Found, Wanted, digest


class StoredVariables:
    """Of one file, on every rank."""

    #: Whether the file tells, when it is closed, of what is on the device, before its variables are closed.
    publishes_first = False

    def __init__(self, comm: int, path: str, mode: str, container: str, hints: Optional[_core._Settings],
                 settle: Callable[[], None]):
        """`settle`: collective; brings the file up to date, before rank 0 has the format's library change it."""
        self.path, self.mode, self.container = path, mode, container
        self.attrs: MutableMapping[str, Any] = {}
        self.found: dict[str, Found] = {}
        self.anchor: Any = None  #: the open file itself, by which the ranks meet
        self.must_publish = False  #: also where no variable is changed
        self._comm, self._name, self._hints, self._settle = comm, os.fsencode(path), hints, settle
        self._kind: Any = kind_of(container)
        self._written = WrittenFile(path)  # of use on rank 0 alone
        self._made = False  # on rank 0: whether the file was not there before
        self.replacing: Optional[Replacing] = None

    # ---- opening

    def open(self, attributes: Mapping[str, Any], replace: bool, problem: Optional[Exception]) -> str:
        """Collective. `problem`: what this rank has found wrong with the arguments. Returns the container, and has
        opened nothing, where the file is one of classic netCDF, and that was not known."""
        common = {"path": f"'{self.path}'", "mode": self.mode, "container": self.container,
                  "attributes": str({name: digest(np.asarray(value)) for name, value in attributes.items()})}
        if replace:
            self._begin_replacing(common, problem)
        seen = ask_first_rank(self._comm, self._name, common, self._in_words(lambda: self._look(attributes)),
                              self.mode != "r", problem)
        if isinstance(seen, str):
            return seen
        try:
            self.anchor = _core._open(self._comm, self._name, "r" if self.mode == "r" else "r+", [0], "|u1", 1, "C", 0,
                                      "raw", self._hints, NONE, None, None)
            if seen is None:
                seen = ask_first_rank_of(self.anchor, {"the call": "open_dataset"},
                                         self._in_words(lambda: self._make_anew(attributes)), True)
        except Exception:
            if self.anchor is not None:
                self.anchor.abandon()
            self._take_away()
            raise
        values, self.found = seen
        keeper = Keeper(self._kind, self.path, "/", self._written)
        self.attrs = Attributes(self.anchor, self.path, values, keeper, self._settle)
        return ""

    def _begin_replacing(self, common: Mapping[str, Any], problem: Optional[Exception]) -> None:
        """From here on the file is the new one."""
        def check() -> None:
            self._check_packages()
            refusals.check_regular(self.path)

        self.replacing = Replacing(self._comm, self.path, is_folder=False)
        self.path = self.replacing.begin({**common, "mode": "replace"}, check, problem)
        self._name, self._written = os.fsencode(self.path), WrittenFile(self.path)

    def _check_packages(self) -> None:
        for package in self._kind.needs:
            refusals.import_or_refuse(package)

    def _in_words(self, work: Callable[[], Any], doing: str = "open") -> Callable[[], Any]:
        return in_words(self.path, work, doing)

    def _look(self, attributes: Mapping[str, Any]) -> Any:
        """On rank 0. None: the file exists, and has to be replaced."""
        there = refusals.check_regular(self.path)
        if self.container == "netcdf" and there and self.mode not in MAKES_FILE and (kind := kind_in(self.path)):
            return kind
        self._check_packages()
        if self.mode not in MAKES_FILE:
            if not there:
                raise refusals.refused_by_system(self.path, errno.ENOENT, "open")
            self._kind.check_signature(self.path)
            seen = self._kind.variables(self.path)
            if self.mode == "r+":
                self._written.lock()
            return seen
        if there and self.mode == "x":
            raise refusals.already_there(self.path)
        if there:
            refusals.check_lock(self.path)
            return None
        return self._make_file("x", attributes)

    def _make_anew(self, attributes: Mapping[str, Any]) -> Any:
        refusals.check_lock(self.path)
        return self._make_file("w", attributes)

    def _make_file(self, mode: str, attributes: Mapping[str, Any]) -> Any:
        self._made = mode == "x"
        try:
            self._kind.make_file(self.path, mode, attributes)
            self._written.lock()
            return self._kind.variables(self.path)
        except FileExistsError:  # somebody else has made it since it was looked for
            self._made = False
            raise
        except Exception:
            self._take_away()
            raise

    def _take_away(self) -> None:
        """On rank 0, if it has made the file and not all ranks can open it."""
        self._written.leave()
        if self._made:
            self._made = False
            with suppress(FileNotFoundError):
                os.unlink(self.path)

    # ---- variables

    def create(self, name: Any, shape: Any, dtype: Any, how: Mapping[str, Any],
               lengths: Mapping[str, int]) -> dict[str, Found]:
        """Collective. What was made, by name: the variable, and coordinates that were given with its dimensions.
        `how`: other arguments, as in NOTHING_MORE. `lengths`: of the dimensions, by name."""
        problem, common = None, {"the call": "create"}
        wanted: Any = None
        try:
            self._check_may_create()
            wanted = given_for(self.path, "r+", shape, dtype, None, 0, None, self.container,
                               {**how, "dataset": name}).wanted
            wanted.check_new()
            if self.container == "netcdf" and wanted.dim_names == (wanted.dataset.rpartition("/")[2],):
                wanted.steps = lengths.get(wanted.dataset[1:], 0)  # coordinates are as long as their dimension
            self._try_chunks(wanted)
            common.update(wanted.common())
        except Exception as error:  # all ranks must raise it
            problem = as_problem(error)
        self._settle()
        made = ask_first_rank_of(self.anchor, common, self._in_words(lambda: self._make(wanted), "make a variable of"),
                                 True, problem)
        self.found.update(made)
        return made

    def _check_may_create(self) -> None:
        """Raises where the file takes no more variables."""

    def _try_chunks(self, wanted: Wanted) -> None:
        """Raises where the library has no such chunks or filters."""
        if wanted.chunks and wanted.dtype is not None:
            members: Members = (list(wanted.chunks), [], "", bytes(wanted.dtype.itemsize), [], "")
            _core._open(0, self._name, "r", list(wanted.new_shape), descr_of(wanted.dtype), wanted.dtype.itemsize, "C",
                        0, "raw", self._hints, members, (list(wanted.filters), b"", wanted.new_shape[0], None, None),
                        None).close()

    def _make(self, wanted: Wanted) -> dict[str, Found]:
        """On rank 0. Nothing has changed where it raises."""
        self._check(wanted)
        with self._left():
            try:
                with refused(wanted):
                    self._kind.make(self.path, "r+", wanted)
                return self._newly_found(wanted)
            except Exception:
                self._kind.remove(self.path, wanted)
                raise

    def _check(self, wanted: Wanted) -> None:
        import h5py

        assert wanted.dataset is not None
        with h5py.File(self.path, "r") as file:
            there = hdf5.dataset_in(file, self._kind.name_in_file(file, wanted.dataset), self.path)
            if there is not None and self._kind.is_array(there):
                raise ArgumentError(f"'{self.path}' has a variable {wanted.dataset[1:]} already; choose another name")
        self._kind.check_new(wanted)
        with refused(wanted):
            self._kind.make(self.path, "w", wanted, dry=True)
        self._kind.check_beside(self.path, wanted)

    def _newly_found(self, wanted: Wanted) -> dict[str, Found]:
        import h5py

        assert wanted.dataset is not None and wanted.dtype is not None
        found = {}
        group, _, name = wanted.dataset[1:].rpartition("/")
        with h5py.File(self.path, "r") as file:
            for one, dims in [(name, wanted.dim_names),
                              *((dim, (dim,)) for dim, values in wanted.dims or () if values is not None)]:
                path = f"{group}/{one}".lstrip("/")
                if path in self.found or path in found:
                    continue
                dataset = file[self._kind.name_in_file(file, "/" + path)]
                found[path] = hdf5.found_in(dataset, dims, placed=False)
        found[wanted.dataset[1:]].dtype = wanted.dtype
        return found

    def attributes_of(self, found: Found, inner: Any) -> MutableMapping[str, Any]:
        return Attributes(self.anchor, self.path, dict(found.attrs),
                          Keeper(self._kind, self.path, found.name, self._written), self._settle)

    def open_variable(self, found: Found, is_new: bool) -> Any:
        """Collective: its elements. `is_new`: none was written. The ranks compare which variable they mean."""
        lacks_space = found.refused == hdf5.NO_SPACE and self.mode == "r+"
        lacks_place = found.chunks is not None or lacks_space
        if lacks_space:
            self._settle()
        work = self._in_words(lambda: None if is_new or not lacks_place else self._located(found))
        found = ask_first_rank_of(self.anchor, {"variable": found.name}, work) or found
        if found.refused:
            raise FormatError(f"'{self.path}': variable {found.name[1:]} {found.refused}, so that Penstock cannot read "
                              "its elements as they are; penstock.open(..., dataset=..., decode=True) has rank 0 "
                              "decode them")
        grows = found.grows and self.mode != "r"
        shape = (_core.unlimited, *found.shape[1:]) if grows else found.shape
        wanted = Wanted(self.path, "r" if self.mode == "r" else "r+", self.container, found.name, shape, found.dtype)
        opening = Opening(self._comm, self._name, self._hints, wanted, self._kind)
        if found.chunks is not None and self.mode != "r" and self._written.is_locked:
            opening.placer = Placer(self.path, found.name, found.chunks.places, self._written)
        return opening.open_found(found)

    def _located(self, found: Found) -> Found:
        """On rank 0: with its place in the file, or those of its chunks."""
        import h5py

        if found.refused:
            with self._left():
                hdf5.give_space(self.path, found.name)
        with h5py.File(self.path, "r") as file:
            now = hdf5.found_in(file[found.name], found.dims)
        return replace(now, shape=found.shape, dtype=now.dtype if found.refused else found.dtype)

    @contextmanager
    def _left(self) -> Iterator[None]:
        """The format's library may change the file meanwhile."""
        self._written.leave()
        try:
            yield
        finally:
            self._written.lock()

    # ---- the file as a whole

    def change(self, common: Mapping[str, str], work: Callable[[Any], Any], doing: str,
               problem: Optional[Exception] = None, **how: Any) -> Any:
        """Collective. What `work` returned on rank 0, which has h5py open the file for it, as `how` says."""
        def changed() -> Any:
            import h5py

            with self._left(), h5py.File(self.path, "r+", **how) as file:
                return work(file)

        self._settle()
        return ask_first_rank_of(self.anchor, common, self._in_words(changed, doing), True, problem)

    def end_definitions(self) -> None:
        """Collective, before the file is closed: no more variables are made."""

    def publish(self) -> None:
        """Collective: publishes all that was written to its variables and is on the device."""
        ask_first_rank_of(self.anchor, {"the call": "sync"}, self._in_words(self._written.publish, "write"), True)

    def sync_name(self) -> None:
        """Collective: syncs the name of a new file."""
        ask_first_rank_of(self.anchor, {"the call": "sync"}, self._in_words(lambda: sync_folder_of(self.path), "sync"),
                          True)

    def leave(self) -> None:
        self._written.leave()
