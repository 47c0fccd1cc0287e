"""Hints: which there are; and texts of a caller as the library takes them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from . import _core
from ._core import ArgumentError, Hint


def hints() -> list[Hint]:
    """Descriptions of all hints: those that `open` takes as `hints`, and calls by name.

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


def plain_text(value: Any, name: str) -> str:
    text = str(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ArgumentError(f"{name} {text!r} is not valid text") from None
    return text
