"""The attributes of a dataset, kept by its own format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np

from .._core import ArgumentError
from .._first_rank import as_problem, ask_first_rank_of
from .hdf5 import STRUCTURE
from .refusals import told_in_words
from .wanted import digest

if TYPE_CHECKING:
    from .placing import Placer, WrittenFile


def _value_in_words(value: Any) -> str:
    """What ranks compare, and read where they differ."""
    array = np.asarray(value)
    text = repr(value)
    return f"{text[:60] + '...' if len(text) > 60 else text} ({digest(array)})"


def checked(name: Any, value: Any = 0) -> Any:
    """The value as the format takes it. Raises ArgumentError for what no attribute can be."""
    if not isinstance(name, str) or not name or "\0" in name:
        raise ArgumentError(f"the name of an attribute must be text, not {name!r}")
    if name in STRUCTURE:
        raise ArgumentError(f"attribute {name!r} is reserved by the format; choose another name")
    if isinstance(value, (str, bytes)):
        if "\0" in str(value) or b"\0" in np.asarray(value).tobytes() and isinstance(value, bytes):
            raise ArgumentError(f"attribute {name!r}: text must not contain a zero byte")
        return value
    array = np.asarray(value)
    if array.dtype.kind == "U":
        return np.array(array.tolist(), dtype=object)
    if array.dtype.kind not in "biufcS":
        raise ArgumentError(f"attribute {name!r}: {value!r} ({array.dtype}) is not text, a number, or an array "
                            "of these")
    if array.nbytes > 60000:
        raise ArgumentError(f"attribute {name!r} has {array.nbytes} bytes, and at most 60000 fit; write it as a "
                            "dataset")
    return array[()]


class Attributes(MutableMapping[str, Any]):
    """A mapping of names to texts, numbers and arrays.

    Reading is not collective: every rank has what was in the file when it was opened, and what was set since then
    through this file. To set or to delete is collective: all ranks do the same, and rank 0 changes the file.
    """

    def __init__(self, inner: Any, path: str, values: dict[str, Any], keeper: Any,
                 before: Optional[Callable[[], None]] = None):
        """`before`: collective, before a change."""
        self._inner, self._path, self._values, self._keeper, self._before = inner, path, values, keeper, before

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __setitem__(self, name: str, value: Any) -> None:
        """Collective."""
        problem, common = None, {"attribute": repr(name)}
        try:
            value = checked(name, value)
            common["value of the attribute"] = _value_in_words(value)
        except Exception as error:  # all ranks must raise it
            problem = as_problem(error)
        self._change(common, lambda: self._keeper.set(name, value), problem)
        self._values[name] = value

    def __delitem__(self, name: str) -> None:
        """Collective."""
        problem = None
        try:
            checked(name)
            if name not in self._values:
                raise ArgumentError(f"there is no attribute {name!r}; there are {', '.join(self._values) or 'none'}")
        except Exception as error:  # all ranks must raise it
            problem = as_problem(error)
        self._change({"attribute to delete": repr(name)}, lambda: self._keeper.delete(name), problem)
        del self._values[name]

    def _change(self, common: dict[str, str], change: Callable[[], None], problem: Any) -> None:
        def work() -> None:
            with told_in_words(self._path, "change an attribute of"):
                change()

        if self._before is not None:
            self._before()
        ask_first_rank_of(self._inner, common, work, True, problem)

    def __repr__(self) -> str:
        return f"<attributes of {self._path!r}: {self._values!r}>"


class Keeper:
    """Where the attributes of one dataset, or of the file ("/"), are kept. `placer`: which has the file open meanwhile.
    """

    def __init__(self, kind: Any, path: str, dataset: str,
                 placer: Optional[Union[Placer, WrittenFile]] = None):
        self._kind, self._path, self._dataset, self._placer = kind, path, dataset, placer

    def set(self, name: str, value: Any) -> None:
        with self._file_left():
            self._kind.set_attribute(self._path, self._dataset, name, value)

    def delete(self, name: str) -> None:
        with self._file_left():
            self._kind.delete_attribute(self._path, self._dataset, name)

    @contextmanager
    def _file_left(self) -> Iterator[None]:
        if self._placer is None:
            yield
            return
        self._placer.leave()
        try:
            yield
        finally:
            self._placer.lock()
