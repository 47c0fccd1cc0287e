"""The variables of a dataset."""

from __future__ import annotations

import threading
from collections.abc import Callable, MutableMapping
from typing import Any, Optional, Union

import numpy as np

from ._formats.wanted import Found
from ._growing import Growing
from ._request import Requests
from ._types import Index

#: Calls after which there is something to sync.
CHANGES = ("write", "write_begin", "append", "set_attributes")


class OnFirstUse:
    """The elements of a variable, opened by the first call that all ranks make."""

    def __init__(self, open_it: Callable[[OnFirstUse], Any]):
        self._open_it, self._lock = open_it, threading.Lock()
        self.opened: Any = None
        self.is_changed = False  #: since it was synced

    def __getattr__(self, name: str) -> Any:
        with self._lock:
            if self.opened is None:
                self.opened = self._open_it(self)
            self.is_changed = self.is_changed or name in CHANGES
        return getattr(self.opened, name)


class Variable(Growing):
    """A variable of a `Dataset`. It has the methods of `File`, which are collective: all ranks name the same variable.

    The first call opens it; reading its shape, type, dimensions and attributes is not collective.
    """

    name: str  #: with its groups, as "run/u"
    dims: Optional[tuple[str, ...]]  #: names of its dimensions; None where they have none
    chunks: Optional[tuple[int, ...]]  #: extents of its chunks, in elements; None: it has none
    fill_value: Any  #: elements of chunks that are not there; None without chunks

    def __init__(self, name: str, found: Found, inner: OnFirstUse, attrs: MutableMapping[str, Any]):
        super().__init__()
        self.name, self.dims, self.shape, self.dtype, self.order = name, found.dims, found.shape, found.dtype, "C"
        self.chunks = None if found.chunks is None else found.chunks.extents
        self.fill_value = None if found.chunks is None else np.frombuffer(found.chunks.fill, self.dtype)[0]
        self._is_at(found)
        self._inner, self._attrs, self._grows, self._first_shape = inner, attrs, found.grows, found.shape
        self._requests = Requests(self.shape, self.dtype, self.order)

    def _is_at(self, found: Found) -> None:
        steps = self.shape[0] if found.step else 0
        size = (steps - 1) * found.step + self.nbytes // steps if steps else self.nbytes
        self.data_offset, self.end_offset = found.offset, found.offset + size

    @property
    def attrs(self) -> MutableMapping[str, Any]:
        """Its attributes: a mapping of names to texts, numbers and arrays.

        Reading them is not collective. Setting or deleting one is: all ranks do the same, and it is then in the file.
        """
        return self._attrs

    @property
    def _dim_keys(self) -> list[str]:
        """Those of `Dataset.dims`."""
        group = self.name[: self.name.rfind("/") + 1]
        return [group + dim for dim in self.dims or ()]

    @property
    def _has_grown(self) -> bool:
        """Since it was opened."""
        return self.shape != self._first_shape

    @property
    def last_method(self) -> str:
        """The method of the last read or write, with "auto" the one chosen; "" before the first."""
        return "" if self._inner.opened is None else self._inner.opened.last_method

    def __setitem__(self, index: Union[Index, list[Any], None], value: Any) -> None:
        """As `File`. For a variable that can grow, also one step after the last: ``v[t, rows] = value`` with the number
        ``t == v.shape[0]`` makes it one step longer, as `append` does. Collective.

        Args:
            index: All ranks name the same new step. A rank without data selects nothing of it, as ``v[t, 0:0]``.
            value: As of `File`.

        Raises:
            ArgumentError, SectionError, StateError, StorageError: As of `File`; the shape is then unchanged.
            DisagreementError: If some ranks name the new step, and others do not.
        """
        with self._one_at_a_time:
            if self._grows and self._is_next_step(index):
                longer = self._requests.one_longer()
                self._become(longer, longer.assign(value, index))
                return
        super().__setitem__(index, value)

    def _is_next_step(self, index: Any) -> bool:
        first = index[0] if isinstance(index, tuple) and index else index
        return isinstance(first, (int, np.integer)) and not isinstance(first, bool) and first == self.shape[0]

    def __repr__(self) -> str:
        dims = "" if self.dims is None else f" ({', '.join(self.dims)})"
        return f"<penstock.Variable {self.name!r}: {self.dtype} {self.shape}{dims}>"
