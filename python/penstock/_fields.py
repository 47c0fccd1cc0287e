"""Files with several arrays, which have names."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Optional

import numpy as np

from . import _core
from ._array import Array
from ._core import ArgumentError
from ._file import OpenFile
from ._formats.wanted import check_bare
from ._hints import plain_text
from ._request import Requests
from ._values import comm_address, descr_of, path_bytes, tellable, whole_number


@dataclass
class GivenFields:
    """The arguments of `open` with fields in the library's form. By default those that report a problem."""

    name: bytes = b""
    mode: str = "r"  #: as the library has it
    fields: list[tuple[str, list[int], str, Optional[int]]] = field(default_factory=list)
    dtypes: list[np.dtype] = field(default_factory=list)
    order: str = ""
    offset: int = 0
    hints: Optional[_core._Settings] = None

    @staticmethod
    def of(path: Any, mode: str, fields: Iterable[Any], order: Optional[str], offset: int,
           hints: Optional[Mapping[str, Any]], alone: bool, replace: bool, container: str) -> GivenFields:
        """`alone`: no other argument describes the file's contents. `replace`: at close, in mode "w"."""
        if not alone:
            raise ArgumentError("fields say what is in the file: shape, dtype and container 'npy' have no meaning "
                                "beside them")
        if container != "raw":
            check_bare(path)
        given = GivenFields(path_bytes(path), "replace" if replace else plain_text(mode, "mode"))
        given.offset = whole_number(offset, "offset")
        given.order, given.hints = plain_text(order or "", "order"), _core._Settings(dict(hints or {}))
        for entry in fields:
            given.add(entry)
        return given

    def add(self, entry: Any) -> None:
        parts = tuple(entry) if isinstance(entry, (tuple, list)) else ()
        if len(parts) not in (3, 4) or not isinstance(parts[0], str):
            raise ArgumentError(f"fields: {entry!r} is not (name, shape, dtype) or (name, shape, dtype, offset)")
        name, shape = parts[0], parts[1] if np.iterable(parts[1]) else (parts[1],)
        dtype = np.dtype(parts[2])
        if dtype.hasobject or dtype.itemsize == 0:
            raise ArgumentError(f"field {name!r}: dtype {dtype} has no fixed size in a file")
        extents = [whole_number(extent, f"field {name!r}, shape {parts[1]!r}: extent") for extent in shape]
        offset = whole_number(parts[3], f"field {name!r}: offset") if len(parts) == 4 else None
        self.fields.append((plain_text(name, "name of a field"), extents, descr_of(dtype), offset))
        self.dtypes.append(dtype)


class Field(Array):
    """A named array of a `FieldsFile`. It has the methods of `File`, which are collective: all ranks name the same
    field.

    An unknown name also gives a field, whose methods raise ArgumentError on all ranks.
    """

    name: str  #: as it was given to `penstock.open`

    def __init__(self, inner: Any, name: str, path: str):
        self._inner, self.name, self._path = inner, name, path
        self._requests = Requests((), np.dtype("V1"), "C")

    def _describe(self, extents: list[int], dtype: np.dtype, order: str) -> None:
        self.shape, self.dtype, self.order = tuple(extents), dtype, order
        self.data_offset, self.end_offset = self._inner.data_offset, self._inner.end_offset
        self._requests = Requests(self.shape, dtype, order)

    def __repr__(self) -> str:
        if not hasattr(self, "dtype"):
            return f"<penstock.Field {self.name!r}, which {self._path!r} does not have>"
        return f"<penstock.Field {self.name!r} of {self._path!r}: {self.dtype} {self.shape} at byte {self.data_offset}>"


class FieldsFile(OpenFile):
    """A file of several named arrays, opened by ``penstock.open(..., fields=[...])``. A context manager.

    ``f["density"]`` is one of them, a `Field`. The file holds bare elements, one field after the other, as a Fortran
    program writes them with stream access. After an exception in the ``with`` block only this rank abandons the file,
    since the other ranks may be in any call.
    """

    fields: dict[str, Field]  #: by name, in the order in which they lie in the list that was given
    order: str  #: "C" or "F": how the elements of each lie in the file
    end_offset: int  #: byte of the file just past the last field

    def __init__(self, inner: Any, given: GivenFields, ranks: int):
        self._inner, self._ranks = inner, ranks
        self._named(os.fsdecode(given.name), given.mode)
        self.order = given.order or "C"
        self.end_offset, self.fields = inner.end_offset, {}
        for (name, extents, _, _), dtype in zip(given.fields, given.dtypes):
            self.fields[name] = Field(inner.field(name), name, self.path)
            self.fields[name]._describe(extents, dtype, self.order)

    def __getitem__(self, name: str) -> Field:
        """The field of that name. Not collective; an unknown name is an error of the field's methods, on all ranks.

        Args:
            name: As it was given to `penstock.open`.
        """
        found = self.fields.get(name)
        return found if found is not None else Field(self._inner.field(tellable(name)), tellable(name), self.path)

    def __repr__(self) -> str:
        state = "closed" if self.closed else f"open for {self.mode!r}"
        ranks = "" if self._ranks == 1 else f", {self._ranks} ranks"
        return f"<penstock.FieldsFile {self.path!r}: {', '.join(self.fields)}, order {self.order}, {state}{ranks}>"


def open_fields(comm: Any, give: Callable[[], GivenFields]) -> FieldsFile:
    """Collective: what `give` raises on one rank is raised on all."""
    address = comm_address(comm)
    try:
        given, problem = give(), None
    except Exception as error:  # all ranks must raise it
        given, problem = GivenFields(), tellable(error)
    fields = [(name, extents or [1], descr, offset) for name, extents, descr, offset in given.fields]
    inner = _core._open_fields(address, given.name, given.mode, fields, given.order, given.offset, given.hints, problem)
    return FieldsFile(inner, given, 1 if comm is None else comm.Get_size())
