"""Arrays on disk that are larger than memory, worked on tile by tile."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Optional, TypeVar, Union

import numpy as np

from . import _core
from ._core import ArgumentError, Section, StateError, _TileBudget, _Tiling
from ._distribution import Distribution, distribute
from ._first_rank import as_problem, ask_first_rank_of
from ._open import extents_of, name_of, open, settled_mode
from ._tile_loop import Steps, TileLoop
from ._tile_memory import Wanted, text_of
from ._tiles import Buffers, Tile
from ._types import Comm, Path
from ._values import comm_address

#: Those that are open in this process: they share its active buffer.
_arrays: weakref.WeakSet[OutOfCoreArray] = weakref.WeakSet()

Share = Union[Distribution, Section, str, Sequence[str], None]
Array = TypeVar("Array", bound="OutOfCoreArray")


class OutOfCoreArray:
    """An array in a file that is larger than memory: a loop over its tiles reads and writes it.

    While the program computes on a tile, the next one is read and the one before is written.

    >>> with ps.OutOfCoreArray("u.npy", "r+", memory="64M", comm=comm) as a:
    ...     for tile in a.tiles():
    ...         tile.values[...] *= 2

    A context manager that closes it. After an exception in the ``with`` block, the tiles that a loop had completed are
    in the file.

    Args:
        path: As in `open`, like the arguments not described here.
        mode: As in `open`.
        shape: As in `open`.
        dtype: As in `open`.
        order: As in `open`.
        distribution: What the tiles of this rank cover: a `Distribution`, its kinds as `distribute` takes them, or a
            `Section`. None: ranks get tiles in turn, so that they go through the file together from beginning to end.
        memory: Memory of each process for this array, in bytes or as "64M": for tiles, pending I/O, and the staging of
            aggregators. The same on all ranks.
        comm: As in `open`.
        hints: As in `open`. ``buffer_size`` and ``active_buffer_size`` follow from ``memory``, unless given.
        background: What is done while the program computes, as in `File.write_begin`; "none" reads and writes each tile
            at once.
        how: Other arguments of `open`: ``offset``, ``container``, ``dataset``...

    Raises:
        ArgumentError: If ``memory`` is too little, or more than the machine has for all its ranks; or as `open`.
        StorageError: If the disk has no room for a new array; or as `open`.
        SectionError, FormatError, DisagreementError: As `open`.

    Collective over ``comm``. After an error no file is changed.
    """

    def __init__(self, path: Path, mode: str = "r", shape: Any = None, dtype: Any = None,
                 order: Optional[str] = None, *, distribution: Share = None, memory: Union[int, str] = "64M",
                 comm: Comm = None, hints: Optional[Mapping[str, Any]] = None, background: str = "storage",
                 **how: Any):
        address, name, mode = comm_address(comm), name_of(path), settled_mode(path, comm, mode)
        self._comm: Any = comm
        wanted = Wanted(path, mode, shape, dtype, memory, hints or {})
        ranks = self._ranks_here()
        budget, problem = _tried(lambda: wanted.budget(ranks))
        if problem is None and mode in ("w", "x") and shape is not None:
            _, problem = _tried(lambda: self._share_of(distribution, tuple(extents_of(shape) or ())))
        common = [("memory", str(memory)), ("background", str(background))]
        _core._on_first_rank(address, name, common, lambda: b"", mode != "r", problem)
        assert budget is not None
        self._budget: _TileBudget = budget
        settings = {"buffer_size": budget.buffer_size, "active_buffer_size": budget.active_buffer, **(hints or {})}
        #: The open file, for its statistics, hints and attributes.
        self.file = open(path, mode, shape, dtype, order, comm=comm, hints=settings, **how)
        self.shape: tuple[int, ...] = self.file.shape  #: extents of the array, in elements
        self.dtype: np.dtype[Any] = self.file.dtype  #: type of its elements
        self.memory: int = budget.memory  #: bytes that this array may take of each process
        share, problem = _tried(lambda: self._share_of(distribution, self.shape))
        try:
            ask_first_rank_of(self.file._inner, {"whether there is a distribution": share is None}, lambda: None,
                              problem=problem)
        except Exception:
            self.file.close()
            raise
        self._share: Optional[Section] = share
        self._background = background
        self._active_given = "active_buffer_size" in (hints or {})
        self._busy = False
        self._kept: Optional[tuple[Any, Buffers]] = None
        self._behind: Optional[Buffers] = None
        self._behind_step = 0
        self._buffers: list[Buffers] = []  #: of the last loop: they may have writes on their way
        _arrays.add(self)

    def _ranks_here(self) -> int:
        if self._comm is None:
            return 1
        from mpi4py import MPI

        node = self._comm.Split_type(MPI.COMM_TYPE_SHARED)
        size = int(node.Get_size())
        node.Free()
        return size

    def _share_of(self, distribution: Share, shape: tuple[int, ...]) -> Optional[Section]:
        if isinstance(distribution, (str, tuple, list)):
            distribution = distribute(shape, self._comm, distribution)
        if isinstance(distribution, Distribution):
            if distribution.shape != shape:
                raise ArgumentError(f"distribution: it is one of {distribution.shape}, the array has shape {shape}")
            return distribution.section
        if distribution is not None and not isinstance(distribution, Section):
            raise ArgumentError("distribution must be a Distribution, kinds of one, a Section or None, not "
                                f"{type(distribution).__name__}")
        if distribution is not None:
            distribution.check(list(shape))
        return distribution

    def tiles(self, mode: Optional[str] = None, *, halo: Union[int, Sequence[int]] = 0, axis: Optional[int] = None,
              tile_shape: Optional[Sequence[int]] = None, into: Optional[OutOfCoreArray] = None, reuse: bool = False,
              even: bool = False) -> Iterator[Tile]:
        """A loop over this rank's tiles. Collective: all ranks continue it to the same step.

        A rank with fewer tiles takes part in the others' reads and writes after its own; so a body that sends messages
        needs ``even``. To leave a loop early, all ranks must do so in the same step; the tile there is not written.

        Args:
            mode: "r": tiles are read. "r+": they are read, and written in the next step. "w": they are written; their
                initial content is undefined. Default: the mode of the file.
            halo: Cells around each tile that are also read, one number or one per dimension. With "r".
            axis: Dimension in which tiles follow each other. Default: the slowest of the file, whose slabs are
                contiguous there.
            tile_shape: Of each tile; those at the end are smaller. Default: as large as the memory allows.
            into: Another array of this shape, in which the body writes `Tile.out` of each tile: for stencils, which
                must not overwrite what the next tile needs. With "r". Its memory counts on its own.
            reuse: Keep the tiles in memory for the next loop with the same tiles, which then reads nothing; they are
                still written. Raises ArgumentError on all ranks if they do not fit.
            even: Every rank gets the same number of tiles, the last of which may be empty. Along ``axis`` the tiles of
                all ranks have the same extent.

        Yields:
            A `Tile`, whose arrays are valid until the next step.

        Raises:
            ArgumentError: If the tiles do not fit into memory; says how much they need.
            StateError: If a loop over this array is in progress.
            Error: For an error with a tile, the same class on every rank.
        """
        halos = (halo,) if isinstance(halo, int) else tuple(int(n) for n in halo)
        loop = TileLoop(self.file.mode if mode is None else mode, -1 if axis is None else int(axis), halos,
                     tuple(int(n) for n in tile_shape or ()), even, reuse, into)
        return self._run(loop)

    def _check_loop(self, loop: TileLoop) -> _Tiling:
        if self._busy or loop.into is not None and loop.into._busy:
            raise StateError(f"'{self.file.path}': a loop over its tiles is under way; end it first")
        if loop.mode != "r" and (any(loop.halo) or loop.into is not None):
            raise ArgumentError(f"tiles: halo and into are for loops that read (mode 'r', not {loop.mode!r}): a tile "
                                "would read what the one before has changed, or has not yet. Give mode='r', "
                                "into=another array")
        if loop.reuse and loop.mode == "w":
            raise ArgumentError("tiles: reuse is for loops that read, and mode is 'w'")
        if loop.into is not None and (loop.into.shape, loop.into.file.order) != (self.shape, self.file.order):
            raise ArgumentError(f"tiles: into has shape {loop.into.shape}, order {loop.into.file.order}; it must be as "
                                f"this array: {self.shape}, order {self.file.order}")
        try:
            return self._cut(loop, self._room(loop))
        except ArgumentError as error:
            least = self._cut(replace(loop, tile_shape=loop.tile_shape or (1,) * len(self.shape)), 1 << 62).bytes
            if least <= self._room(loop):
                raise
            needed = _TileBudget.needed(loop.mode, least, self._budget.buffer_size)
            raise ArgumentError(f"{error}; memory={self.memory} is too little, this loop needs at least {needed} "
                                f"({text_of(needed)})") from None

    def _room(self, loop: TileLoop) -> int:
        """Bytes of a tile with its halo."""
        room = self._budget.tile_bytes(loop.mode)
        if loop.into is None:
            return room
        return min(room, loop.into._budget.tile_bytes("w") // loop.into.dtype.itemsize * self.dtype.itemsize)

    def _cut(self, loop: TileLoop, room: int) -> _Tiling:
        ranks = 1 if self._comm is None or self._share is not None else self._comm.Get_size()
        section = self._share if self._share is not None else Section._of([(0, n, 1, 1) for n in self.shape])
        return _core._tiling(section, self.shape, self.file.order, (self.dtype.itemsize, room),
                             (loop.axis, loop.halo, loop.tile_shape, ranks))

    def _alike(self, tiling: _Tiling, loop: TileLoop) -> _Tiling:
        """Tiles as thin as those of the rank with the thinnest."""
        shape = list(tiling.tile_shape)
        thinnest = -self.agreed(-shape[tiling.axis] if tiling.count else -(1 << 62))
        if tiling.count == 0 or thinnest == shape[tiling.axis]:
            return tiling
        shape[tiling.axis] = thinnest
        return self._cut(replace(loop, tile_shape=tuple(shape)), self._room(loop))

    def _run(self, loop: TileLoop) -> Iterator[Tile]:
        tiling, problem = _tried(lambda: self._check_loop(loop))
        told = {"mode": loop.mode, "even": loop.even, "reuse": loop.reuse, "into": loop.into is not None}
        ask_first_rank_of(self.file._inner, {f"tiles: {k}": v for k, v in told.items()}, lambda: None, problem=problem)
        assert tiling is not None
        if loop.even and self._share is not None:
            tiling = self._alike(tiling, loop)
        in_turn = self._share is None and self._comm is not None
        first, step = (self._comm.Get_rank(), self._comm.Get_size()) if in_turn else (0, 1)
        plan = Steps(self, loop, tiling, range(first, tiling.count, step))
        self._set_busy(loop, True)
        try:
            yield from plan.run()
        finally:
            self._set_busy(loop, False)

    def _set_busy(self, loop: TileLoop, busy: bool) -> None:
        self._busy = busy
        if loop.into is not None:
            loop.into._busy = busy

    def write_behind(self, local: Any, section: Optional[Section]) -> None:
        """Writes elements of any section in the background. Collective; ``local`` may be changed on return.

        Two such writes may be in progress; a third waits for the first.

        Args:
            local: An array of the section's shape; None for None.
            section: A `Section`, or None: this rank has no data.

        Raises:
            ArgumentError: For more elements than a tile of a loop that writes may have; or as `File.write`.
            Error: As `File.write`.
        """
        def check() -> None:
            if section is not None and section.size * self.dtype.itemsize > self._budget.tile_bytes("w"):
                needed = _TileBudget.needed("w", section.size * self.dtype.itemsize, self._budget.buffer_size)
                raise ArgumentError(f"write_behind: {section!r} has {text_of(section.size * self.dtype.itemsize)}, and "
                                    f"memory={self.memory} leaves {text_of(self._budget.tile_bytes('w'))} for it; give "
                                    f"smaller sections, or {text_of(needed)}")
            if section is not None and np.shape(local) != tuple(section.shape):
                raise ArgumentError(f"write_behind: local has shape {np.shape(local)}, the section "
                                    f"{tuple(section.shape)}")

        _, problem = _tried(check)
        ask_first_rank_of(self.file._inner, {}, lambda: None, problem=problem)
        if self._behind is None:
            self._behind = self.buffers("w", self._budget.tile_bytes("w") // self.dtype.itemsize)
        self._kept = None
        step, self._behind_step = self._behind_step, self._behind_step + 1
        self._behind.make_room(step)
        if section is not None:
            self._behind.array(step, section)[...] = local
        self._behind.begin_write(step, section)

    def buffers(self, mode: str, elements: int, count: int = 0) -> Buffers:
        made = Buffers(self.file, count or _TileBudget.buffers(mode), elements)
        made.settings["background"] = self._background
        if not self._active_given:
            made.settings["active_buffer_size"] = self.agreed(_in_flight())
        return made

    def agreed(self, value: int) -> int:
        """The largest of all ranks."""
        if self._comm is None:
            return value
        from mpi4py import MPI

        return int(self._comm.allreduce(value, MPI.MAX))

    def flush(self) -> None:
        """Returns when all that was written is in the file. Collective.

        Raises:
            StorageError: If something could not be written.
        """
        for buffers in (*self._buffers, self._behind):
            if buffers is not None:
                buffers.finish()

    def close(self) -> None:
        """Returns when all that was written is in the file, and closes it. Collective. A second call does nothing.

        Raises:
            StorageError: If something could not be written; the file is closed nevertheless.
            StateError: If a loop over its tiles is in progress.
        """
        if self.file.closed:
            return
        if self._busy:
            raise StateError(f"'{self.file.path}': a loop over its tiles is under way; end it first")
        try:
            self.flush()
        finally:
            _arrays.discard(self)
            self.file.close()
        self._buffers, self._kept, self._behind = [], None, None

    def __enter__(self: Array) -> Array:
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        if kind is None:
            self.close()
            return
        # The other ranks may be anywhere: what this one has on its way gets into the file, without them.
        behind = [] if self._behind is None else [self._behind]
        for buffers in (*self._buffers, *behind):
            for handle in buffers.writing:
                while not handle.test():
                    time.sleep(1e-3)
        _arrays.discard(self)
        self.file.__exit__(kind, value, traceback)

    def __repr__(self) -> str:
        return f"<penstock.OutOfCoreArray of {self.file!r}, {text_of(self.memory)} of memory>"


def _tried(work: Callable[[], Any]) -> tuple[Any, Optional[Exception]]:
    """Its result, or this rank's error, which all ranks must raise."""
    try:
        return work(), None
    except Exception as error:
        return None, as_problem(error)


def _in_flight() -> int:
    """Pending bytes of all open arrays: the active buffer belongs to the process."""
    return sum(array._budget.active_buffer for array in _arrays)
