"""A folder of checkpoints, one for each step of a program."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Optional

from .._core import ArgumentError, _remove_unfinished
from .._types import Comm, Path
from .._values import comm_address, path_bytes, whole_number
from . import load, pending
from .index import make_folder
from .load import load_tensors
from .meeting import Meeting
from .pending import SaveHandle, settle
from .save import Given, Wanted, checked_tensors, most_of, save_pieces, save_tensors
from .staging import Copy, Stage, StagedHandle
from .verify import is_whole


def thread_multiple() -> bool:
    """Whether MPI allows calls of several threads at a time."""
    from mpi4py import MPI

    return MPI.Query_thread() == MPI.THREAD_MULTIPLE


_NAME = re.compile(r"step-(\d{9,})(\.safetensors)?")


class Checkpoints:
    """A folder of checkpoints, one for each step, which keeps the last ones. All methods are collective.

    A checkpoint exists completely or not at all. The next save removes what a killed program left of one.

    Args:
        folder: Where they are; the first save creates it.
        comm: An mpi4py communicator. None: this process alone.
        keep: How many are kept, at least 1; older ones are removed when a new one is in place. None: all.
        max_file_size: As in `save_tensors`: given, a checkpoint is a folder ``step-000001200``, else a file
            ``step-000001200.safetensors``.
        checksums: As in `save_tensors`.
        hints: As in `penstock.open`.
        stage: A folder that each node has for itself, as on its own SSD. A save writes there first, each rank a file,
            and brings the checkpoint to ``folder`` afterwards: with ``wait=False`` in the background, where MPI allows
            calls of several threads at a time (MPI_THREAD_MULTIPLE), else in the handle's `SaveHandle.wait` or the next
            call. After a crash in between, the next `latest` finds the copies, and `load` brings them to their place
            first, with any number of ranks, as long as the files of all ranks of the save are there; with the files of
            a node lost, the step does not count. The copy of the last checkpoint stays until the next one is in place.

    Raises:
        ArgumentError: For an invalid ``keep``.
    """

    def __init__(self, folder: Path, *, comm: Comm = None, keep: Optional[int] = None,
                 max_file_size: Optional[Any] = None, checksums: bool = False,
                 hints: Optional[Mapping[str, Any]] = None, stage: Optional[Path] = None):
        if keep is not None and whole_number(keep, "keep") < 1:
            raise ArgumentError(f"keep={keep}: at least 1 checkpoint is kept")
        self.folder, self.keep = os.fsdecode(path_bytes(folder)), keep
        self._comm, self._meeting = comm, Meeting(comm, comm_address(comm), path_bytes(folder))
        self._how: dict[str, Any] = {"comm": comm, "max_file_size": max_file_size, "checksums": checksums,
                                     "hints": hints}
        self._stage = None if stage is None else Stage(os.fsdecode(path_bytes(stage)), self.folder, self._meeting)
        self._behind: Any = None  # the communicator of what brings staged checkpoints to their place

    def path(self, step: int) -> str:
        """Where the checkpoint of a step is, or would be. Not collective."""
        ending = "" if self._how["max_file_size"] is not None else ".safetensors"
        return os.path.join(self.folder, f"step-{whole_number(step, 'step'):09}{ending}")

    def save(self, step: int, tensors: Mapping[str, Given], *, metadata: Optional[Mapping[str, str]] = None,
             wait: bool = True) -> Optional[SaveHandle]:
        """Saves the checkpoint of a step, see `save_tensors`. When it is in place, older ones are removed, see
        ``keep``.

        Args:
            step: 0 or more, the same on all ranks.
            tensors: As in `save_tensors`.
            metadata: As in `save_tensors`; the step is added, as ``step``.
            wait: As in `save_tensors`.

        Returns:
            A handle with ``wait=False``, else None.

        Raises:
            ArgumentError, SectionError, DisagreementError, StorageError: As `save_tensors`.
        """
        settle(self._comm)

        def checked() -> str:
            if whole_number(step, "step") < 0:
                raise ArgumentError(f"step {step} is negative")
            return self.path(step)

        path = self._meeting.check(checked)
        self._meeting.first(lambda: make_folder(self.folder))
        told = {**(metadata or {}), "step": str(step)}
        handle = (save_tensors(path, tensors, metadata=told, wait=False, **self._how) if self._stage is None else
                  self._staged(self._stage, step, path, tensors, told))
        assert handle is not None
        handle.finish_with(lambda: self._meeting.first(self._tidy))
        if wait:
            handle.wait()
            return None
        return handle

    def _staged(self, stage: Stage, step: int, path: str, tensors: Any, metadata: dict[str, str]) -> SaveHandle:
        """Collective. Returns when it is beside the nodes."""
        wanted = checked_tensors(self._meeting, tensors, metadata, self._how["max_file_size"], self._how["checksums"])
        copy = stage.put(step, wanted.pieces, metadata)
        mine = self._meeting.check(lambda: stage.take(copy, [self._meeting.rank]))
        wanted = replace(wanted, pieces=mine.pieces)
        comm = self._comm
        threads = comm is None or thread_multiple()
        if threads and comm is not None:
            comm = self._behind = self._behind or comm.Dup()
        handle = StagedHandle(self._meeting, path, sum(piece.memory.nbytes for piece in mine.pieces),
                              lambda: save_pieces(path, wanted, comm, self._how["hints"] or {}), threads)
        handle.finish_with(lambda: stage.keep_only(copy))
        pending.add(self._comm, handle)
        return handle

    def _bring(self, stage: Stage, copy: Copy, numbers: list[int]) -> None:
        """Collective: what a program before has left beside the nodes."""
        mine = self._meeting.check(lambda: stage.take(copy, numbers))
        told = next((one for one in self._meeting.everywhere(mine.metadata) if one), {})
        wanted = Wanted(mine.pieces, told, most_of(self._how["max_file_size"]), self._how["checksums"])
        self._meeting.first(lambda: make_folder(self.folder))
        save_pieces(self.path(copy.step), wanted, self._comm, self._how["hints"] or {})

    def _copies(self) -> dict[int, tuple[Copy, list[int]]]:
        """Collective: of steps that are beside the nodes as a whole, the copy, and which of its files this rank has."""
        found = self._stage.copies() if self._stage is not None else {}
        return {copy.step: (copy, numbers) for copy, numbers in found.items()}

    def steps(self) -> list[int]:
        """The steps that have a complete checkpoint, in its place or beside the nodes, ascending."""
        there = self._told(lambda: [step for step, name in self._there() if is_whole(name)])
        return sorted({*there, *self._copies()})

    def latest(self) -> Optional[int]:
        """The last step that has a complete checkpoint, in its place or beside the nodes; None: there is none."""
        there = self._told(lambda: next((step for step, name in sorted(self._there(), reverse=True) if is_whole(name)),
                                        None))
        return max([*([] if there is None else [there]), *self._copies()], default=None)

    def load(self, wanted: load.Wanted = None, *, step: Optional[int] = None) -> dict[str, Any]:
        """Loads tensors of a checkpoint, see `load_tensors`.

        Args:
            wanted: As in `load_tensors`.
            step: Default: the latest.

        Raises:
            ArgumentError: If there is no checkpoint, or as `load_tensors`.
            SectionError, FormatError, StorageError: As `load_tensors`.
        """
        settle(self._comm)
        found = self.latest() if step is None else step
        if self._stage is not None and found in (copies := self._copies()) and not self._told(
                lambda: any(at == found and is_whole(name) for at, name in self._there())):
            self._bring(self._stage, *copies[found])

        def checked() -> str:
            if found is None:
                raise ArgumentError(f"there is no checkpoint in '{self.folder}'")
            return next((name for at, name in self._there() if at == found), self.path(found))

        return load_tensors(self._meeting.check(checked), wanted, comm=self._comm, hints=self._how["hints"])

    def _told(self, look: Any) -> Any:
        found: list[Any] = [None]

        def work() -> None:
            found[0] = look()

        self._meeting.first(work)
        return self._meeting.broadcast(found[0])

    def _there(self) -> list[tuple[int, str]]:
        """Steps and paths of all checkpoints, torn ones too. Not collective."""
        try:
            names = os.listdir(self.folder)
        except FileNotFoundError:
            return []
        return [(int(match[1]), os.path.join(self.folder, name)) for name in names
                if (match := _NAME.fullmatch(name))]

    def _tidy(self) -> None:
        """On rank 0, when a checkpoint is in place and no other is being made."""
        _remove_unfinished(os.fsencode(self.folder))
        there = sorted(self._there(), reverse=True)
        whole = [(step, name) for step, name in there if is_whole(name)]
        old = [name for _, name in whole[self.keep :]] if self.keep is not None else []
        for name in old + [name for step, name in there if (step, name) not in whole]:
            if os.path.isdir(name):
                shutil.rmtree(name)
            else:
                os.unlink(name)
