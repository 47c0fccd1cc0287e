"""Attributes as h5py has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

from .._first_rank import as_problem
from .._formats.attributes import _value_in_words
from .entries import Lacking
from .shared import Shared


class AttributeManager(MutableMapping[str, Any]):
    """Those of one group or dataset. To look at them is not collective. To set, or to delete, one is."""

    def __init__(self, shared: Shared, path: str):
        self._shared, self._path = shared, path

    @property
    def _values(self) -> dict[str, Any]:
        return self._shared.entry(self._path).attrs

    def __getitem__(self, name: str) -> Any:
        if name not in self._values:
            raise KeyError(f"'{self._shared.path}': {self._path} has no attribute {name!r}")
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._values))

    def __len__(self) -> int:
        return len(self._values)

    def __setitem__(self, name: str, value: Any) -> None:
        self.create(name, value)

    def create(self, name: str, data: Any, shape: Any = None, dtype: Any = None) -> None:
        """Sets one, whatever it was before. Collective."""
        def work(file: Any) -> Any:
            file[self._path].attrs.create(name, data, shape, dtype)
            return file[self._path].attrs[name]

        self._values[name] = self._change("set an attribute", name, data, work, f"{shape} {dtype}")

    def modify(self, name: str, value: Any) -> None:
        """Gives another value to one, of the same type and shape. Collective."""
        def work(file: Any) -> Any:
            file[self._path].attrs.modify(name, value)
            return file[self._path].attrs[name]

        self._values[name] = self._change("modify an attribute", name, value, work)

    def __delitem__(self, name: str) -> None:
        """Collective."""
        self[name]  # a KeyError on every rank
        self._change("delete an attribute", name, "", lambda file: file[self._path].attrs.__delitem__(name))
        del self._values[name]

    def get_id(self, name: str) -> Any:
        raise Lacking("attrs.get_id: penstock.h5 has no low-level objects; attrs[name] has the value")

    def _change(self, call: str, name: str, value: Any, work: Callable[[Any], Any], how: str = "") -> Any:
        common, problem = {"object": self._path, "attribute": repr(name)}, None
        try:
            common["value of the attribute"] = f"{_value_in_words(value)} {how}".strip()
        except Exception as error:  # the other ranks must hear of it
            problem = as_problem(error)
        return self._shared.change(call, common, work, problem)

    def __repr__(self) -> str:
        return f"<Attributes of HDF5 object {self._path!r}>"
