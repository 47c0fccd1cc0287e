"""Attributes: named values beside an array, as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any

import numpy as np

from ._core import ArgumentError, FormatError
from ._values import tellable


def plain(value: Any, name: str) -> Any:
    """As JSON. Raises ArgumentError for values that JSON does not have."""
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biufSU":
        value = value.tolist()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        if value - value != 0:
            raise ArgumentError(f"attribute {name} is {value}, which JSON cannot represent; leave it out, or "
                                "write it as text")
        return value
    if isinstance(value, (list, tuple)):
        return [plain(item, f"{name}[{place}]") for place, item in enumerate(value)]
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise ArgumentError(f"attribute {name} has the key {key!r}; keys in JSON are text")
        return {key: plain(item, f"{name}[{key!r}]") for key, item in value.items()}
    kind = f"an array of {value.dtype}" if isinstance(value, np.ndarray) else f"of type {type(value).__name__}"
    raise ArgumentError(f"attribute {name} is {kind}, which JSON cannot represent; it has text, numbers, True and "
                        "False, None, lists and dictionaries of these")


def refuse_long_integers(values: Any, name: str = "") -> None:
    """Beyond 64 bits, which a Zarr array's metadata would round. Raises ArgumentError."""
    if isinstance(values, Mapping):
        for key, value in values.items():
            refuse_long_integers(value, f"{name}[{key!r}]" if name else repr(key))
    elif isinstance(values, (list, tuple)):
        for place, value in enumerate(values):
            refuse_long_integers(value, f"{name}[{place}]")
    elif isinstance(values, int) and not -(1 << 63) <= values < 1 << 64:
        raise ArgumentError(f"attribute {name} is {values}: attributes of a Zarr array keep integers of 64 bits; write "
                            "a text, or a float")


class Attributes(MutableMapping[str, Any]):
    """The attributes of a file, `File.attrs`: a dictionary whose changes are collective.

    They are stored beside the file as ``field.npy.attrs.json``, or in a Zarr array's ``zarr.json``; every change
    replaces that as a whole, or leaves it unchanged. Reading is from memory, and not collective. Values are those of
    JSON; NumPy's numbers and arrays become Python's numbers and lists.
    """

    def __init__(self, inner: Any, path: str, text: str, check: Callable[[Any], None] = lambda values: None):
        self._inner, self._path, self._check = inner, path, check
        self._values: dict[str, Any] = {}
        if not text:
            return
        try:
            self._values = json.loads(text)
        except (ValueError, RecursionError) as error:  # every rank has the same text
            raise FormatError(f"'{path}.attrs.json' is not valid JSON: {error}") from None
        if not isinstance(self._values, dict):
            raise FormatError(f"'{path}.attrs.json' must hold a JSON object, not {type(self._values).__name__}")

    def _change(self, changed: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        """Collective. Where it raises, the attributes are as they were, on every rank."""
        text, problem = "", None
        try:
            values = changed(dict(self._values))
            self._check(values)
            text = json.dumps(values, indent=1, ensure_ascii=False, allow_nan=False)
            text.encode()
        except Exception as error:  # all ranks must raise it
            text, problem = "", f"'{self._path}', attrs: {tellable(error)}"
        self._inner.set_attributes(text, problem)
        self._values = json.loads(text)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict(self._values))

    def __len__(self) -> int:
        return len(self._values)

    def __setitem__(self, name: str, value: Any) -> None:
        self.update({name: value})

    def __delitem__(self, name: str) -> None:
        there = name in self._values
        self._change(lambda values: {key: value for key, value in values.items() if key != name})
        if not there:  # on every rank: they have compared what is left
            raise KeyError(name)

    def pop(self, name: str, *default: Any) -> Any:
        """Removes one, and returns it. Collective."""
        value = self._values.get(name)
        try:
            del self[name]
        except KeyError:
            if not default:
                raise
            return default[0]
        return value

    def update(self, *others: Any, **more: Any) -> None:
        """As of dictionaries, in one change. Collective."""
        def changed(values: dict[str, Any]) -> dict[str, Any]:
            new = dict(*others, **more)
            for name, value in new.items():
                if not isinstance(name, str):
                    raise ArgumentError(f"the name of an attribute is text, not {name!r}")
                values[name] = plain(value, repr(name))
            return values

        self._change(changed)

    def clear(self) -> None:
        """Removes all. Collective."""
        self._change(lambda values: {})

    def __repr__(self) -> str:
        return f"<penstock.Attributes {self._values!r}>"
