"""Work of rank 0 for all ranks, with a serial library."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from typing import Any, Optional

from . import _core
from ._core import ArgumentError, Error
from ._values import tellable


def as_problem(error: Exception) -> Exception:
    """What was found wrong with arguments, as an error that all ranks raise."""
    return error if isinstance(error, Error) else ArgumentError(tellable(error))


def _texts(common: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(name, tellable(value)) for name, value in common.items()]


def ask_first_rank(comm: int, path: bytes, common: Mapping[str, Any], work: Callable[[], Any],
                   writes: bool = False, problem: Optional[Exception] = None) -> Any:
    """Collective, before a file is opened. What `work` returned on rank 0, on every rank.

    Args:
        comm: The address of the communicator, 0 for this process alone.
        path: The file, for messages.
        common: Arguments that must be the same on all ranks, by name.
        work: Called on rank 0 alone. What it raises is raised on every rank.
        writes: Whether it may change the file.
        problem: What this rank has found wrong with its arguments.
    """
    told = _core._on_first_rank(comm, path, _texts(common), lambda: pickle.dumps(work()), writes, problem)
    return pickle.loads(told)


def ask_first_rank_of(inner: Any, common: Mapping[str, Any], work: Callable[[], Any], writes: bool = False,
                      problem: Optional[Exception] = None) -> Any:
    """The same by the ranks of an open file. `problem`: what this rank has found wrong with its arguments."""
    told = inner.on_first_rank(_texts(common), lambda: pickle.dumps(work()), writes, problem)
    return pickle.loads(told)
