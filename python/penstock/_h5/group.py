"""Groups as h5py has them."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any, Optional

import numpy as np

from .._first_rank import as_problem
from .._formats.wanted import digest
from .dataset import Dataset
from .entries import Entry, Lacking, NewDataset, entry_of, new_dataset
from .objects import Object

ONE_NAME = ("an object has one name in the file, and keeps it while the file is open here; use h5py on one rank, when "
            "it is closed")


class Group(Object, MutableMapping[str, Any]):
    """A group: a mapping of names to groups and datasets. `File` and other groups make them.

    To look at what is there is not collective. To make something is.
    """

    # ---- what is there

    def __getitem__(self, name: Any) -> Any:
        """The group or dataset of that name. Not collective."""
        return self._object(self._shared.resolved(self._path, name))

    def _object(self, path: str) -> Any:
        kind = self._shared.entry(path).kind
        if kind == "type":
            raise Lacking(f"{path} is a named datatype, which penstock.h5 does not have; open the file by h5py")
        return Dataset(self._shared, path) if kind == "dataset" else Group(self._shared, path)

    def __contains__(self, name: Any) -> bool:
        if not self or name in ("", b""):
            return False
        try:
            self._shared.resolved(self._path, name)
        except (KeyError, Lacking):
            return False
        return True

    def __iter__(self) -> Iterator[str]:
        self._shared.require_open()
        return iter(self._shared.children(self._path))

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self))

    def __len__(self) -> int:
        self._shared.require_open()
        return len(self._shared.children(self._path))

    __eq__ = Object.__eq__
    __hash__ = Object.__hash__

    def get(self, name: Any, default: Any = None, getclass: bool = False, getlink: bool = False) -> Any:
        """The object of that name, or its class; `default` where there is none. Not collective."""
        if getlink:
            raise Lacking("get(getlink=True): penstock.h5 does not tell of links; open the file by h5py")
        if name not in self:
            return default
        found = self[name]
        if not getclass:
            return found
        return Dataset if isinstance(found, Dataset) else Group

    def visit(self, call: Callable[[str], Any]) -> Any:
        """Calls with the name of each object below, until one call returns something. Not collective."""
        return self.visititems(lambda name, item: call(name))

    def visititems(self, call: Callable[[str, Any], Any]) -> Any:
        """The same with the name and the object."""
        for name in self._names_below(self._path):
            result = call(name, self[name])
            if result is not None:
                return result
        return None

    def _names_below(self, path: str, before: str = "") -> Iterator[str]:
        for name in self._shared.children(path):
            inner = posixpath.join(path, name)
            entry = self._shared.entry(inner)
            if entry.kind in ("group", "dataset"):
                yield before + name
            if entry.kind == "group":
                yield from self._names_below(inner, f"{before}{name}/")

    # ---- what is made

    def _new_path(self, name: Any) -> str:
        """Raises where something has that name, or cannot have it."""
        self._shared.require_open()
        name = name.decode() if isinstance(name, bytes) else name
        if name is None:
            raise Lacking("penstock.h5 has no objects without a name; give it one")
        if not self._shared.can_write:
            raise ValueError(f"'{self._shared.path}' is open for reading: nothing can be made in it")
        *groups, last = [part for part in posixpath.join(self._path, name).split("/") if part not in ("", ".")] or [""]
        path = "/"
        for part in groups:  # links are followed
            path = posixpath.join(path, part)
            path = self._shared.resolved("/", path) if path in self._shared.entries else path
            if path in self._shared.entries and self._shared.entries[path].kind != "group":
                raise ValueError(f"'{self._shared.path}': {path} is no group, so that {name!r} cannot be in it")
        path = posixpath.join(path, last)
        if path in self._shared.entries:
            raise ValueError(f"'{self._shared.path}': unable to create {path} (name already exists)")
        return path

    def create_group(self, name: Any, track_order: Any = None) -> Group:
        """Makes a group, and those before it. Collective."""
        if track_order:
            raise Lacking("create_group(track_order=True): penstock.h5 has names in their own order; leave it out")
        path = self._new_path(name)
        self._shared.change("create_group", {"group": path}, lambda file: file.create_group(path) and None)
        self._shared.add(path, Entry("group"))
        return Group(self._shared, path)

    def require_group(self, name: Any) -> Group:
        """The group of that name, made if it is not there. Collective."""
        if name not in self:
            return self.create_group(name)
        found = self[name]
        if not isinstance(found, Group):
            raise TypeError(f"Incompatible object ({type(found).__name__}) already exists")
        return found

    def create_dataset(self, name: Any, shape: Any = None, dtype: Any = None, data: Any = None, **how: Any) -> Dataset:
        """Makes a dataset, and the groups before it. Collective.

        Args:
            name: Its name, with its groups.
            shape: Extents, in elements; () for one element.
            dtype: Type of its elements. Default: "f4", or that of ``data``.
            data: Its elements, the same on every rank. Each rank writes a part of them.
            how: chunks, maxshape, compression, compression_opts, shuffle, fillvalue as in h5py.

        Raises:
            NotImplementedError: For what h5py has and Penstock has not, with what to do.
            DisagreementError: If ranks passed different arguments.
        """
        path = self._new_path(name)
        if how.pop("track_order", None):
            raise Lacking("create_dataset(track_order=True): penstock.h5 has names in their own order; leave it out")
        new, problem = None, None
        try:
            new = new_dataset(shape, dtype, data, dict(how))
        except Exception as error:
            if self._shared.size == 1 or isinstance(error, Lacking):
                raise
            problem = error
        entry = self._make(path, new, problem) if new is not None or problem is not None else \
            self._make_by_hdf5(path, shape, dtype, data, how)
        self._shared.add(path, entry)
        dataset = Dataset(self._shared, path)
        assert new is not None or entry.found is None
        if new is not None and (new.data is not None or (new.fill is not None and not new.chunks)):
            dataset._fill(new.fill if new.data is None else new.data)
            if new.chunks and not new.filters:  # so that a rank can go on alone
                self._shared.file._publish()
        return dataset

    def _make(self, path: str, new: Optional[NewDataset], problem: Optional[Exception]) -> Entry:
        common, found = {"dataset": path}, None
        if new is not None:
            new.is_shared = self._shared.size > 1
            common.update(new.common())
        elif problem is not None:
            found = as_problem(problem)
        how = {"libver": ("v110", "latest")} if new is not None and new.chunks else {}
        made: Entry = self._shared.change("create_dataset", common, lambda file: new and new.make(file, path), found,
                                          **how)
        return made

    def _make_by_hdf5(self, path: str, shape: Any, dtype: Any, data: Any, how: Mapping[str, Any]) -> Entry:
        """Of elements that only HDF5's own library writes."""
        def work(file: Any) -> Entry:
            return entry_of(file.create_dataset(path, shape, dtype, data, **how))

        told = "" if data is None else digest(np.asarray(data, object))
        made: Entry = self._shared.change("create_dataset", {
            "dataset": path, "shape": str(shape), "dtype": str(dtype), "data": told, "settings": str(how)}, work)
        return made

    def require_dataset(self, name: Any, shape: Any, dtype: Any, exact: bool = False, **how: Any) -> Dataset:
        """The dataset of that name, made if it is not there. Collective."""
        if name not in self:
            return self.create_dataset(name, shape, dtype, **how)
        found = self[name]
        wanted = np.dtype(dtype)
        shape = tuple(shape) if np.iterable(shape) else (shape,)
        if not isinstance(found, Dataset):
            raise TypeError(f"Incompatible object ({type(found).__name__}) already exists")
        if shape != found.shape and (exact or "maxshape" not in how or tuple(how["maxshape"]) != found.maxshape):
            raise TypeError(f"Shapes do not match (existing {found.shape} vs new {shape})")
        if wanted != found.dtype if exact else not np.can_cast(wanted, found.dtype):
            raise TypeError(f"Datatypes cannot be safely cast (existing {found.dtype} vs new {wanted})")
        return found

    def create_dataset_like(self, name: Any, other: Any, **how: Any) -> Dataset:
        """Makes a dataset of another one's shape, type, chunks and filters. Collective."""
        same = {key: getattr(other, key) for key in ("shape", "dtype", "chunks", "compression", "compression_opts",
                                                     "shuffle", "fillvalue")}
        same["maxshape"] = other.maxshape if other.chunks is not None else None
        return self.create_dataset(name, **{**same, **how})

    def __setitem__(self, name: Any, value: Any) -> None:
        """Makes a dataset of an array, number or text. Collective."""
        import h5py

        if isinstance(value, (Object, h5py.SoftLink, h5py.ExternalLink, h5py.HardLink, np.dtype, h5py.Datatype)):
            raise Lacking(f"{name!r} would be a link or a named datatype; " + ONE_NAME)
        self.create_dataset(name, data=value)

    def __delitem__(self, name: Any) -> None:
        """Removes a group or dataset, and all that is in it. Collective."""
        path = posixpath.normpath(posixpath.join(self._path, name))
        if path not in self._shared.entries:
            path = self._shared.resolved(self._path, name)
        if path == "/":
            raise ValueError("The root group cannot be removed")
        self._shared.remove(path)

    def move(self, source: str, dest: str) -> None:
        """Lacking."""
        raise Lacking(f"move of {source!r}: " + ONE_NAME)

    def copy(self, source: Any, dest: Any, name: Any = None, **how: Any) -> None:
        """Lacking."""
        raise Lacking("copy: penstock.h5 copies nothing within HDF5; read the one, and write it by create_dataset")

    def __repr__(self) -> str:
        return f'<HDF5 group "{self.name}" ({len(self)} members)>' if self else "<Closed HDF5 group>"
