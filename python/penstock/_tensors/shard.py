"""A rank's parts of a tensor, and how they are described to the others."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Optional, Union

import numpy as np

from .._core import ArgumentError, Section, SectionError
from .._distribution import Distribution
from .._index import Normalized, normalize
from .dtypes import BITS, byte_count, check_raw, name_of

#: Which part of a tensor: None for all of it, a block's first indices and those behind its last, or another section.
Part = Union[None, tuple[tuple[int, ...], tuple[int, ...]], Section]
MOST_DIMENSIONS = 8  #: of what the engine takes a part of
_ZEROS = [(0,) * n for n in range(MOST_DIMENSIONS + 1)]


@dataclass(eq=False)
class Shard:
    """A rank's part of a tensor.

    Args:
        array: Its elements, with the shape of the section and any strides. For `load_tensors`: memory to fill, or None
            for a new array.
        section: Which part of the tensor it is: an index as `File.write` takes it (no mask), a Section, or a
            Distribution, whose ``local_shape`` the array may also have. None: all of it.
        shape: Of the whole tensor, in elements. Default: that of the Distribution, or of the array if it is all; for
            `load_tensors` the file's.
        dtype: The name of the type in safetensors, as "BF16", if NumPy does not have it: the array has their bits
            (uint16 or "V2" for "BF16", uint8 for "F8_E4M3"; packed bytes for "F4").
    """

    array: Any
    section: Any = None
    shape: Optional[Sequence[int]] = None
    dtype: Optional[str] = None


class Piece(NamedTuple):
    """A part of a tensor in this rank's memory."""

    name: str
    dtype: str  #: as safetensors names it
    shape: tuple[int, ...]  #: of the tensor
    part: Part
    memory: np.ndarray  #: as the engine takes it
    section: Any  #: the lower bounds of a block, or a Section
    placed: tuple[int, ...]  #: the tensor's shape in units of the memory's elements, as the engine takes it


def checked_shape(shape: Any) -> tuple[int, ...]:
    try:
        extents = tuple(operator.index(n) for n in (shape if np.iterable(shape) else (shape,)))
    except TypeError:
        raise ArgumentError(f"shape {shape!r} is no sequence of whole numbers") from None
    if any(n < 0 for n in extents) or math.prod(max(n, 1) for n in extents) >= 1 << 60:
        raise ArgumentError(f"shape {shape!r}: an extent is negative, or the tensor too large")
    return extents


def _for_buffer(array: np.ndarray) -> np.ndarray:
    """As something that has a buffer, whatever its type."""
    return array if array.dtype.kind in "biufc" else array.view(np.dtype((np.void, array.dtype.itemsize)))


def whole_piece(name: str, dtype: str, shape: tuple[int, ...], array: np.ndarray, fills: bool = False) -> Piece:
    """All of a tensor. `fills`: the array is to be filled, so that it must not be a copy."""
    placed: tuple[int, ...]
    if BITS[dtype] < 8:
        array, placed = array.reshape(-1), (byte_count(dtype, math.prod(shape)),)
        if array.shape != placed:
            raise ArgumentError(f"{array.size} bytes for a tensor of {placed[0]}: {dtype} of shape {shape}, packed")
    elif array.shape != shape:
        raise ArgumentError(f"the array has shape {array.shape}, the tensor {shape}")
    elif not shape:
        array, placed = array.reshape(1), (1,)
    elif len(shape) > MOST_DIMENSIONS:
        if fills and not array.flags.c_contiguous:
            raise ArgumentError(f"a tensor of {len(shape)} dimensions can only fill an array without gaps, in order C")
        array, placed = array.reshape(-1), (array.size,)
    else:
        placed = shape
    return Piece(name, dtype, shape, None, _for_buffer(array), (0,) * len(placed), placed)


def part_of(section: Section, shape: tuple[int, ...]) -> Part:
    """In the form in which equal parts are equal."""
    bounds = section.dimensions
    if any(isinstance(d, list) or (d[2] != 1 and d[1] - d[0] > d[3]) for d in bounds):
        return section
    lower = tuple(d[0] for d in bounds)
    upper = tuple(max(d[0], d[1]) for d in bounds)
    return None if upper == shape and not any(lower) else (lower, upper)


def normalized(section: Any, shape: tuple[int, ...]) -> Normalized:
    """Raises if it is no section of such a tensor."""
    if isinstance(section, Distribution):
        section = section.section
    normal = normalize(section, shape)
    if normal.section.is_extents:
        raise SectionError("section: a part of a tensor is a section with as many dimensions, not a mask or runs")
    normal.section.check(list(shape))
    return normal


def part_piece(name: str, dtype: str, shape: tuple[int, ...], array: np.ndarray, section: Any) -> Piece:
    """What the array holds of a tensor. The array may be any that `normalized(section, shape)` has memory for."""
    if BITS[dtype] < 8 or not 1 <= len(shape) <= MOST_DIMENSIONS:
        raise ArgumentError(f"a tensor of {dtype} with {len(shape)} dimensions cannot be had in parts: its elements "
                            f"must have whole bytes, and 1 to {MOST_DIMENSIONS} dimensions")
    if isinstance(section, Distribution) and array.shape == section.local_shape:
        array = array[section.interior]
    normal = normalized(section, shape)
    if array.shape not in (normal.memory_shape, tuple(normal.section.shape)):
        raise ArgumentError(f"the array has shape {array.shape}, its section {normal.section!r} of the tensor's "
                            f"{shape} has shape {normal.memory_shape}")
    if array.shape == normal.memory_shape:
        array = normal.as_section(array)
    return Piece(name, dtype, shape, part_of(normal.section, shape), _for_buffer(array), normal.section, shape)


def _block_of(section: Any, shape: tuple[int, ...], array: np.ndarray) -> Optional[Part]:
    """Of plain slices within the tensor, which most sections are; None for everything else."""
    if type(section) is not tuple or len(section) != len(shape):
        return None
    lower, upper = [], []
    for entry, extent, length in zip(section, shape, array.shape):
        if type(entry) is not slice or entry.step is not None:
            return None
        begin, end = entry.start or 0, extent if entry.stop is None else entry.stop
        if type(begin) is not int or type(end) is not int or not 0 <= begin <= end <= extent or end - begin != length:
            return None
        lower.append(begin)
        upper.append(end)
    return tuple(lower), tuple(upper)


def shards_of(value: Any) -> list[Shard]:
    """Of a jax.Array: what this process has of it. Of replicas, which may be other processes', the first."""
    return [Shard(np.asarray(one.data), None if one.data.shape == value.shape else one.index, value.shape)
            for one in value.addressable_shards if one.replica_id == 0]


def piece_to_save(name: str, value: Any) -> Piece:
    """Of what `save_tensors` was given. Raises ArgumentError, SectionError."""
    if type(value) is np.ndarray and 1 <= value.ndim <= MOST_DIMENSIONS and value.dtype.kind in "biufc":
        return Piece(name, name_of(value.dtype), value.shape, None, value, _ZEROS[value.ndim], value.shape)
    if not isinstance(value, Shard):
        array = np.asarray(value)
        return whole_piece(name, name_of(array.dtype), array.shape, array)
    array, section = np.asarray(value.array), value.section
    if value.dtype is not None:
        check_raw(value.dtype, array.dtype)
    dtype = value.dtype or name_of(array.dtype)
    if value.shape is not None:
        shape = checked_shape(value.shape)
    elif isinstance(section, Distribution):
        shape = section.shape
    elif section is None:
        shape = array.shape
    else:
        raise ArgumentError("a Shard with a section needs the shape of the whole tensor")
    if section is None:
        return whole_piece(name, dtype, shape, array)
    if array.ndim == len(shape) <= MOST_DIMENSIONS and BITS[dtype] >= 8:
        block = _block_of(section, shape, array)
        if block is not None:
            lower, upper = block  # type: ignore[misc]
            whole = upper == shape and not any(lower)
            return Piece(name, dtype, shape, None if whole else block, _for_buffer(array), lower, shape)
    return part_piece(name, dtype, shape, array, section)
