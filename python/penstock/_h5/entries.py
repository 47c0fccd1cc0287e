"""What is in an HDF5 file, as rank 0 finds it and tells the others, and what it puts there."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from .._core import ArgumentError, unlimited
from .._formats import hdf5
from .._formats.chunks import Filter, choose_extents, filters_of, set_filters
from .._formats.wanted import Found, digest

if TYPE_CHECKING:
    import h5py


class Lacking(NotImplementedError, AttributeError):
    """What h5py has and `penstock.h5` has not."""


@dataclass
class Entry:
    """One name of the file. Travels from rank 0 to all ranks."""

    kind: str  #: "group", "dataset", "link" or "type"
    attrs: dict[str, Any] = field(default_factory=dict)
    target: str = ""  #: of a link to a name in the file; empty: it leads elsewhere
    shape: Optional[tuple[int, ...]] = ()  #: of a dataset; None: it is h5py's Empty
    dtype: Any = None
    maxshape: Any = None
    chunks: Any = None
    filters: Mapping[str, Any] = field(default_factory=dict)  #: compression and so on, as h5py names them
    fillvalue: Any = None
    found: Optional[Found] = None  #: None: the library cannot read its elements, and HDF5's own does
    why: str = ""  #: it cannot


FILTERS = ("compression", "compression_opts", "shuffle", "fletcher32", "scaleoffset")


def entry_of(item: Any) -> Entry:
    """On rank 0."""
    import h5py

    if isinstance(item, h5py.Group):
        return Entry("group", attributes_of(item))
    if not isinstance(item, h5py.Dataset):
        return Entry("type")
    found = hdf5.found_in(item, None, placed=False)
    why = "" if found.refused == hdf5.NO_SPACE else found.refused
    return Entry("dataset", attributes_of(item), "", item.shape, item.dtype, item.maxshape, item.chunks,
                 {name: getattr(item, name) for name in FILTERS}, item.fillvalue,
                 None if why else replace(found, attrs={}, grows=False), why)


def attributes_of(item: Any) -> dict[str, Any]:
    """Those that mean something outside of the open file: no references."""
    values = {}
    for name in item.attrs:
        try:
            values[name] = item.attrs[name]
            pickle.dumps(values[name])
        except Exception:
            values.pop(name, None)
    return values


def entries_in(file: h5py.File) -> dict[str, Entry]:
    """By their absolute names. A second name of an object is a link to the first one."""
    seen: dict[Any, str] = {_identity(file["/"]): "/"}
    return {"/": entry_of(file["/"]), **dict(_entries_below(file["/"], "", seen))}


def _identity(item: Any) -> Any:
    from h5py import h5o

    found = h5o.get_info(item.id)
    return found.fileno, found.addr


def _entries_below(group: h5py.Group, path: str, seen: dict[Any, str]) -> Iterator[tuple[str, Entry]]:
    import h5py

    for name in group:
        here, link = f"{path}/{name}", group.get(name, getlink=True)
        if not isinstance(link, h5py.HardLink):
            target = getattr(link, "path", "") if isinstance(link, h5py.SoftLink) else ""
            yield here, Entry("link", target=target)
            continue
        item = group[name]
        first = seen.setdefault(_identity(item), here)
        if first != here:
            yield here, Entry("link", target=first)
            continue
        yield here, entry_of(item)
        if isinstance(item, h5py.Group):
            yield from _entries_below(item, here, seen)


# ---- new datasets

#: Of h5py's `create_dataset`: those that change nothing that a program or the file's reader sees by its elements.
WITHOUT_EFFECT = frozenset({"track_times", "rdcc_nslots", "rdcc_nbytes", "rdcc_w0", "efile_prefix", "virtual_prefix",
                            "fill_time"})
ZSTD = 32015  # HDF5's number of that filter


@dataclass
class NewDataset:
    """What `create_dataset` was asked for."""

    shape: tuple[int, ...]
    dtype: np.dtype
    data: Optional[np.ndarray] = None
    maxshape: Optional[tuple[Optional[int], ...]] = None
    chunks: tuple[int, ...] = ()  # (): it has none
    filters: tuple[Filter, ...] = ()
    fill: Any = None
    is_shared: bool = False  # several ranks may write it, each alone: chunks without filters get their space at once

    def common(self) -> dict[str, str]:
        """What all ranks pass alike."""
        told = {"shape": str(self.shape), "dtype": str(self.dtype), "maxshape": str(self.maxshape),
                "chunks": str(self.chunks), "filters": str(self.filters), "fillvalue": repr(self.fill)}
        return told if self.data is None else {**told, "data": digest(self.data)}

    def make(self, file: h5py.File, path: str) -> Entry:
        """On rank 0. Nothing is left of one that cannot be made."""
        from h5py import h5d, h5p

        how: dict[str, Any] = {"dcpl": hdf5.contiguous(True)}
        if self.chunks:
            how = {"dcpl": h5p.create(h5p.DATASET_CREATE), "chunks": self.chunks, "maxshape": self.maxshape}
            if self.is_shared and not self.filters:
                how["dcpl"].set_alloc_time(h5d.ALLOC_TIME_EARLY)
            set_filters(how["dcpl"], self.filters, self.dtype.itemsize, self.dtype.itemsize * int(np.prod(self.chunks)))
        if self.fill is not None:
            how["fillvalue"] = self.fill
        try:
            made = file.create_dataset(path, self.shape, self.dtype, **how)
            if not self.shape:  # which h5py makes without its properties: it gets its space when it is written
                made[()] = np.zeros((), self.dtype) if self.fill is None else self.fill
            return entry_of(made)
        except Exception:
            if path in file:
                del file[path]
            raise


def new_dataset(shape: Any, dtype: Any, data: Any, how: dict[str, Any]) -> Optional[NewDataset]:
    """None: of elements that HDF5's own library has to write. Raises as h5py does, and Lacking."""
    how = {name: value for name, value in how.items()
           if name not in WITHOUT_EFFECT and value is not None and value is not False}
    array = None if data is None or _is_empty(data) else np.asarray(data, None if dtype is None else np.dtype(dtype))
    if array is None and shape is None and dtype is None and data is None:
        raise TypeError("One of data, shape or dtype must be specified")
    wanted = np.dtype(dtype) if dtype is not None else np.dtype("f4") if array is None else array.dtype
    if shape is None and array is None or _is_empty(data) or wanted.hasobject or wanted.kind == "U" or wanted.subdtype:
        return None
    extents = (array.shape if shape is None and array is not None else
               tuple(int(n) for n in (shape if np.iterable(shape) else (shape,))))
    if array is not None and extents != array.shape:
        if np.prod(extents, dtype=int) != array.size:
            raise ValueError("Shape tuple is incompatible with data")
        array = array.reshape(extents)
    hdf5.check_type(wanted)
    new = NewDataset(extents, wanted, array, fill=_fill_of(how.pop("fillvalue", None), wanted))
    _set_layout(new, how)
    if how:
        name, value = next(iter(how.items()))
        raise Lacking(f"create_dataset({name}={value!r}): penstock.h5 has no {name}; leave it out, or make the dataset "
                      "by h5py on one rank while the file is closed")
    return new


def _is_empty(data: Any) -> bool:
    import h5py

    return isinstance(data, h5py.Empty)


def _fill_of(value: Any, dtype: np.dtype) -> Any:
    if value is None:
        return None
    fill = np.asarray(value, dtype)
    return fill[()] if fill.tobytes() != bytes(dtype.itemsize) else None  # zeros are what there is anyhow


def _set_layout(new: NewDataset, how: dict[str, Any]) -> None:
    """Takes out of `how` what makes chunks."""
    chunks, maxshape = how.pop("chunks", None), how.pop("maxshape", None)
    filters = _filters_of(how, new.dtype.itemsize)
    if maxshape is True:
        maxshape = (None,) * len(new.shape)
    if maxshape is not None:
        new.maxshape = tuple(maxshape) if np.iterable(maxshape) else (maxshape,)
    if chunks is None and not filters and new.maxshape is None:
        return
    if not new.shape:
        raise TypeError("Scalar datasets don't support chunk/filter options")
    if new.maxshape is not None and len(new.maxshape) != len(new.shape):
        raise ValueError(f"maxshape {new.maxshape} must have same rank as dataset shape {new.shape}")
    if new.maxshape is not None and new.maxshape.count(None) == 1 and new.maxshape[0] is not None:
        raise Lacking(f"create_dataset(maxshape={new.maxshape}): where one dimension alone grows it is the first, "
                      "since HDF5 does not tell where the chunks are of others; give the first one None, too")
    if chunks is None or chunks is True:
        grows = new.maxshape is not None and new.maxshape[0] is None
        chunks = choose_extents((unlimited if grows else new.shape[0], *new.shape[1:]), new.dtype.itemsize)
    new.chunks = tuple(int(n) for n in (chunks if np.iterable(chunks) else (chunks,)))
    new.filters = filters


def _filters_of(how: dict[str, Any], itemsize: int) -> tuple[Filter, ...]:
    compression, level = how.pop("compression", None), how.pop("compression_opts", None)
    names = ["shuffle"] if how.pop("shuffle", None) else []
    if isinstance(compression, Mapping):  # of hdf5plugin
        level = compression.get("compression_opts")
        compression = compression.get("compression")
    if isinstance(compression, int) and compression is not True and 0 <= compression < 10:
        compression, level = "gzip", compression
    if compression == ZSTD:
        compression, level = "zstd", level[0] if level else None
    if compression is True:
        compression = "gzip"
    if compression not in (None, "gzip", "zstd"):
        raise Lacking(f"create_dataset(compression={compression!r}): penstock.h5 writes 'gzip' (also 0 to 9) and zstd "
                      f"({ZSTD}), with shuffle=True or without; choose one of these")
    if compression is not None:
        names.append(compression if level is None else f"{compression}:{int(level)}")
    try:
        return filters_of(",".join(names), itemsize)
    except ArgumentError as error:
        raise ValueError(str(error)) from None
