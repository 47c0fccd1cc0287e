"""What is measured: the rod, the engine, and the MPI library's own MPI-IO. One object per rank."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Optional

import numpy as np
from mpi4py import MPI

import penstock as ps

from .patterns import UNTOUCHED, Part

PAGE = 4096


class Rod:
    """The measuring rod: every rank one contiguous slab, on a plain descriptor of its own.

    It moves as many bytes as the pattern wants, and nothing has to be agreed or exchanged for it.
    """

    name = "rod"

    def __init__(self, path: str, part: Part, comm: MPI.Intracomm, direct: bool):
        total = comm.allreduce(part.nbytes)
        pages = total // PAGE if direct else -(-total // PAGE)  # O_DIRECT moves whole pages only
        begin, end = (min(pages * r // comm.size * PAGE, total) for r in (comm.rank, comm.rank + 1))
        self._offset, self._fd = begin, os.open(path, os.O_RDWR | (os.O_DIRECT if direct else 0))
        room = np.empty(end - begin + PAGE, np.uint8)
        skip = -room.ctypes.data % PAGE  # O_DIRECT wants memory at the start of a page
        self._memory = room[skip : skip + end - begin]
        self._memory[...] = comm.rank

    def write(self) -> None:
        at, rest = self._offset, memoryview(self._memory)
        while rest:  # Linux moves at most 2 GiB a call
            done = os.pwrite(self._fd, rest, at)
            at, rest = at + done, rest[done:]

    def read(self) -> None:
        at, rest = self._offset, memoryview(self._memory)
        while rest:
            done = os.preadv(self._fd, [rest], at)
            if done == 0:
                raise OSError(f"the file ended at byte {at}")
            at, rest = at + done, rest[done:]

    def close(self) -> None:
        os.close(self._fd)


class Memory:
    """A rank's arrays, the same for all methods: what is written, and what reads fill."""

    def __init__(self, part: Part):
        self.part, self.source, self.target = part, part.memory(filled=True), part.memory(filled=False)

    def forget(self) -> None:
        self.target.view(np.uint8)[...] = UNTOUCHED

    def is_right(self) -> bool:
        """Whether a read filled in the section's elements, and left all else untouched."""
        return np.array_equal(self.target.view(np.uint8), self.source.view(np.uint8))

    def elements(self, outer: np.ndarray) -> Optional[np.ndarray]:
        return outer[self.part.interior] if self.part.section is not None else None


class Engine:
    """Penstock with given hints."""

    def __init__(self, name: str, path: str, memory: Memory, comm: MPI.Intracomm, hints: Mapping[str, str]):
        settings, part = dict(hints), memory.part
        self.name, self._section, self._method = name, part.section, settings.pop("method", "auto")
        self._source, self._target = memory.elements(memory.source), memory.elements(memory.target)
        self._file = ps.open(path, "r+", shape=part.shape, dtype=part.dtype, comm=comm, hints=settings,
                             container="raw")

    def write(self) -> None:
        self._file.write(self._source, self._section, method=self._method)

    def read(self) -> None:
        self._file.read(self._section, out=self._target, method=self._method)

    def last_call(self) -> Any:
        return self._file.last_call

    @property
    def carried_out_by(self) -> str:
        return self._file.last_method

    def close(self) -> None:
        self._file.close()


class MpiIo:
    """MPI_File_write_at_all and read_at_all through a view, with the library's default hints.

    The view is set before anything is timed, like a program does that writes step after step.
    """

    def __init__(self, name: str, path: str, memory: Memory, comm: MPI.Intracomm):
        self.name = name
        element, filetype, displacement = memory.part.file_type()
        memory_type, count = memory.part.memory_type()
        self._write_spec = [memory.source, count, memory_type]
        self._read_spec = [memory.target, count, memory_type]
        self._file = MPI.File.Open(comm, path, MPI.MODE_RDWR)
        self._file.Set_view(displacement, element, filetype)

    def write(self) -> None:
        self._file.Write_at_all(0, self._write_spec)

    def read(self) -> None:
        self._file.Read_at_all(0, self._read_spec)

    def close(self) -> None:
        self._file.Close()
