"""Datasets as h5py has them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Optional

import numpy as np

from .._array import Array
from .._core import StateError
from .._request import CallArguments
from .._values import tellable
from .entries import Lacking, entry_of
from .objects import Object
from .selection import Selected, of_fields, select, split_fields, to_write
from .shared import Shared


class Dataset(Object):
    """A dataset. `File` and `Group` make them.

    Where several ranks have the file open, ``ds[...]`` and ``ds[...] = value`` are calls of this rank alone, as in
    h5py, and within ``with ds.collective:`` calls of all ranks.
    """

    def __init__(self, shared: Shared, path: str):
        super().__init__(shared, path)
        self._is_collective = False

    # ---- what it is

    @property
    def shape(self) -> Any:
        """Extents, in elements."""
        return self._entry.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        self.resize(shape)

    @property
    def dtype(self) -> Any:
        """Type of its elements."""
        return self._entry.dtype

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self._entry.shape or ())

    @property
    def size(self) -> Optional[int]:
        """Number of elements."""
        return None if self._entry.shape is None else math.prod(self._entry.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return (self.size or 0) * int(self.dtype.itemsize)

    maxshape = property(lambda self: self._entry.maxshape, doc="Extents up to which it can be resized.")
    chunks = property(lambda self: self._entry.chunks, doc="Extents of its chunks, or None.")
    compression = property(lambda self: self._entry.filters["compression"], doc="Its compressor, or None.")
    compression_opts = property(lambda self: self._entry.filters["compression_opts"], doc="Of its compressor.")
    shuffle = property(lambda self: self._entry.filters["shuffle"], doc="Whether bytes are shuffled.")
    fletcher32 = property(lambda self: self._entry.filters["fletcher32"], doc="Whether chunks have checksums.")
    scaleoffset = property(lambda self: self._entry.filters["scaleoffset"], doc="Of HDF5's filter of that name.")
    fillvalue = property(lambda self: self._entry.fillvalue, doc="Elements that nobody has written.")

    def __len__(self) -> int:
        return self.len()

    def len(self) -> int:
        """The first extent."""
        if not self.shape:
            raise TypeError("Attempt to take len() of scalar dataset")
        return int(self.shape[0])

    # ---- access

    @property
    def collective(self) -> Any:
        """``with ds.collective:`` its reads and writes are calls of all ranks."""
        return self._collectively()

    @contextmanager
    def _collectively(self) -> Iterator[None]:
        before, self._is_collective = self._is_collective, True
        try:
            yield
        finally:
            self._is_collective = before

    @property
    def _is_together(self) -> bool:
        return self._is_collective or self._shared.size == 1

    def __getitem__(self, index: Any) -> Any:
        """Reads. Collective within ``with ds.collective:``."""
        names, rest = split_fields(index)
        if self._entry.found is None:
            return self._by_hdf5(lambda dataset: dataset[index])
        result = self._read(rest)
        has_dots = any(entry is Ellipsis for entry in (rest if isinstance(rest, tuple) else (rest,)))
        result = of_fields(result, names)
        return result if result.ndim > 0 or has_dots else result[()]

    def _read(self, index: Any, out: Optional[np.ndarray] = None) -> np.ndarray:
        """Not of one that HDF5's own library reads."""
        if self._is_together:
            selected, array = self._agreed(index, writes=False)[0], self._shared.variable(self._path)
            values = self._values(array, selected, out)
        elif self._shared.has_place(self._path):
            selected = select(index, self.shape)
            with self._shared.in_turn(self._path, writes=False):
                values = self._values(self._shared.own(self._path), selected, out)
        else:
            self._require_complete()
            values = np.asarray(self._by_hdf5(lambda dataset: dataset[index]))
        return values if self.dtype.metadata is None else values.view(self.dtype)

    @staticmethod
    def _values(array: Array, selected: Selected, out: Optional[np.ndarray]) -> np.ndarray:
        into = None if out is None else out.reshape(selected.full)
        return np.asarray(array.read(selected.entries, into)).reshape(selected.shape)

    def __setitem__(self, index: Any, value: Any) -> None:
        """Writes. Collective within ``with ds.collective:``."""
        names, rest = split_fields(index)
        if self._entry.found is None:
            self._write_by_hdf5(index, value)
            return
        if names:
            raise Lacking(f"{self.name}[{names[0]!r}] = ...: penstock.h5 writes elements of a compound type whole; "
                          "read them, change the field, and write them back")
        if self._is_together:
            selected, elements = self._agreed(rest, writes=True, value=value)
            self._shared.variable(self._path).write(elements, selected.entries)
        else:
            self._write_alone(rest, value)

    def _write_alone(self, index: Any, value: Any) -> None:
        if not self._shared.can_write:
            raise StateError(f"'{self._shared.path}' was opened for reading only; open it with r+ or w")
        is_plain = self._shared.has_plain_chunks(self._path)
        if not is_plain and not self._shared.has_place(self._path):
            raise Lacking(f"{self.name} is written by a rank alone, and {self._reason()}: write it on all ranks within "
                          "'with ds.collective:', where a rank that has nothing to write selects nothing, as ds[0:0]")
        selected = select(index, self.shape)
        elements = to_write(value, selected, self.dtype)
        if is_plain:
            self._require_complete("written")
        with self._shared.in_turn(self._path, writes=True):
            if is_plain:
                self._shared.own_chunks(self._path).write(elements, selected)
            else:
                self._shared.own(self._path).write(elements, selected.entries)

    def _reason(self) -> str:
        if self.chunks is not None:
            return "its compressed chunks have one owner each among the ranks"
        return "it has no space in the file before all ranks have written it once"

    def _agreed(self, index: Any, writes: bool, value: Any = None) -> tuple[Selected, Any]:
        """What is selected, and of a write the elements. Where this rank has passed what is none, it is in the call all
        the same, since the others wait for it there."""
        self._shared.require_open()
        variable = self._shared.variable(self._path)
        try:
            selected = select(index, self.shape)
            return selected, to_write(value, selected, variable.dtype) if writes else None
        except Exception as error:
            if self._shared.size > 1:
                kind = "section" if isinstance(error, IndexError) else "argument"
                failed = CallArguments(problem=(kind, f"{self.name}: {tellable(error)}"))
                (variable._inner.write if writes else variable._inner.read)(*failed.request)
            raise

    def _require_complete(self, doing: str = "read") -> None:
        if self._is_together:
            self._shared.file._publish()
        elif self._shared.is_pending(self._path):
            raise Lacking(f"{self.name} is {doing} by a rank alone, and chunks that were written are in the memory of "
                          "other ranks: do it within 'with ds.collective:', or call f.flush() first, on all ranks")

    def _by_hdf5(self, read: Callable[[Any], Any]) -> Any:
        with self._shared.by_hdf5() as file:
            try:
                return read(file[self._path])
            except OSError as error:
                if self._entry.found is None:
                    raise
                raise Lacking(f"HDF5's own library cannot read {self.name} ({error}); read it on all ranks within "
                              "'with ds.collective:'") from None

    def _write_by_hdf5(self, index: Any, value: Any) -> None:
        if self._shared.size > 1:
            raise Lacking(f"{self.name} {self._entry.why}: several ranks cannot write it; pass data= to create_dataset "
                          "on all ranks, or write it by h5py on one rank while the file is closed")
        self._shared.change("write a dataset", {}, lambda file: file[self._path].__setitem__(index, value))

    def read_direct(self, dest: np.ndarray, source_sel: Any = None, dest_sel: Any = None) -> None:
        """Reads into an array. Collective within ``with ds.collective:``."""
        index, target = () if source_sel is None else source_sel, dest[() if dest_sel is None else dest_sel]
        is_view = isinstance(target, np.ndarray) and np.shares_memory(target, dest) and target.flags.c_contiguous
        if is_view and self._entry.found is not None and target.dtype == self.dtype and \
                (self._is_together or self._shared.has_place(self._path)) and \
                target.shape == select(index, self.shape).shape:
            self._read(index, target)
        else:
            dest[() if dest_sel is None else dest_sel] = self[index]

    def write_direct(self, source: np.ndarray, source_sel: Any = None, dest_sel: Any = None) -> None:
        """Writes from an array. Collective within ``with ds.collective:``."""
        self[() if dest_sel is None else dest_sel] = source[() if source_sel is None else source_sel]

    def astype(self, dtype: Any) -> Any:
        """``ds.astype("f4")[index]`` reads elements as another type."""
        return _View(self, lambda values: np.asarray(values).astype(dtype)[()])

    def asstr(self, encoding: Any = None, errors: str = "strict") -> Any:
        """``ds.asstr()[index]`` reads texts."""
        return _ReadByHdf5(self, lambda dataset: dataset.asstr(encoding, errors))

    def fields(self, names: Any) -> Any:
        """``ds.fields("x")[index]`` reads members of a compound type."""
        wanted = (names,) if isinstance(names, str) else tuple(names)
        return _View(self, lambda values: values[names] if isinstance(names, str) else of_fields(values, wanted))

    def __iter__(self) -> Iterator[Any]:
        for place in range(self.len()):
            yield self[place]

    def iter_chunks(self, sel: Any = None) -> Iterator[tuple[slice, ...]]:
        """The selection of each chunk."""
        if self.chunks is None:
            raise TypeError("Chunked dataset required")
        if sel is not None:
            raise Lacking("iter_chunks(sel): penstock.h5 tells those of the whole dataset; intersect them")
        corners = np.ndindex(*(-(-extent // step) for extent, step in zip(self.shape, self.chunks)))
        return (tuple(slice(at * step, min((at + 1) * step, extent), 1)
                      for at, step, extent in zip(corner, self.chunks, self.shape)) for corner in corners)

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> np.ndarray:
        """All of it. Collective within ``with ds.collective:``."""
        return np.asarray(self[()], dtype)

    # ---- changes, which all ranks make

    def resize(self, size: Any, axis: Optional[int] = None) -> None:
        """Gives it other extents. Collective.

        Args:
            size: All extents, or that of ``axis``.
            axis: The dimension that changes.
        """
        if self.chunks is None:
            raise TypeError("Only chunked datasets can be resized")
        new = tuple(size) if axis is None else \
            tuple(size if d == axis % self.ndim else extent for d, extent in enumerate(self.shape))

        def work(file: Any) -> Any:
            file[self._path].resize(new)
            return entry_of(file[self._path])

        self._shared.reopened(self._path, lambda: self._shared.change(
            "resize", {"dataset": self._path, "size": str(new)}, work, libver=("v110", "latest")))

    def flush(self) -> None:
        """As `File.flush`. Collective."""
        self._shared.flush()

    def refresh(self) -> None:
        """Does nothing: no rank keeps elements in its memory."""

    def _fill(self, value: Any) -> None:
        """Of a new dataset. Collective: each rank writes a part."""
        rank, size = self._shared.rank, self._shared.size
        with self.collective:
            if not self.shape:
                self[()] = value
            else:
                part = slice(len(self) * rank // size, len(self) * (rank + 1) // size)
                self[part] = value[part] if np.ndim(value) else value

    is_virtual = property(lambda self: False if self._entry.found is not None else "virtual" in self._entry.why)
    external = property(lambda self: None)

    def __repr__(self) -> str:
        if not self:
            return "<Closed HDF5 dataset>"
        return f'<HDF5 dataset "{self.name.rpartition("/")[2]}": shape {self.shape}, type "{self.dtype.str}">'


class _Prepared:
    """Stands in place of an array, so that what is wrong with a value is known before the ranks meet."""

    def __init__(self, array: Array, calls: list[Any]):
        self.dtype, self._calls = array.dtype, calls

    def write(self, *arguments: Any) -> None:
        self._calls.extend(arguments)


class _View:
    def __init__(self, dataset: Dataset, change: Callable[[Any], Any]):
        self._dataset, self._change = dataset, change

    def __getitem__(self, index: Any) -> Any:
        return self._change(self._dataset[index])

    def __len__(self) -> int:
        return len(self._dataset)

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> np.ndarray:
        return np.asarray(self[()], dtype)


class _ReadByHdf5(_View):
    def __getitem__(self, index: Any) -> Any:
        self._dataset._require_complete()
        return self._dataset._by_hdf5(lambda dataset: self._change(dataset)[index])
