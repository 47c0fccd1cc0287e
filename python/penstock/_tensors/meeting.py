"""How the ranks of a call exchange descriptions of what each has. Every function is collective."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Optional, TypeVar

from .._core import _on_first_rank
from .._first_rank import as_problem
from .._values import tellable

T = TypeVar("T")


class Meeting:
    """The ranks of one call on a file or a folder of files. `comm`: None for this process alone."""

    def __init__(self, comm: Any, address: int, path: bytes):
        self._comm, self._address, self._path = comm, address, path
        self.rank: int = 0 if comm is None else comm.Get_rank()
        self.size: int = 1 if comm is None else comm.Get_size()

    @property
    def alone(self) -> Any:
        """The communicator of this rank alone."""
        if self._comm is None:
            return None
        from mpi4py import MPI

        return MPI.COMM_SELF

    def agree(self, common: Mapping[str, Any], problem: Optional[Exception] = None) -> None:
        """All ranks are in the same call with the same values, and nothing is wrong; else all raise the same."""
        self._first(common, lambda: None, problem)

    def first(self, work: Callable[[], T]) -> T:
        """What `work` returns on rank 0, the only one that calls it, or raises. For small things."""
        return self._first({}, work, None)

    def check(self, work: Callable[[], T]) -> T:
        """What this rank's `work` returns; what it raises on any rank, all raise."""
        result, problem = None, None
        try:
            result = work()
        except Exception as error:  # all ranks must raise it
            problem = as_problem(error)
        self._first({}, lambda: None, problem)
        return result  # type: ignore[return-value]

    def _first(self, common: Mapping[str, Any], work: Callable[[], T], problem: Optional[Exception]) -> T:
        texts = [(name, tellable(value)) for name, value in common.items()]
        told = _on_first_rank(self._address, self._path, texts, lambda: pickle.dumps(work()), False, problem)
        return pickle.loads(told)

    def gather(self, mine: T) -> list[T]:
        """Of all ranks, on rank 0; nothing on the others."""
        return [mine] if self._comm is None else self._comm.gather(mine) or []

    def scatter(self, shares: Sequence[T]) -> T:
        """This rank's of what rank 0 has, one for each."""
        return shares[0] if self._comm is None else self._comm.scatter(shares if self.rank == 0 else None)

    def broadcast(self, value: T) -> T:
        """What rank 0 has."""
        return value if self._comm is None else self._comm.bcast(value)

    def everywhere(self, mine: T) -> list[T]:
        """Of all ranks, on every one."""
        return [mine] if self._comm is None else self._comm.allgather(mine)

    def alike(self, value: Any) -> bool:
        """Whether all ranks have the same."""
        return self._comm is None or len(set(self._comm.allgather(value))) == 1

    def any(self, here: bool) -> bool:
        """Whether it is true of some rank."""
        return here if self._comm is None else any(self._comm.allgather(here))
