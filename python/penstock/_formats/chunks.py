"""Chunks of HDF5's datasets: their filters, as programs, HDF5 and the library have them, and where they are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._chunks import codec_of
from .._core import ArgumentError, unlimited
from .._values import whole_number

if TYPE_CHECKING:
    import h5py

LEAST, MOST = 64 << 10, 4 << 20  # bytes of chunks whose extents nobody gives
SHUFFLES = ("noshuffle", "shuffle", "bitshuffle")
#: Compressors within blosc, by their number in HDF5's filter.
WITHIN_BLOSC = ("blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd")
#: HDF5's number of each filter, https://github.com/HDFGroup/hdf5_plugins/blob/master/docs/RegisteredFilterPlugins.md
NUMBERS = {"deflate": 1, "shuffle": 2, "blosc": 32001, "zstd": 32015}
NAMES = {number: name for name, number in NUMBERS.items()}


class Unreadable(Exception):
    """Why the library cannot read a dataset in chunks."""


class Filter(NamedTuple):
    """As the library takes it."""

    name: str
    level: int = 0
    compressor: str = ""  # within blosc
    shuffle: int = 0  # within blosc


@dataclass
class StoredChunks:
    """Chunks of an existing dataset. Sent from rank 0 to all ranks."""

    extents: tuple[int, ...]
    filters: tuple[Filter, ...]
    fill: bytes  #: an element
    places: bytes  #: number, offset, size and left out filters of each chunk, 64 bits each


def choose_extents(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Of chunks that have some MiB; of an array that grows, a step or as many as give a chunk a useful size."""
    extents = [max(extent, 1) for extent in shape]
    if shape[0] == unlimited:
        extents[0] = max(LEAST // (itemsize * math.prod(extents[1:])), 1)
    for d, extent in enumerate(extents):
        while extent > 1 and itemsize * math.prod(extents) > MOST:
            extents[d] = extent = -(-extent // 2)
    return tuple(extents)


def filters_of(value: Any, itemsize: int) -> tuple[Filter, ...]:
    """Of what a program passes for ``compressors``: "gzip", "shuffle,zstd:5", a dictionary, or a list of these."""
    if value is None:
        return ()
    entries = value.split(",") if isinstance(value, str) else value
    if not isinstance(entries, Iterable) or isinstance(entries, Mapping):
        entries = [entries]
    return tuple(_filter_of(codec_of(entry), itemsize) for entry in entries if entry != "")


def _filter_of(codec: Mapping[str, Any], itemsize: int) -> Filter:
    name, given = codec.get("name"), codec.get("configuration", {})
    level = given.get("level", given.get("clevel"))
    level = None if level is None else whole_number(level, "compressors: level")
    if name == "shuffle":
        return Filter("shuffle")
    if name in ("gzip", "deflate", "zlib"):
        return Filter("deflate", 4 if level is None else level)
    if name == "zstd":
        return Filter("zstd", 3 if level is None else level)
    if name == "blosc":
        within, shuffle = given.get("cname", "zstd"), given.get("shuffle", "bitshuffle" if itemsize == 1 else "shuffle")
        if within not in WITHIN_BLOSC or shuffle not in SHUFFLES:
            raise ArgumentError(f"compressors: blosc has the compressors {', '.join(WITHIN_BLOSC)} and "
                                f"{', '.join(SHUFFLES)}, not {within!r} and {shuffle!r}")
        return Filter("blosc", 5 if level is None else level, within, SHUFFLES.index(shuffle))
    raise ArgumentError(f"compressors: {name!r} is no filter of HDF5 that Penstock has, which are gzip, zstd, blosc "
                        "and shuffle")


def set_filters(properties: Any, filters: Iterable[Filter], itemsize: int, chunk_bytes: int) -> None:
    """Of a dataset that is made. HDF5 need not have them itself: it applies none."""
    from h5py import h5z

    for one in filters:
        if one.name == "shuffle":
            properties.set_shuffle()
        elif one.name == "deflate":
            properties.set_deflate(one.level)
        elif one.name == "zstd":
            properties.set_filter(NUMBERS["zstd"], h5z.FLAG_OPTIONAL, (one.level,))
        else:
            properties.set_filter(NUMBERS["blosc"], h5z.FLAG_OPTIONAL,
                                  (2, 2, itemsize, chunk_bytes, one.level, one.shuffle,
                                   WITHIN_BLOSC.index(one.compressor)))


def filters_in(dataset: h5py.Dataset) -> tuple[Filter, ...]:
    """Raises Unreadable where there is one that the library has not."""
    properties = dataset.id.get_create_plist()
    found = []
    for i in range(properties.get_nfilters()):
        number, _, values, label = properties.get_filter(i)
        name = NAMES.get(number)
        if name == "blosc":
            known = len(values) > 6 and values[5] < len(SHUFFLES) and values[6] < len(WITHIN_BLOSC)
            level, shuffle, within = values[4:7] if known else (5, 1, 0)
            found.append(Filter("blosc", level, WITHIN_BLOSC[within], shuffle))
        elif name is not None:
            found.append(Filter(name, 0 if name == "shuffle" else _level(values)))
        else:
            raise Unreadable("is stored in chunks with a filter that Penstock does not have, "
                             f"{label.decode(errors='replace') or 'of number'} ({number})")
    return tuple(found)


def _level(values: tuple[int, ...]) -> int:
    """HDF5 has them as numbers without a sign."""
    level = values[0] if values else 3
    return level - (1 << 32) if level >= 1 << 31 else level


def fill_in(dataset: h5py.Dataset, dtype: np.dtype) -> bytes:
    """As an element of that type."""
    from h5py import h5d

    properties = dataset.id.get_create_plist()
    element = np.zeros((), dataset.dtype)
    if properties.fill_value_defined() != h5d.FILL_VALUE_UNDEFINED:
        properties.get_fill_value(element)
    return element.astype(dtype).tobytes()


def places_in(dataset: h5py.Dataset) -> bytes:
    """Numbers of chunks count in order C in the grid that the shape and the extents make. Raises Unreadable."""
    found: list[Any] = []

    def take(chunk: Any) -> None:
        found.append(chunk)

    if hasattr(dataset.id, "chunk_iter"):
        dataset.id.chunk_iter(take)
    else:
        found = [dataset.id.get_chunk_info(i) for i in range(dataset.id.get_num_chunks())]
    if not found:
        return b""
    extents = np.array(dataset.chunks)
    counts = -(-np.array(dataset.shape) // extents)
    corners = np.array([chunk.chunk_offset for chunk in found]) // extents
    inside = (corners < counts).all(axis=1)
    # HDF5 (2.0 and before) tells other corners where one dimension alone is unlimited, which is not the first, and
    # chunks are indexed as since 1.10: too large ones, if no chunk is missing.
    growing = [d for d, extent in enumerate(dataset.maxshape) if extent is None]
    if len(growing) == 1 and growing[0] > 0 and not (inside.all() and len(found) == math.prod(counts)):
        raise Unreadable("is stored in chunks and can grow along a dimension that is not the first one, where HDF5 "
                         "does not tell where chunks are")
    places = np.empty((len(found), 4), np.int64)
    places[inside, 0] = np.ravel_multi_index(tuple(corners[inside].T), tuple(counts))
    places[:, 1:] = [(chunk.byte_offset, chunk.size, chunk.filter_mask) for chunk in found]
    return places[inside].tobytes()


def chunks_in(dataset: h5py.Dataset, dtype: np.dtype, placed: bool = True) -> StoredChunks:
    """`dtype`: of the elements. `placed`: with their places."""
    return StoredChunks(tuple(dataset.chunks), filters_in(dataset), fill_in(dataset, dtype),
                        places_in(dataset) if placed else b"")
