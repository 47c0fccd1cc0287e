"""Files of several variables, which share their dimensions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Optional, Union

from . import _core
from ._attributes import plain
from ._core import ArgumentError, DisagreementError, StateError
from ._first_rank import as_problem
from ._formats.attributes import checked
from ._formats.classic_variables import ClassicVariables
from ._formats.replacing import raised_by
from ._formats.variables import StoredVariables
from ._formats.wanted import CLASSIC, CONTAINERS, MAKES_FILE, Found
from ._formats.zarr import ZarrVariables
from ._hints import plain_text
from ._open import NOTHING_MORE, name_of, replaces, settled_mode
from ._types import Comm, Path
from ._values import comm_address, path_bytes
from ._variable import OnFirstUse, Variable


class Dataset(Mapping[str, Variable]):
    """A file of several variables, opened by `penstock.open_dataset`: a mapping of their names to `Variable`. A context
    manager that closes the file.

    After an exception in the ``with`` block only this rank abandons the file, since the other ranks may be in any call.
    """

    path: str  #: as it was given to `penstock.open_dataset`
    mode: str  #: "r", "r+" or "w"
    container: str  #: "hdf5", "netcdf", "cdf1", "cdf2", "cdf5" or "zarr"

    def __init__(self, given: GivenDataset, comm: int):
        self.path, self.container = os.fsdecode(given.name), given.container
        self.mode = "w" if given.mode in MAKES_FILE else given.mode
        self._variables: dict[str, Variable] = {}
        self._open: list[OnFirstUse] = []  # in the order of their first calls
        self._closed = self._name_is_synced = False
        self._store = self._store_of(given, comm)
        try:
            if classic := self._store.open(given.attributes, given.replace, given.problem):
                self.container = classic
                self._store = self._store_of(given, comm)
                self._store.open(given.attributes, given.replace, given.problem)
        except Exception:
            if self._store.replacing is not None:
                self._store.replacing.abandon()
            raise
        self._replacing = self._store.replacing
        self._add(self._store.found, is_new=False)

    def _store_of(self, given: GivenDataset, comm: int) -> Union[StoredVariables, ZarrVariables]:
        if self.container == "zarr":
            return ZarrVariables(comm, self.path, given.mode, given.settings)
        kind = ClassicVariables if self.container in CLASSIC else StoredVariables
        return kind(comm, self.path, given.mode, self.container, given.settings, self._publish)

    def _add(self, found: Mapping[str, Found], is_new: bool) -> None:
        for name, one in found.items():
            inner = OnFirstUse(self._opener(one, is_new))
            self._variables[name] = Variable(name, one, inner, self._store.attributes_of(one, inner))

    def _opener(self, found: Found, is_new: bool) -> Callable[[OnFirstUse], Any]:
        def open_it(variable: OnFirstUse) -> Any:
            self._require_open()
            inner = self._store.open_variable(found, is_new)
            self._open.append(variable)
            return inner

        return open_it

    def _close_variable(self, name: str) -> None:
        """Collective. What `_add` makes of it then is opened by the next call."""
        self._publish()
        inner = self._variables[name]._inner
        if inner.opened is not None:
            self._open.remove(inner)
            inner.opened.close()

    def _require_open(self) -> None:
        if self._closed:
            raise StateError(f"'{self.path}' is closed")

    def __getitem__(self, name: str) -> Variable:
        """The variable of that name. Not collective.

        Args:
            name: With its groups, as "run/u".

        Raises:
            KeyError: If there is no such variable.
        """
        found = self._variables.get(str(name).strip("/"))
        if found is None:
            raise KeyError(f"'{self.path}' has no variable {name!r}; it has {', '.join(self) or 'none'}")
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)

    def __bool__(self) -> bool:
        """Whether the file is open, as of files, whatever is in it."""
        return not self.closed

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    @property
    def attrs(self) -> MutableMapping[str, Any]:
        """The attributes of the file: a mapping of names to texts, numbers and arrays.

        Reading them is not collective. Setting or deleting one is: all ranks do the same, and it is then in the file.
        """
        return self._store.attrs

    @property
    def dims(self) -> dict[str, int]:
        """The dimensions of the variables by name, in elements; those in a group as "run/x". One that grows is as long
        as its longest variable."""
        found: dict[str, int] = {}
        for variable in self.values():
            for key, extent in zip(variable._dim_keys, variable.shape):
                found[key] = max(found.get(key, 0), extent)
        return found

    def create(self, name: str, shape: Any, dtype: Any, dims: Any = None, *, chunks: Any = None,
               shards: Any = None, compressors: Any = None, fill_value: Any = None,
               attributes: Optional[Mapping[str, Any]] = None) -> Variable:
        """Creates a variable. Collective.

        Args:
            name: Its name, with its groups, as "run/u", which are created.
            shape: Extents, 1 to 8, in elements. None for the first: it can grow, and has no step yet, or, if it has the
                coordinates of a dimension, as many as that.
            dtype: Type of its elements; netCDF refuses types that it does not have (bool, complex).
            dims: Names of its dimensions, as ("time", "y", "x"); a netCDF-4 file needs them. A variable with the name
                of its only dimension has the coordinates of that dimension. Or a mapping of these names to the
                coordinates, which are created and written too, or to None.
            chunks: As in `penstock.open`.
            shards: As in `penstock.open`, of Zarr.
            compressors: As in `penstock.open`.
            fill_value: Value of elements that were not written; in netCDF also the attribute _FillValue. Default: 0.
            attributes: As in `penstock.open`, e.g. {"units": "K"}.

        Returns:
            The variable, which is in the file.

        Raises:
            ArgumentError: For an existing name, and for arguments that no variable can have.
            FormatError: If a dimension of that name exists with another extent or other coordinates.
            DisagreementError: If ranks passed different arguments.
            StateError: If the file is closed, or open for reading only; of classic netCDF also if a variable was read
                or written, or with "r+".
            StorageError: If the operating system refuses.

        The same class is raised on every rank, and the file is unchanged.
        """
        how = {**NOTHING_MORE, "dims": dims, "chunks": chunks, "shards": shards, "compressors": compressors,
               "fill_value": fill_value, "attributes": attributes}
        self._require_open()
        self._add(self._store.create(name, shape, dtype, how, self.dims), is_new=True)
        for key, variable in self._variables.items():
            variable._is_at(self._store.found[key])
        return self[name]

    def sync(self) -> None:
        """Returns when all that was written to all variables is on the device, and visible in the file. Collective.

        Raises:
            StorageError: If something could not be written, now or in the background.
        """
        self._require_open()
        self._publish()
        if self.mode == "w" and not self._name_is_synced:
            self._store.sync_name()
            self._name_is_synced = True
        self._store.anchor.sync()

    def _publish(self) -> None:
        """Collective. Makes all that was written to variables in chunks visible in the file."""
        changed = [variable for variable in self._open if variable.is_changed and self.mode != "r"]
        errors = [error for variable in changed if (error := raised_by(variable.opened.sync)) is not None]
        if errors:
            raise errors[0]
        if changed or self._store.must_publish:
            self._store.publish()
        for variable in changed:
            variable.is_changed = False

    def close(self) -> None:
        """Returns when all that was written is in the file. Collective. A second call does nothing.

        Raises:
            StorageError: If something could not be written; the file is closed nevertheless.
            DisagreementError: If ranks are in different calls; the file stays open.
        """
        if self._closed:
            return
        errors = []
        for call in self._calls_to_close():
            error = raised_by(call)
            if isinstance(error, DisagreementError):  # other ranks are in another call
                raise error
            errors.append(error)
        self._closed = True
        self._store.leave()
        first = next((error for error in errors if error is not None), None)
        if self._replacing is not None:
            self._replacing.finish(first)
        elif first is not None:
            raise first

    def _calls_to_close(self) -> Iterator[Callable[[], Any]]:
        if self.container == "zarr" and self.mode != "r":
            yield from self._steps_that_are_missing()
        if self.mode != "r" and self._store.publishes_first:
            yield self._store.end_definitions
            yield self._publish
        if self._replacing is not None:
            yield self.sync
            for variable in self._open:
                yield variable.opened.check_whole
        for variable in self._open:
            yield variable.opened.close
        if self.mode != "r" and not self._store.publishes_first and (
                self._store.must_publish or any(variable.is_changed for variable in self._open)):
            yield self._store.publish
        yield self._store.anchor.close

    def _steps_that_are_missing(self) -> Iterator[Callable[[], Any]]:
        """Zarr has no dimensions of their own: arrays are as long as the longest along one that has grown."""
        grown = {key for variable in self.values() if variable._has_grown for key in variable._dim_keys[:1]}
        lengths = self.dims
        for variable in self.values():
            for key in variable._dim_keys[:1]:
                for _ in range(variable.shape[0], lengths[key] if key in grown else 0):
                    yield partial(variable.append, None, None)

    @property
    def closed(self) -> bool:
        """Whether the file is closed."""
        return self._closed

    def __enter__(self) -> Dataset:
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        if kind is None:
            self.close()
            return
        # After an exception the other ranks may be anywhere: do not wait for them.
        self._closed = True
        for file in (*(variable.opened for variable in self._open), self._store.anchor):
            file.abandon()
        self._store.leave()
        if self._replacing is not None:
            self._replacing.abandon(value)

    def __repr__(self) -> str:
        return (f"<penstock.Dataset {self.path!r}: {', '.join(self) or 'no variables'}, "
                f"{'closed' if self.closed else f'open for {self.mode!r}'}>")


@dataclass
class GivenDataset:
    """The arguments of `open_dataset`. By default those that report a problem."""

    name: bytes = b""
    mode: str = "r"
    container: str = "hdf5"
    attributes: Mapping[str, Any] = field(default_factory=dict)
    settings: Optional[_core._Settings] = None
    replace: bool = False
    problem: Optional[Exception] = None

    @staticmethod
    def of(path: Any, mode: Any, attributes: Any, hints: Any, container: Any, replace: Any) -> GivenDataset:
        given = GivenDataset(path_bytes(path), plain_text(mode, "mode"))
        if given.mode not in ("r", "r+", *MAKES_FILE):  # "a" is one of these by now
            raise ArgumentError(f"mode {given.mode!r} is not known; a file of several variables has r, r+, a, w, x")
        given.container = _container_of(path, plain_text(container, "container"))
        if attributes is not None and given.mode not in MAKES_FILE:
            raise ArgumentError(f"attributes= is for a file that is made (mode 'w' or 'x'), not for mode "
                                f"{given.mode!r}: set them by ds.attrs")
        check = plain_json if given.container == "zarr" else checked
        given.attributes = {name: check(name, value) for name, value in dict(attributes or {}).items()}
        given.settings = _core._Settings(dict(hints or {}))
        given.replace = replaces(replace, given.mode)
        return given


def plain_json(name: Any, value: Any) -> Any:
    """Of an attribute of a Zarr group."""
    if not isinstance(name, str):
        raise ArgumentError(f"the name of an attribute is text, not {name!r}")
    return plain(value, repr(name))


def _container_of(path: Any, container: str) -> str:
    known = {**CONTAINERS, ".zarr": "zarr"}
    if container in CLASSIC:
        return container
    if container == "auto":
        name = os.fsdecode(path).rstrip("/")
        container = known.get(os.path.splitext(name)[1].lower(), "zarr" if ".zarr/" in name else "")
    if container not in known.values():
        named = " or ".join(map(repr, sorted({*known.values(), *CLASSIC})))
        raise ArgumentError(f"'{os.fsdecode(path)}' is no file of several variables: its name would end in "
                            f"{', '.join(known)}, or container= say {named}")
    return container


def open_dataset(path: Path, mode: str = "r", comm: Comm = None, *, attributes: Optional[Mapping[str, Any]] = None,
                 hints: Optional[Mapping[str, Any]] = None, container: str = "auto", replace: bool = False) -> Dataset:
    """Opens a file of several variables, which may share dimensions. Collective over ``comm``.

    >>> with ps.open_dataset("run.nc", "w", comm=comm, attributes={"title": "heat"}) as ds:
    ...     u = ds.create("u", shape=(None, 64, 48), dtype="f4", dims=("time", "y", "x"))
    ...     u[0, rows] = block

    Args:
        path: The file. A name ending in .h5, .hdf5 or .he5 means an HDF5 file, .nc or .nc4 a netCDF-4 file; .zarr, also
            of a folder above, a Zarr group, whose arrays are the variables.
        mode: "r"; "r+" (read and write: the file exists, and takes more variables); "w" (created, old content dropped);
            "x" (created; `FileExistsError` if the name exists); or "a" ("r+" if it exists when rank 0 looks, else "x").
        comm: An mpi4py communicator. None: this process alone, without MPI.
        attributes: Of a new file: a dictionary of texts, numbers and arrays.
        hints: Hints by name, as in `penstock.open`, for each variable.
        container: "hdf5", "netcdf" (netCDF-4; with "r" and "r+" also classic netCDF), "cdf1", "cdf2", "cdf5" (the kinds
            of classic netCDF), "zarr", or "auto": by the name.
        replace: With "w", as in `penstock.open`.

    Returns:
        The open file. Close it, or use it as a context manager.

    Raises:
        ArgumentError: For an invalid value, a container without variables, and an unknown hint.
        FormatError: If the file is not of that container, or is damaged.
        StorageError: If the operating system refuses, or another program has locked the file.
        DisagreementError: If ranks passed different arguments.

    The same class is raised on every rank, and no file is changed.
    """
    address = comm_address(comm)
    mode = settled_mode(path, comm, mode)
    try:
        given = GivenDataset.of(path, mode, attributes, hints, container, replace)
    except Exception as error:  # all ranks must raise it
        given = GivenDataset(name_of(path), problem=as_problem(error))
    return Dataset(given, address)
