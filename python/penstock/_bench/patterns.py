"""Access patterns of the field: who has which part of an array, and how it lies in memory.

The size of a pattern is the bytes of all ranks together. Patterns work for any number of ranks. The bytes of an array
are a function of their place in it, so every file can be checked.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import numpy as np

from .. import ArgumentError, Section, distribute, section

UNTOUCHED = 0xEE  # memory that belongs to no element
HOLE = 0x00  # bytes of the file that nobody wants
TILE = 64


def size_text(size: int) -> str:
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


@dataclass(frozen=True)
class Part:
    """One rank's part: its section of the file, and its place in memory."""

    shape: tuple[int, ...]  #: of the whole array
    dtype: np.dtype
    section: Optional[Section]  #: None: nothing
    outer_shape: tuple[int, ...]  #: of the memory, what lies between the elements included
    interior: tuple[slice, ...]  #: the elements in this memory

    @property
    def nbytes(self) -> int:
        return self.section.size * self.dtype.itemsize if self.section is not None else 0

    def memory(self, filled: bool) -> np.ndarray:
        """The whole memory; with the section's elements in it, if `filled`."""
        outer = np.empty(self.outer_shape, self.dtype)
        outer.view(np.uint8)[...] = UNTOUCHED
        if filled and self.section is not None:
            outer[self.interior] = expected(self.shape, self.dtype, self.section)
        return outer

    def wrong_byte(self, path: str, elements: np.ndarray) -> Optional[int]:
        """Where the first of the section's elements starts in the file that is not as in `elements`.

        For sections without strides: every rank compares its own, by plain means. None: all are right.
        """
        if self.section is None:
            return None
        there, size = Path(path).stat().st_size, math.prod(self.shape) * self.dtype.itemsize
        if there < size:
            return there
        words = np.dtype(f"u{self.dtype.itemsize}")  # bits, not numbers: a NaN is like itself
        box = tuple(slice(lower, upper) for lower, upper, _, _ in self.section.dimensions)
        same = np.memmap(path, words, "r", shape=self.shape)[box] == elements.view(words)
        if same.all():
            return None
        first = np.unravel_index(int(np.argmin(same)), same.shape)
        place = [int(i) + s.start for i, s in zip(first, box)]
        return int(np.ravel_multi_index(place, self.shape)) * self.dtype.itemsize


def _words(elements: np.ndarray, itemsize: int) -> np.ndarray:
    """The 4-byte words of elements with these (32-bit) numbers: all different, never a pattern."""
    count = np.uint32(itemsize // 4)
    number = elements[..., None] * count + np.arange(count, dtype=np.uint32)
    return number * np.uint32(2654435761) + np.uint32(12345)


def _indices(dimension: Any) -> np.ndarray:
    lower, upper, stride, block = dimension
    all_of_them = np.arange(lower, upper, dtype=np.int64)
    return all_of_them if stride == block else all_of_them[(all_of_them - lower) % stride < block]


def expected(shape: tuple[int, ...], dtype: np.dtype, part: Section) -> np.ndarray:
    """The elements of a section."""
    number = np.zeros((), np.uint32)
    step = 1
    for axis in reversed(range(len(shape))):
        along = (_indices(part.dimensions[axis]) * step).astype(np.uint32)
        number = number + along.reshape([-1] + [1] * (len(shape) - 1 - axis))
        step *= shape[axis]
    return _words(number, dtype.itemsize).view(dtype)[..., 0]


def _chunks(shape: tuple[int, ...], dtype: np.dtype, mask: Optional[np.ndarray]) -> Iterable[tuple[int, np.ndarray]]:
    """The file's right bytes, a few MiB at a time, and where they start."""
    total, chunk = math.prod(shape), 1 << 20
    for begin in range(0, total, chunk):
        words = _words(np.arange(begin, min(begin + chunk, total)).astype(np.uint32), dtype.itemsize)
        if mask is not None:
            words[~mask[begin : begin + chunk]] = HOLE
        yield begin * dtype.itemsize, words.reshape(-1).view(np.uint8)


@dataclass(frozen=True)
class Pattern:
    name: str
    about: str
    unit: tuple[int, ...]  #: least shape; dimensions are doubled in turn, the first cut to size
    kind: tuple[str, ...]  #: how the ranks share it
    dtype: str = "<i4"
    halo: int = 0  #: cells around the local array
    gap: int = 0  #: elements of memory after each row of the local array
    fixed: int = 0  #: last dimensions that stay as they are
    tiles: bool = False  #: of the rank's columns only every second tile, in both directions

    def shape(self, total: int) -> tuple[int, ...]:
        wanted = total * (4 if self.tiles else 1)
        shape, item, turn = list(self.unit), np.dtype(self.dtype).itemsize, 0
        while math.prod(shape) * item < wanted:
            shape[turn % (len(shape) - self.fixed)] *= 2
            turn += 1
        slabs = wanted // (math.prod(shape[1:]) * item)
        shape[0] = max(slabs // self.unit[0], 1) * self.unit[0] if self.tiles else max(slabs, 1)
        return tuple(shape)

    def part(self, total: int, ranks: int, rank: int) -> Part:
        shape, dtype = self.shape(total), np.dtype(self.dtype)
        if self.tiles:
            wanted = self._tiles(shape, ranks, rank)
        else:
            wanted = distribute(shape, kind=self.kind, rank=rank, ranks=ranks).section
        inside = wanted.shape
        outer = [n + 2 * self.halo for n in inside]
        outer[-1] += self.gap
        interior = tuple(slice(self.halo, self.halo + n) for n in inside)
        return Part(shape, dtype, wanted if wanted.size else None, tuple(outer), interior)

    def _tiles(self, shape: tuple[int, ...], ranks: int, rank: int) -> Section:
        pairs = distribute((shape[1] // (2 * TILE),), kind="block", rank=rank, ranks=ranks).section
        first, last = pairs.dimensions[0][:2]
        return section((0, shape[0], 2 * TILE, TILE), (first * 2 * TILE, last * 2 * TILE, 2 * TILE, TILE))

    def file_bytes(self, total: int) -> int:
        return math.prod(self.shape(total)) * np.dtype(self.dtype).itemsize

    def largest_share(self, total: int, ranks: int) -> int:
        """Bytes of the file's largest piece, where whole slabs of it are shared out to the ranks."""
        slabs = self.shape(total)[0]
        return -(-slabs // ranks) * (self.file_bytes(total) // slabs)

    def _mask(self, total: int, ranks: int) -> Optional[np.ndarray]:
        if not self.tiles:
            return None
        shape = self.shape(total)
        mask = np.zeros(shape, bool)
        for rank in range(ranks):
            wanted = self.part(total, ranks, rank).section
            if wanted is not None:
                mask[np.ix_(*map(_indices, wanted.dimensions))] = True
        return mask.reshape(-1)

    def fill(self, path: str, total: int, ranks: int, empty: bool) -> None:
        """Overwrites the file with the expected bytes, or with a mark for bytes that no rank wrote."""
        with open(path, "r+b", buffering=0) as f:
            for at, data in _chunks(self.shape(total), np.dtype(self.dtype), self._mask(total, ranks)):
                f.seek(at)
                f.write((np.full_like(data, HOLE) if empty else data).data)

    def wrong_byte(self, path: str, total: int, ranks: int, holes: bool = True) -> Optional[int]:
        """Where the file differs first from what it should be, its holes included or not; None: nowhere."""
        with open(path, "rb") as f:
            for at, data in _chunks(self.shape(total), np.dtype(self.dtype), self._mask(total, ranks)):
                there = np.frombuffer(f.read(data.size), np.uint8)
                same = (there == data[: there.size]) | (not holes and data[: there.size] == HOLE)
                if not same.all():
                    return at + int(np.argmin(same))
                if (data[there.size :] != HOLE).any():  # a file may end before a hole
                    return at + there.size
        return None


PATTERNS = {p.name: p for p in (
    Pattern("block-block", "2-D int32 in blocks", (64, 64), ("block", "block")),
    Pattern("column-block", "2-D int32, blocks of columns", (64, 64), ("*", "block")),
    Pattern("cyclic", "2-D int32, every P-th column: runs of 4 bytes", (64, 64), ("*", "cyclic")),
    Pattern("block3", "3-D doubles in blocks", (8, 8, 8), ("block",) * 3, "<f8"),
    Pattern("block4", "4-D doubles in blocks: the lattice of QCD", (4, 4, 4, 8), ("block",) * 4, "<f8"),
    Pattern("halo", "block-block out of memory with a halo of 2 cells", (64, 64), ("block", "block"), halo=2),
    Pattern("gaps", "block-block, 16 bytes between rows in memory", (64, 64), ("block", "block"), gap=4),
    Pattern("element-gaps", "slabs of elements of 64 bytes, 16 bytes between them in memory", (64, 8),
            ("block", "*"), "<f8", gap=2, fixed=1),
    Pattern("tiles", "every second 64 x 64 tile of blocks of columns: holes in the file", (128, 128),
            ("*", "block"), tiles=True),
)}

# Of the experiments with background I/O.
SLABS = Pattern("slabs", "2-D int32, whole rows: a rank's part is one piece of the file", (64, 64), ("block", "*"))
CONFORMING = Pattern("conforming", "3-D doubles in slabs, as they lie in the file", (8, 8, 8), ("block", "*", "*"),
                     "<f8")
DISTRIBUTIONS = {pattern.name: pattern for pattern in (CONFORMING, PATTERNS["block3"])}


def chosen(names: str) -> list[Pattern]:
    """The patterns of a list with commas; "all": all."""
    return [PATTERNS[name] for name in pick("pattern", names, list(PATTERNS))]


def pick(what: str, text: str, known: list[str]) -> list[str]:
    names = known if text.strip() == "all" else [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise ArgumentError(f"{what} '{name}' is not known; known are {', '.join(known)}, or all")
    if not names:
        raise ArgumentError(f"name at least one {what}: {', '.join(known)}, or all")
    return list(dict.fromkeys(names))


def one_of(what: str, text: str, known: list[str]) -> str:
    if text not in known:
        raise ArgumentError(f"{what} '{text}' is not known; known are {', '.join(known)}")
    return text
