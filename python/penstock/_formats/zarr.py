"""The arrays of a Zarr group that is opened as a whole. The library reads and writes the arrays; what is said of the
group, and its consolidated metadata, rank 0 writes."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, Optional

import numpy as np

from .. import _core
from .._attributes import Attributes, refuse_long_integers
from .._chunks import NONE, Chunks
from .._core import ArgumentError, FormatError
from .._first_rank import as_problem, ask_first_rank, ask_first_rank_of
from .._open import given_for
from .._regular import sync_folder_of
from .._values import dtype_of
from .chunks import StoredChunks
from .refusals import already_there, in_words, refused_by_system
from .replacing import Replacing
from .wanted import MAKES_FILE, Found
from .zarr_metadata import METADATA_FILE, GroupFile, nodes_in


class GroupAttributes:
    """Sets the attributes of a group, in the place of an open array's."""

    def __init__(self, anchor: Any, folder: str):
        self._anchor, self._folder = anchor, folder

    def set_attributes(self, text: str, problem: Optional[str]) -> None:
        """Collective."""
        def work() -> None:
            file = GroupFile(self._folder)
            file.write({**file.read(), "attributes": json.loads(text)})

        ask_first_rank_of(self._anchor, {"the attributes": text},
                          in_words(self._folder, work, "change an attribute of"), True,
                          None if problem is None else ArgumentError(problem))


class ZarrVariables:
    """Of one group, on every rank. The same as StoredVariables."""

    #: Whether the file tells, when it is closed, of what is on the device, before its variables are closed.
    publishes_first = False

    container = "zarr"

    def __init__(self, comm: int, path: str, mode: str, hints: Optional[_core._Settings]):
        self.path, self.mode = path, mode
        self.attrs: MutableMapping[str, Any] = {}
        self.found: dict[str, Found] = {}
        self.anchor: Any = None  #: zarr.json, open, by which the ranks meet
        self.must_publish = False
        self._comm, self._hints = comm, hints
        self._made = False  # on rank 0: whether the folder was not there before
        self.replacing: Optional[Replacing] = None

    # ---- opening

    def open(self, attributes: Mapping[str, Any], replace: bool, problem: Optional[Exception]) -> str:
        """As StoredVariables.open."""
        common = {"path": f"'{self.path}'", "mode": self.mode, "container": self.container,
                  "attributes": json.dumps(attributes, sort_keys=True)}
        if replace:  # from here on the folder is the new one
            self.replacing = Replacing(self._comm, self.path.rstrip("/"), is_folder=True)
            self.path = self.replacing.begin({**common, "mode": "replace"}, self._check_old, problem)
        seen = ask_first_rank(self._comm, os.fsencode(self.path), common,
                              self._in_words(lambda: self._look(attributes)), self.mode != "r",
                              problem)
        try:
            self.anchor = _core._open(self._comm, os.fsencode(os.path.join(self.path, METADATA_FILE)),
                                      "r" if self.mode == "r" else "r+", [0], "|u1", 1, "C", 0, "raw", None, NONE, None,
                                      None)
            if seen is None:
                seen = ask_first_rank_of(self.anchor, {"the call": "open_dataset"},
                                         self._in_words(lambda: self._make_anew(attributes)), True)
        except Exception:
            if self.anchor is not None:
                self.anchor.abandon()
            if self._made:
                shutil.rmtree(self.path)
            raise
        values, self.found = seen
        self.must_publish = self.mode in MAKES_FILE
        self.attrs = Attributes(GroupAttributes(self.anchor, self.path), self.path, json.dumps(values))
        return ""

    def _in_words(self, work: Callable[[], Any], doing: str = "open") -> Callable[[], Any]:
        return in_words(self.path, work, doing)

    def _look(self, attributes: Mapping[str, Any]) -> Any:
        """On rank 0. None: a group exists, and has to be replaced."""
        there = os.path.lexists(self.path)
        if there and not os.path.isdir(self.path):
            raise FormatError(f"'{self.path}' is no folder, and so no Zarr group")
        if there and self.mode == "x":
            raise already_there(self.path)
        if self.mode not in MAKES_FILE:
            if not there:
                raise refused_by_system(self.path, errno.ENOENT, "open")
            return self._described()
        if there and self.replacing is None:
            self._check_old()
            return None
        if not there:
            os.mkdir(self.path)
            self._made = True
        try:
            return self._make(attributes)
        except Exception:
            if self._made:
                self._made = False
                shutil.rmtree(self.path)
            raise

    def _check_old(self) -> None:
        """Raises where there is something else than a group, which would be lost."""
        if not os.path.lexists(self.path):
            return
        if not os.path.isdir(self.path):
            raise FormatError(f"'{self.path}' is no folder, and so no Zarr group")
        GroupFile(self.path).read()
        self._check_nothing_else()

    def _check_nothing_else(self) -> None:
        nodes = {name for name, _ in nodes_in(self.path)}
        others = sorted(name for name in os.listdir(self.path) if name != METADATA_FILE and name not in nodes)
        if others:
            raise FormatError(f"'{self.path}' holds {', '.join(others[:5])}, nothing of Zarr 3, which would be lost: "
                              "choose another folder, or remove that")

    def _make_anew(self, attributes: Mapping[str, Any]) -> Any:
        for name in [name for name, _ in nodes_in(self.path) if "/" not in name]:
            shutil.rmtree(os.path.join(self.path, name))
        return self._make(attributes)

    def _make(self, attributes: Mapping[str, Any]) -> Any:
        GroupFile(self.path).write({"zarr_format": 3, "node_type": "group", "attributes": dict(attributes)})
        return dict(attributes), {}

    def _described(self) -> Any:
        values = GroupFile(self.path).read().get("attributes", {})
        return values, {name: self._found(name) for name, told in nodes_in(self.path) if told["node_type"] == "array"}

    def _found(self, name: str) -> Found:
        """On this process alone."""
        try:
            inner = self._open_alone(name)
        except FormatError as error:
            return Found(name, (), np.dtype(object), 0, refused=str(error))
        found = self._found_in(name, inner)
        inner.close()
        return found

    def _open_alone(self, name: str) -> Any:
        return _core._open(0, self._path_of(name), "r", None, "", 0, "", 0, "zarr", None, NONE, None, None)

    def _path_of(self, name: str) -> bytes:
        return os.fsencode(os.path.join(self.path, name))

    @staticmethod
    def _found_in(name: str, inner: Any, grows: bool = False) -> Found:
        dtype = dtype_of(inner, name)
        how = Chunks(inner.chunks, dtype)
        dims = how.dims
        return Found(name, inner.shape, dtype, 0, None if dims is None or None in dims else dims,  # type: ignore[arg-type]
                     json.loads(how.attributes_text or "{}"), grows=grows,
                     chunks=StoredChunks(how.chunks or (), (), np.array(how.fill_value, dtype).tobytes(), b""))

    # ---- variables

    def create(self, name: Any, shape: Any, dtype: Any, how: Mapping[str, Any],
               lengths: Mapping[str, int]) -> dict[str, Found]:
        """As StoredVariables.create."""
        problem, given = None, None
        try:
            key = checked_name(name)
            dims = tuple(how["dims"] or ())
            given = given_for(os.path.join(self.path, key), "w", shape, dtype, None, 0, None, "zarr",
                              {**how, "dims": dims or None})
            if isinstance(how["dims"], Mapping) and any(values is not None for values in how["dims"].values()):
                raise ArgumentError("dims: coordinates are a variable of their own in a Zarr group: create one with "
                                    "the name of the dimension")
            self._check_dims(key, dims, given.extents or [], lengths)
        except Exception as error:  # all ranks must raise it
            problem, key = as_problem(error), ""
        ask_first_rank_of(self.anchor, {"the call": "create", "name": repr(name)}, lambda: self._check_new(key), True,
                          problem)
        assert given is not None
        inner = _core._open(self._comm, given.name, "w", given.extents, given.descr, given.element_size, given.order, 0,
                            "zarr", self._hints, given.chunks, None, None)
        found = {key: self._found_in(key, inner, (given.extents or [])[:1] == [_core.unlimited])}
        inner.close()
        self.must_publish = True
        self.found.update(found)
        return found

    def _check_new(self, name: str) -> None:
        if os.path.lexists(os.path.join(self.path, name)):
            raise ArgumentError(f"'{self.path}' has {name} already; choose another name")

    def _check_dims(self, name: str, dims: tuple[str, ...], extents: list[int], lengths: Mapping[str, int]) -> None:
        """As in netCDF; a dimension that grows agrees with any extent."""
        group = name[: name.rfind("/") + 1]
        growing = {group + found.dims[0] for found in self.found.values() if found.grows and found.dims}
        for dim, extent in zip(dims, extents):
            there = lengths.get(group + dim, extent)
            if extent not in (there, _core.unlimited) or extent == there and group + dim in growing:
                raise FormatError(f"'{self.path}': dimension {dim!r} "
                                  + ("grows: the shape of its variables must have None there"
                                     if group + dim in growing else f"has {there} elements, not {extent}"))

    def attributes_of(self, found: Found, inner: Any) -> MutableMapping[str, Any]:
        return Attributes(inner, os.path.join(self.path, found.name), json.dumps(found.attrs), refuse_long_integers)

    def open_variable(self, found: Found, is_new: bool) -> Any:
        """As StoredVariables.open_variable. One that may be written can grow."""
        ask_first_rank_of(self.anchor, {"variable": found.name}, lambda: None)
        if found.refused:
            raise FormatError(found.refused)
        extents = None if self.mode == "r" else [_core.unlimited, *found.shape[1:]] if found.shape else []
        return _core._open(self._comm, self._path_of(found.name), "r" if self.mode == "r" else "r+", extents, "", 0, "",
                           0, "zarr", self._hints, NONE, None, None)

    # ---- the group as a whole

    def end_definitions(self) -> None:
        """Collective, before the file is closed: no more variables are made."""

    def publish(self) -> None:
        """Collective: the group's consolidated metadata say what its arrays say."""
        ask_first_rank_of(self.anchor, {"the call": "sync"}, self._in_words(self._consolidate, "write"), True)
        self.must_publish = False

    def _consolidate(self) -> None:
        file = GroupFile(self.path)
        below = {name: {key: value for key, value in told.items() if key != "consolidated_metadata"}
                 for name, told in nodes_in(self.path)}
        file.write({**file.read(), "consolidated_metadata": {"kind": "inline", "must_understand": False,
                                                             "metadata": below}})

    def sync_name(self) -> None:
        """As StoredVariables.sync_name."""
        work = self._in_words(lambda: sync_folder_of(self.path.rstrip("/")), "sync")
        ask_first_rank_of(self.anchor, {"the call": "sync"}, work, True)

    def leave(self) -> None:
        """Nothing is held."""


def checked_name(name: Any) -> str:
    """Without slashes around it. Raises ArgumentError for what is no name in a group."""
    parts = name.strip("/").split("/") if isinstance(name, str) else []
    if not parts or any(part.strip(".") == "" or part == METADATA_FILE or "\0" in part for part in parts):
        raise ArgumentError(f"a variable must have a name, with its groups as 'run/u', not {name!r}")
    return "/".join(parts)
