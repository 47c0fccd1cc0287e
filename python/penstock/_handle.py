"""Handles: reads, writes and closes that have begun."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable
from typing import Any, Optional

#: Of files that are closing, until this rank's data is written: the program may let go of the handle at once. Each
#: statement on it is one step to other threads, which the interpreter's lock sees to.
_closing: set[Handle] = set()


class Handle:
    """What `File.write_begin`, `File.read_begin` and `File.close` with ``wait=False`` return.

    The program need not call MPI between begin and wait.
    """

    def __init__(self, inner: Any, result: Optional[Callable[[], Any]] = None):
        self._inner, self._to_result = inner, result
        self._result: Any = None
        self._waited = False
        self._waiting = threading.Lock()

    def copied(self, wait: bool = True) -> bool:
        """Whether the array passed may be changed again; for a read, whether it is filled. Not collective.

        A write by the collective methods has copied when `File.write_begin` returns. One by "direct" or
        "sieved" is done by the I/O thread straight from the array, without a copy.

        Args:
            wait: Whether to wait for that; for a read use `wait`.
        """
        return self._inner.copied(wait)

    def test(self) -> bool:
        """Whether this rank's part is complete: written to the file, or read.

        Resumes everything in flight in the file, not only this operation: the call may exchange with other ranks, and
        read or write the file, but waits for no other rank. Not collective; errors are raised by `wait`.
        """
        return self._inner.test()

    def wait(self) -> Any:
        """Returns when the bytes of all ranks are in the file; for a read, in memory. Collective.

        Every rank calls it, for several handles in any order. A second call does nothing.

        Returns:
            For a read the array (or list) that was read, else None.

        Raises:
            Error: What went wrong, the same class on every rank.
        """
        with self._waiting:
            try:
                if not self._waited:
                    self._inner.wait()
                    if self._to_result is not None:
                        self._result = self._to_result()
            finally:
                self._waited = True
                _closing.discard(self)
        return self._result


def closing(inner: Any, result: Optional[Callable[[], Any]] = None) -> Handle:
    """The handle of a close that has begun."""
    handle = Handle(inner, result)
    _closing.add(handle)
    for one in list(_closing):
        if one.test():
            _closing.discard(one)
    return handle


atexit.register(_closing.clear)
os.register_at_fork(after_in_child=_closing.clear)  # a child's copies: the files are its parent's
