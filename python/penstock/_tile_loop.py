"""The steps of a loop over the tiles of an out-of-core array: reads ahead, writes behind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Optional

from ._core import ArgumentError, Section, _Tiling
from ._tile_memory import text_of
from ._tiles import Buffers, Tile

if TYPE_CHECKING:
    from ._out_of_core import OutOfCoreArray


@dataclass(frozen=True)
class TileLoop:
    """How a loop goes over the tiles: what `OutOfCoreArray.tiles` was asked for."""

    mode: str
    axis: int
    halo: tuple[int, ...]
    tile_shape: tuple[int, ...]
    even: bool
    reuse: bool
    into: Optional[OutOfCoreArray]


class Steps:
    """The steps of one loop: collective calls in the same order on all ranks."""

    def __init__(self, array: OutOfCoreArray, loop: TileLoop, tiling: _Tiling, mine: range):
        self._array, self._loop, self._tiling, self._mine = array, loop, tiling, mine
        self.count = array.agreed(len(mine))
        self._reads, self._writes = loop.mode != "w", loop.mode != "r"
        array.flush()
        key = (tiling.tile_shape, loop.axis, loop.halo)
        if loop.reuse and array._kept is not None and array._kept[0] == key:
            self._source = array._kept[1]
        else:
            array._kept = None
            self._source = self._new_source(array, loop, tiling)
            if loop.reuse:
                array._kept = (key, self._source)
        self._target: Optional[Buffers] = None
        if loop.into is not None:
            loop.into.flush()
            loop.into._kept = None
            self._target = loop.into.buffers("w", tiling.bytes // array.dtype.itemsize)
            loop.into._buffers = [self._target]
        array._buffers = [self._source]

    def _new_source(self, array: OutOfCoreArray, loop: TileLoop, tiling: _Tiling) -> Buffers:
        elements, most = tiling.bytes // array.dtype.itemsize, self.count
        if not loop.reuse:
            return array.buffers(loop.mode, elements)
        largest = array.agreed(tiling.bytes)
        if not array._budget.keeps(most, largest):
            raise ArgumentError(f"tiles: reuse keeps {most} tiles of {text_of(largest)} in memory, for which "
                                f"memory={array.memory} has no room; give at least "
                                f"{text_of(5 * most * largest // 2)}, or leave reuse out")
        return array.buffers(loop.mode, elements, max(most, 1))

    def _tile(self, step: int) -> Optional[Tile]:
        if step < len(self._mine):
            return Tile(step, self._tiling.tile(self._mine[step]))
        if not self._loop.even:
            return None
        nothing = Section._of([(0, 0, 1, 1)] * len(self._array.shape))
        return Tile(step, (nothing, nothing, [0] * len(self._array.shape)))

    def run(self) -> Iterator[Tile]:
        if self._reads:
            self._begin_read(0)
        for step in range(self.count):
            tile = self._tile(step)
            self._begin_step(step)
            if tile is not None:
                self._lay_out(tile)
                yield tile
            self._end_step(step, tile if tile is not None and tile else None)
        # What has been written behind is waited for by the next loop, flush or close.

    def _begin_read(self, step: int) -> None:
        if step < self.count:
            tile = self._tile(step)
            self._source.begin_read(step, tile.with_halo if tile is not None and tile else None)

    def _begin_step(self, step: int) -> None:
        if self._reads:
            self._source.finish_read(step)
            self._begin_read(step + 1)
        else:
            self._source.make_room(step)
        if self._target is not None:
            self._target.make_room(step)

    def _lay_out(self, tile: Tile) -> None:
        tile.ghosted = self._source.array(tile.index, tile.with_halo)
        tile.values = tile.ghosted[tile.interior]
        tile.out = tile.values if self._target is None else self._target.array(tile.index, tile.section)

    def _end_step(self, step: int, tile: Optional[Tile]) -> None:
        writes = self._target if self._target is not None else self._source if self._writes else None
        if writes is not None:
            writes.begin_write(step, None if tile is None else tile.section)
