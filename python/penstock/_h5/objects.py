"""What groups and datasets have in common."""

from __future__ import annotations

import posixpath
from abc import ABCMeta
from typing import Any, ClassVar

from .attributes import AttributeManager
from .entries import Entry, Lacking
from .shared import Shared

#: What to do without some of h5py's members.
INSTEAD = {"ref": "store the name of the object in place of a reference", "regionref": "store the name and the slices",
           "dims": "penstock.open_dataset has variables with dimensions"}


class AlsoOfH5py(ABCMeta):
    """Of classes whose objects may also be h5py's own, which has the files that one process opens."""

    def __instancecheck__(cls, one: Any) -> bool:
        same = cls.__dict__.get("of_h5py")
        return super().__instancecheck__(one) or (same is not None and isinstance(one, same))


class Identifier:
    """What stands in place of h5py's low-level objects."""

    def __init__(self, owner: Object):
        self._owner = owner

    @property
    def valid(self) -> bool:
        return bool(self._owner)

    def __bool__(self) -> bool:
        return self.valid

    def __getattr__(self, name: str) -> Any:
        raise Lacking(f"id.{name}: penstock.h5 has no low-level objects; use what groups and datasets have themselves")


class Object(metaclass=AlsoOfH5py):
    """A group or dataset of an open file."""

    of_h5py: ClassVar[Any] = None

    def __init__(self, shared: Shared, path: str):
        self._shared, self._path = shared, path

    @property
    def _entry(self) -> Entry:
        return self._shared.entry(self._path)

    @property
    def name(self) -> str:
        """Its absolute name."""
        return self._path

    @property
    def attrs(self) -> AttributeManager:
        """Its attributes. To look at them is not collective; to set or delete one is."""
        return AttributeManager(self._shared, self._path)

    @property
    def file(self) -> Any:
        """The file in which it is."""
        return self._shared.owner

    @property
    def parent(self) -> Any:
        """The group in which it is."""
        return self.file[posixpath.dirname(self._path)]

    @property
    def id(self) -> Identifier:
        return Identifier(self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        instead = INSTEAD.get(name, "use h5py on one rank, when the file is closed")
        raise Lacking(f"{type(self).__name__}.{name}: penstock.h5 does not have it; {instead}")

    def __bool__(self) -> bool:
        return bool(self._shared)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Object):
            return NotImplemented  # an array compares elements
        return self._shared is other._shared and self._path == other._path

    def __hash__(self) -> int:
        return hash((id(self._shared), self._path))
