"""Saves that progress while the program computes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Optional

from .._core import Error
from .._file import File
from .._handle import Handle
from .meeting import Meeting


class SaveHandle:
    """What `save_tensors` returns with ``wait=False``.

    The program need not call MPI between save and wait. It need not be kept: the next save or load with the same
    communicator waits for it first.
    """

    path: str  #: as it was given

    def __init__(self, meeting: Meeting, path: str, size: int):
        self._meeting, self.path, self.nbytes = meeting, path, size
        self._files: list[tuple[File, Handle]] = []
        self._at_end: list[Callable[[], None]] = []
        self._over = False

    def add(self, file: File) -> None:
        """Collective: all of it has been passed on, and it closes."""
        self._files.append((file, Handle(file._inner.close_begin())))

    def finish_with(self, work: Callable[[], None]) -> None:
        """What is to be done then, collectively, when all files are in place."""
        self._at_end.append(work)

    def abandon(self) -> None:
        """This rank abandons everything: no file is put in place."""
        self._over = True
        for file, _ in self._files:
            file._inner.abandon()

    def test(self) -> bool:
        """Whether all that this rank writes is in its files. Not collective; errors are for `wait`."""
        return self._over or all([handle.test() for _, handle in self._files])

    @property
    def progress(self) -> float:
        """The fraction, 0 to 1, of this rank's buffered bytes that are in its files. Not collective."""
        if self.test():
            return 1.0
        counts = [file.statistics for file, _ in self._files]
        buffered = sum(count.bytes_buffered for count in counts)
        return min(1.0, sum(count.bytes_written for count in counts) / buffered) if buffered else 1.0

    def wait(self) -> None:
        """Returns when the files are complete, on the device and in place. Collective. A second call does nothing.

        Raises:
            StorageError: If something could not be written; an old checkpoint is then unchanged.
            DisagreementError: If ranks are in different calls.
        """
        if self._over:
            return
        remove(self)
        self._over = True
        failed: Optional[Error] = None
        for _, handle in self._files:  # all of them: every rank comes to the same end of each
            try:
                handle.wait()
            except Error as error:
                failed = failed or error
        if failed is not None:
            raise failed
        for work in self._at_end:
            work()


_pending: list[tuple[Any, SaveHandle]] = []
_lock = threading.Lock()  # a thread may bring staged checkpoints to their place meanwhile


def add(comm: Any, handle: SaveHandle) -> None:
    with _lock:
        _pending.append((comm, handle))


def remove(handle: SaveHandle) -> None:
    with _lock:
        _pending[:] = [(comm, other) for comm, other in _pending if other is not handle]


def settle(comm: Any) -> None:
    """Collective: the saves that have begun with this communicator are over. Raises what went wrong with one."""
    while True:
        mine = [handle for other, handle in _pending if other == comm]
        if not mine:
            return
        mine[0].wait()
