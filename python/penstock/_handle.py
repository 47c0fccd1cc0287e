"""Handles: reads, writes and closes that have begun."""

from __future__ import annotations

import atexit
from collections.abc import Callable
from typing import Any, Optional

#: Handles whose memory may still be in use, or that still have data to write, although the program
#: may have let go of them.
_kept: set[Handle] = set()


class Handle:
    """What `File.write_begin`, `File.read_begin` and `File.close` with ``wait=False`` return.

    Nothing of it needs the program to call MPI between begin and wait.
    """

    def __init__(self, inner: Any, result: Optional[Callable[[], Any]] = None):
        self._inner, self._to_result = inner, result
        self._result: Any = None
        self._waited = False
        _prune()
        if not self._is_over():
            _kept.add(self)

    def _is_over(self) -> bool:
        return self._inner.test() and self._inner.copied(False)

    def copied(self, wait: bool = True) -> bool:
        """Whether the array passed may be changed again; of a read: whether it is filled. Not collective.

        A write by the collective methods has copied when `File.write_begin` returns. One by "direct" or
        "sieved" is done by the I/O thread straight from the array, without a copy.

        Args:
            wait: Whether to wait for that; a read is waited for by `wait` alone.
        """
        return self._inner.copied(wait)

    def test(self) -> bool:
        """Whether this rank's part is committed: in the file, or (of a read) out of it.

        Goes on with everything that is in flight in the file, not with this operation alone: the call may exchange
        with other ranks, and read or write the file, but waits for no other rank. Not collective; errors are for
        `wait`.
        """
        return self._inner.test()

    def wait(self) -> Any:
        """Returns when the bytes of all ranks are in the file; of a read: in memory. Collective.

        Every rank calls, for several handles in any order. Again: nothing more happens.

        Returns:
            Of a read the array (or list) that was read, else None.

        Raises:
            Error: What went wrong, the same class on every rank.
        """
        try:
            if not self._waited:
                self._inner.wait()
                if self._to_result is not None:
                    self._result = self._to_result()
        finally:
            self._waited = True
            _kept.discard(self)
        return self._result


def _prune() -> None:
    for handle in [h for h in _kept if h._is_over()]:
        _kept.discard(handle)


atexit.register(_kept.clear)
