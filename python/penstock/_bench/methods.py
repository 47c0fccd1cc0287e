"""What is measured: the rod, the engine, and the MPI library's own MPI-IO. They run in C++ (`_core._Race`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Optional

import numpy as np
from mpi4py import MPI

from .._core import Statistics, _Race, _Settings
from .patterns import UNTOUCHED, Part

PAGE = 4096
PHASES = tuple(f.name.removeprefix("time_") for f in Statistics.fields() if f.unit == "seconds")
COLUMNS = 6 + len(PHASES)  #: of what a turn tells: begin and end of open, of the call, of close; phases


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


class Rod:
    """Every rank one contiguous slab: as many bytes as the pattern wants, nothing agreed or exchanged."""

    name, kind, writes_only = "rod", "rod", False

    def __init__(self, race: _Race, memory: Memory, comm: MPI.Intracomm, direct: bool):
        total = comm.allreduce(memory.part.nbytes)
        pages = total // PAGE if direct else -(-total // PAGE)  # O_DIRECT moves whole pages only
        begin, end = (min(pages * r // comm.size * PAGE, total) for r in (comm.rank, comm.rank + 1))
        room = np.empty(end - begin + PAGE, np.uint8)
        skip = -room.ctypes.data % PAGE  # O_DIRECT wants memory at the start of a page
        self._offset, self._memory = begin, room[skip : skip + end - begin]
        self._memory[...] = np.arange(begin, end) % 251 + 1  # a slab in a wrong place is seen
        race.rod(self._memory, begin, direct)

    def forget(self) -> None:
        self._memory[...] = UNTOUCHED

    def is_right(self, path: str) -> bool:
        """Whether its slab in the file is as in memory."""
        there = np.fromfile(path, np.uint8, self._memory.size, offset=self._offset)
        return np.array_equal(there, self._memory)


class Engine:
    """Penstock with given hints."""

    kind = "Penstock"

    def __init__(self, race: _Race, name: str, memory: Memory, hints: Mapping[str, str], writes_only: bool):
        self.name, self.hints, self.writes_only, part = name, dict(hints), writes_only, memory.part
        race.engine(part.shape, part.dtype.itemsize, _Settings(self.hints), part.section,
                    memory.elements(memory.source), memory.elements(memory.target))


class MpiIo:
    """MPI_File_write_at_all and read_at_all through a view, with the library's default hints."""

    kind, writes_only = "MPI-IO", False

    def __init__(self, race: _Race, name: str, memory: Memory):
        self.name = name
        part = memory.part
        race.mpi_io(part.shape, part.dtype.itemsize, part.section, part.outer_shape, [s.start for s in part.interior],
                    memory.source, memory.target)
