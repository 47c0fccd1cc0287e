"""The tensors of a file, worked out by rank 0 from what all ranks have of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._core import ArgumentError, DisagreementError, Section
from .dtypes import BITS, byte_count
from .shard import Part, Piece


@dataclass
class Table:
    """What a rank has, as parallel lists."""

    names: list[str] = field(default_factory=list)
    dtypes: list[str] = field(default_factory=list)
    shapes: list[tuple[int, ...]] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)

    @staticmethod
    def of(pieces: Sequence[Piece]) -> Table:
        columns = list(zip(*pieces)) if pieces else [(), (), (), ()]
        return Table(*(list(column) for column in columns[:4]))


@dataclass(slots=True)
class Tensor:
    """A tensor of the file, and who has which part of it."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    bytes: int
    holders: list[tuple[int, int]]  #: rank, and number in its table
    parts: list[Part]  #: that each holds
    groups: list[list[int]] = field(default_factory=list)  #: of holders, those with the same part


def merged(tables: Sequence[Table]) -> list[Tensor]:
    """All tensors, in the order of the file: of larger elements first, so that each is aligned, then by name.

    Raises DisagreementError where two ranks mean different tensors by one name.
    """
    found: dict[str, Tensor] = {}
    for rank, table in enumerate(tables):
        for number, (name, dtype, shape, part) in enumerate(zip(table.names, table.dtypes, table.shapes, table.parts)):
            tensor = found.get(name)
            if tensor is None:
                size = byte_count(dtype, math.prod(shape))
                found[name] = Tensor(name, dtype, shape, size, [(rank, number)], [part])
                continue
            if tensor.dtype != dtype or tensor.shape != shape:
                raise DisagreementError(
                    f"tensor {name!r}: rank {tensor.holders[0][0]} has {tensor.dtype} of shape {tensor.shape}, rank "
                    f"{rank} has {dtype} of shape {shape}; all ranks must describe the same tensor")
            tensor.holders.append((rank, number))
            tensor.parts.append(part)
    known: dict[Any, list[list[int]]] = {}
    for tensor in found.values():
        tensor.groups = _groups(tensor, known)
    return sorted(found.values(), key=lambda tensor: (-BITS[tensor.dtype], tensor.name))


def _groups(tensor: Tensor, known: dict[Any, list[list[int]]]) -> list[list[int]]:
    """Holders of the same part, for each part. Raises where the parts are not the tensor, each element once."""
    parts = tensor.parts
    if len(parts) == 1 and parts[0] is None:
        return [[0]]
    key = (tensor.shape, *parts)
    if key not in known:
        same: dict[Part, list[int]] = {}
        for holder, part in enumerate(parts):
            same.setdefault(part, []).append(holder)
        _check_cover(tensor, list(same), [tensor.holders[holders[0]][0] for holders in same.values()])
        known[key] = list(same.values())
    return known[key]


def _elements(part: Part, shape: tuple[int, ...]) -> int:
    if part is None:
        return math.prod(shape)
    if isinstance(part, Section):
        return part.size
    return math.prod(end - begin for begin, end in zip(*part))


def _check_cover(tensor: Tensor, parts: list[Part], ranks: list[int]) -> None:
    """Parts that differ must not overlap, and be all of the tensor together."""
    shape, total = tensor.shape, math.prod(tensor.shape)
    there = [i for i, part in enumerate(parts) if _elements(part, shape) > 0]
    for a, b in _overlapping([parts[i] for i in there], shape):
        raise ArgumentError(
            f"tensor {tensor.name!r} of shape {shape}: rank {ranks[there[a]]} has {in_words(parts[there[a]])}, rank "
            f"{ranks[there[b]]} has {in_words(parts[there[b]])}, which overlap; parts are the same or have no element "
            "in common")
    count = sum(_elements(part, shape) for part in parts)
    if count != total:
        raise ArgumentError(f"tensor {tensor.name!r} of shape {shape}: the ranks have {count} of its {total} elements, "
                            f"{', '.join(in_words(parts[i]) for i in there[:4])}{'...' if len(there) > 4 else ''}; "
                            "every element must be in some rank's part")


def in_words(part: Part) -> str:
    if part is None:
        return "all of it"
    if isinstance(part, Section):
        return repr(part).removeprefix("penstock.Section")
    return "(" + ", ".join(f"{begin}:{end}" for begin, end in zip(*part)) + ")"


def _indices(part: Part, shape: tuple[int, ...]) -> list[Any]:
    """Per dimension the bounds of a block, or an array of indices."""
    if part is None:
        return [(0, n) for n in shape]
    if not isinstance(part, Section):
        return list(zip(*part))
    return [np.asarray(d) if isinstance(d, list) else np.concatenate(
        [np.arange(first, min(first + d[3], d[1])) for first in range(d[0], d[1], d[2])]) for d in part.dimensions]


def _meet(a: Any, b: Any) -> bool:
    """Whether two sets of indices of one dimension have one in common."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return max(a[0], b[0]) < min(a[1], b[1])
    a, b = (np.arange(*x) if isinstance(x, tuple) else x for x in (a, b))
    return len(np.intersect1d(a, b)) > 0


def _overlapping(parts: list[Part], shape: tuple[int, ...]) -> list[tuple[int, int]]:
    """The first pair of parts with an element in common, or none."""
    if len(parts) < 2:
        return []
    if not any(isinstance(part, Section) for part in parts):
        return _overlapping_blocks(np.array([_indices(part, shape) for part in parts], np.int64))
    sets = [_indices(part, shape) for part in parts]
    return next(([(i, j)] for i, j in itertools.combinations(range(len(parts)), 2)
                 if all(_meet(a, b) for a, b in zip(sets[i], sets[j]))), [])


def _overlapping_blocks(bounds: np.ndarray) -> list[tuple[int, int]]:
    """`bounds`: of each block, per dimension its begin and end. Sorted by one dimension, few pairs are left."""
    lower, upper = bounds[:, :, 0], bounds[:, :, 1]
    along = int(np.argmax([len(np.unique(column)) for column in lower.T]))
    order = np.argsort(lower[:, along], kind="stable")
    lower, upper = lower[order], upper[order]
    behind = np.searchsorted(lower[:, along], upper[:, along], "left")  # the first that begins at or behind its end
    for i, end in enumerate(behind):
        others = slice(i + 1, end)
        meets = np.all((lower[i] < upper[others]) & (lower[others] < upper[i]), axis=1)
        if meets.any():
            return [(int(order[i]), int(order[i + 1 + int(np.argmax(meets))]))]
    return []
