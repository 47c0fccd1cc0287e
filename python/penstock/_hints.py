"""Hints: which there are, and a caller's settings as text that the library takes."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from . import _core
from ._core import ArgumentError, Hint

_warned: set[str] = set()


def hints() -> list[Hint]:
    """All settings of files and calls, described: what `open` takes as `hints`, and calls by name.

    >>> [h.name for h in ps.hints() if h.scope == "file"]
    ['ranks_per_node', 'storage', 'io_depth', 'device']
    """
    return _core._hints()


@cache
def by_name() -> Mapping[str, Hint]:
    return {hint.name: hint for hint in hints()}


def choices(name: str) -> tuple[str, ...]:
    """The values of a hint that is one of several names, without "auto"."""
    return tuple(choice for choice in by_name()[name].choices if choice != "auto")


def what_is_known(name: str) -> str:
    """The end of a message about a name that is none: those that there are, and the one that may be meant."""
    names = list(by_name())
    near = difflib.get_close_matches(name, names, 1)
    return f"known are {', '.join(names)}" + (f"; did you mean {near[0]}?" if near else "")


def plain_text(value: Any, name: str) -> str:
    text = str(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ArgumentError(f"{name} {text!r} is no text that can be told") from None
    return text


def hint_text(given: Mapping[str, Any]) -> dict[str, str]:
    """Without those that are None."""
    text = {}
    for name, value in given.items():
        if value is None:
            continue
        if isinstance(value, (bool, np.integer)):
            value = int(value)
        text[plain_text(name, "hint")] = plain_text(value, f"hint {name}")
    return text


def check_hints(given: Mapping[str, str], what: str) -> None:
    """Raises ArgumentError for a name that is no hint, which is no `what`, and for values that no file takes."""
    for name in _core._unknown_hints(dict(given)):
        raise ArgumentError(f"{name!r} is not {what}; {what_is_known(name)}")


def warn_of_unknown(given: Mapping[str, str]) -> None:
    """Once for each name, at the line outside the package. Values are the matter of the one who uses them."""
    for name in given:
        if name in _warned or name in by_name():
            continue
        _warned.add(name)
        warnings.warn(f"hint {name!r} is not known and has no effect; {what_is_known(name)}", stacklevel=4)
