"""Array files: write, read, close."""

from __future__ import annotations

import math
import threading
from collections.abc import MutableMapping
from typing import Any, Literal, Optional, TypeVar, Union, overload

import numpy as np
from numpy.typing import NDArray

from ._attributes import Attributes, refuse_long_integers
from ._chunks import Chunks
from ._core import ArgumentError, Statistics
from ._handle import Handle, closing
from ._request import Requests
from ._types import Index
from ._values import dtype_of, tellable, whole_number

Open = TypeVar("Open", bound="OpenFile")


class Array:
    """What is the same for the array of a file and for each field of one that has several."""

    shape: tuple[int, ...]  #: extents of the array, in elements
    dtype: np.dtype[Any]  #: type of its elements
    order: str  #: "C" or "F": how the elements lie in the file
    data_offset: int  #: byte of the file where the first element is
    end_offset: int  #: byte of the file just past the array
    _inner: Any
    _requests: Requests

    def write(self, local: Any, section: Union[Index, list[Any], None], method: Optional[str] = None,
              **hints: Any) -> None:
        """Writes this rank's elements. Collective: every rank calls, those with nothing with None.

        Args:
            local: Array of the section's shape and the file's dtype, with any strides: a view into an
                array with halo cells is written in place. With a Distribution: of its section's shape, or
                of its `local_shape`, of which the interior is written. A list of arrays for a list of
                sections; None for None.
            section: An index as NumPy has it, of slices, integers, a list of indices, a mask, ``...``, where what is
                left out is ``:``; a Section, which may also be a part of an index; a Distribution; a list of
                these; None.
            method: The hint ``method`` for this call. Default: what the file's hints say, else "auto".
            hints: Settings for this call by name: those of `penstock.hints` whose scope is "call".

        On return ``local`` may be reused. Its bytes are in the file after ``sync``, ``close`` or a read;
        until then up to ``active_buffer_size`` bytes of each process (64 MiB) are on their way, in the
        hands of an I/O thread (Ma, Winslett, Lee & Yu, *Active Buffering Plus Threads*). With
        active_buffer_size=0 the bytes are in the file on return, as after POSIX ``write``. Where
        sections overlap, the highest rank wins (with direct and sieved: some writer of each
        element, whole).

        Raises:
            ArgumentError: For arrays that do not fit the sections, and settings that are none of a call.
            SectionError: For a section that does not fit the array.
            DisagreementError: If ranks passed different settings, or are in different calls.
            StateError: If the file is closed, or open for reading only.
            StorageError: If the operating system refuses.

        The same class is raised on every rank; after the first four the file is as it was. What goes
        wrong in the background is raised by the next call on this file, which then does nothing else.
        """
        self._inner.write(*self._requests.write(local, section, method, hints).request)

    def write_begin(self, local: Any, section: Union[Index, list[Any], None], method: Optional[str] = None,
                    background: str = "storage", **hints: Any) -> Handle:
        """Begins a write; the program goes on meanwhile. Collective.

        Several may be in flight; calls of one file are carried out in the order in which they began.

        Args:
            local: As in `write`. It must stay as it is until `Handle.copied` or `Handle.wait`.
            section: As in `write`.
            method: As in `write`.
            background: What is done between begin and `Handle.wait` (Dickens & Thakur, *Improving
                Collective I/O Performance Using Threads*, section 2.1). "storage": ranks exchange data
                now, the I/O thread writes; where the page cache takes bytes as quickly as a buffer would,
                they are written now, since the program would only lose by another copy. "all": a thread
                does the exchange too, which needs MPI_THREAD_MULTIPLE. "none": nothing, all is done when
                this returns.
            hints: As in `write`.

        Returns:
            A handle; `Handle.wait` ends the write.

        Raises:
            ArgumentError, SectionError, DisagreementError: As `write`; with "all", `Handle.wait` raises them.
            StateError: Where MPI does not allow threads that "all" needs, or as `write`.
        """
        arrays, sections, *rest = self._requests.write(local, section, method, hints).request
        return Handle(self._inner.write_begin(arrays, sections, tellable(background), *rest))

    def read_begin(self, section: Union[Index, list[Any], None], out: Any = None, method: Optional[str] = None,
                   background: str = "storage", **hints: Any) -> Handle:
        """Begins a read; the program goes on meanwhile. Collective.

        Reads queue up behind the writes and reads before them; any other call on this file first
        completes them.

        Args:
            section: As in `read`.
            out: As in `read`. Its content is not defined before `Handle.wait` has returned.
            method: As in `write`.
            background: "storage": the I/O thread reads, as far as the active buffer has room, and
                `Handle.wait` exchanges; all is done now where it is in the page cache already. "all" and
                "none" as in `write_begin`.
            hints: As in `write`.

        Returns:
            A handle, whose `Handle.wait` returns what `read` would.

        Raises:
            ArgumentError, SectionError, DisagreementError, StateError: As `write_begin`.
        """
        arguments = self._requests.read(out, section, method, hints)
        arrays, sections, *rest = arguments.request
        return Handle(self._inner.read_begin(arrays, sections, tellable(background), *rest), arguments.result)

    @overload
    def read(self, section: None, out: None = None, method: Optional[str] = None, **hints: Any) -> None: ...
    @overload
    def read(self, section: Index, out: Optional[NDArray[Any]] = None, method: Optional[str] = None,
             **hints: Any) -> NDArray[Any]: ...
    @overload
    def read(self, section: list[Any], out: Optional[list[Any]] = None, method: Optional[str] = None,
             **hints: Any) -> list[Any]: ...

    def read(self, section: Union[Index, list[Any], None], out: Any = None, method: Optional[str] = None,
             **hints: Any) -> Any:
        """Reads a section, or a list of them. Collective.

        No byte of the file is read twice, however many ranks ask.

        Args:
            section: As in `write`. None: this rank takes part and gets None.
            out: Array to fill, of the section's shape and the file's dtype, with any strides, e.g. a view
                that leaves halo cells alone. None: a new one.
            method: As in `write`.
            hints: As in `write`.

        Returns:
            The array, ``out`` if it was given; for a list of sections a list.

        Raises:
            ArgumentError, SectionError, DisagreementError, StateError, StorageError: As `write`. What
                ``out`` holds is then not defined.
        """
        arguments = self._requests.read(out, section, method, hints)
        self._inner.read(*arguments.request)
        return arguments.result()

    def __getitem__(self, index: Union[Index, list[Any], None]) -> Any:
        """Reads ``f[index]`` as NumPy means it. Collective.

        Args:
            index: Slices (clipped at the array's edge, steps of any sign), integers, a list of indices, a mask,
                ``...``; what is left out is ``:``. A Section or Distribution, as in `read`. None: this rank takes
                part and gets None; with ``f[0:0]`` it gets an array of no elements.

        Returns:
            A new array; where integers select one element, that.

        Raises:
            SectionError: As `read`; an IndexError, too.
        """
        result = self.read((index,) if isinstance(index, list) else index)
        if not isinstance(result, np.ndarray) or result.ndim > 0:
            return result
        has_dots = isinstance(index, tuple) and any(entry is Ellipsis for entry in index)
        return result if has_dots else result[()]  # as NumPy does it

    def __setitem__(self, index: Union[Index, list[Any], None], value: Any) -> None:
        """Writes ``f[index] = value`` as NumPy means it. Collective.

        Args:
            index: As in ``f[index]``.
            value: An array or a number, which is repeated to fill what the index selects, and converted to the file's
                dtype where that loses no more than digits of a float.

        Raises:
            ArgumentError: For a value of another shape, or that the file's dtype cannot hold.
        """
        self._inner.write(*self._requests.assign(value, (index,) if isinstance(index, list) else index).request)

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> NDArray[Any]:
        """All of the array in memory, for ``np.asarray(f)`` and NumPy's functions. Collective."""
        if copy is False:
            raise ValueError("an array in a file cannot be had without a copy in memory")
        array = self.read(...)
        return array if dtype is None else array.astype(dtype, copy=False)

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.dtype.itemsize

    @property
    def last_method(self) -> str:
        """The method of the last read or write, which is what "auto" chose."""
        return self._inner.last_method


class OpenFile:
    """What can be done with an open file, whatever is in it. A context manager, which closes it."""

    path: str  #: as it was given to `penstock.open`
    mode: str  #: "r", "r+" or "w"
    replace: bool  #: whether it takes the place of an old file when it is closed
    _inner: Any

    def _named(self, path: str, mode: str) -> None:
        """`mode`: as the library has it."""
        self.replace = mode == "replace"
        self.path, self.mode = path, "w" if self.replace else mode

    def __bool__(self) -> bool:
        """Whether the file is open, as of files, whatever is in it."""
        return not self.closed

    def sync(self) -> None:
        """Returns when the bytes are on the device (fdatasync). Collective.

        Raises:
            StorageError: If something could not be written, now or in the background.
        """
        self._inner.sync()

    @overload
    def close(self, wait: Literal[True] = True) -> None: ...
    @overload
    def close(self, wait: Literal[False]) -> Handle: ...

    def close(self, wait: bool = True) -> Optional[Handle]:
        """Returns when all that was written is in the file. Collective. A second call does nothing.

        Args:
            wait: False: returns at once; the file counts as closed, and its data is in the file after
                the handle's `Handle.wait`.

        Returns:
            A handle with ``wait=False``, else None.

        Raises:
            StorageError: If something could not be written; the file is closed all the same. One that was opened with
                ``replace=True`` has then replaced nothing.
            DisagreementError: If ranks are in different calls; the file is then as open as before.
        """
        if not wait:
            return closing(self._inner.close_begin())
        self._inner.close()
        return None

    def file_size(self) -> int:
        """Bytes of the whole file, with all that was written so far. Collective.

        Raises:
            StorageError: If the system does not tell, or a write in the background went wrong.
        """
        return self._inner.file_size()

    @property
    def closed(self) -> bool:
        """Whether the file is closed, or closing (``close(wait=False)``)."""
        return self._inner.closed

    @property
    def hints(self) -> dict[str, str]:
        """Effective settings by name, as text; sizes in bytes."""
        return self._inner.hints

    @property
    def file_system(self) -> dict[str, Any]:
        """What the file system reported at open, sizes in bytes.

        A dictionary of type ("ext4", "lustre"...), block_size, stripe_size (0: it does not tell),
        direct_alignment (0: direct I/O does not work), caches_agree (what one host writes, the page
        caches of others show), several_caches (they do not, and the ranks have several: accesses go
        past them) and locks_exclude (of several caches: locks of one host keep others out).
        """
        return self._inner.file_system

    @property
    def device(self) -> str:
        """What storage calls go to, in words, as "page cache" or "O_DIRECT"."""
        return self._inner.device

    @property
    def aggregators(self) -> list[int]:
        """The ranks that touch the file in collective methods."""
        return self._inner.aggregators

    @property
    def statistics(self) -> Statistics:
        """What this rank did since the file was opened, in the background too."""
        return self._inner.statistics

    @property
    def last_call(self) -> Statistics:
        """What this rank did in its last read or write, without what I/O threads do."""
        return self._inner.last_call

    def __enter__(self: Open) -> Open:
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        # After an exception the other ranks may be anywhere: do not wait for them.
        if kind is None:
            self.close()
        else:
            self._inner.abandon()
            if self.replace and hasattr(value, "add_note"):
                value.add_note(f"penstock: {self.path!r} is left as it was before it was opened, since its with block "
                               "was left by this exception")


class File(OpenFile, Array):
    """An array in a file, made by `penstock.open`. A context manager, which closes it.

    After an exception within the ``with`` it abandons the file on this rank alone, since the other
    ranks may be anywhere.
    """

    container: str  #: "raw", "npy" or "zarr"
    chunks: Optional[tuple[int, ...]]  #: extents of a Zarr array's chunks; None: it is none
    shards: Optional[tuple[int, ...]]  #: extents of its files of several chunks; None: each chunk is a file
    fill_value: Any  #: elements of chunks that are not there; None without chunks
    dimension_names: Optional[tuple[Optional[str], ...]]  #: of a Zarr array, where it has any

    def __init__(self, inner: Any, path: str, mode: str, dtype: Optional[np.dtype], ranks: int):
        self._inner, self._ranks = inner, ranks
        self._named(path, mode)
        self.shape, self.order, self.container = inner.shape, inner.order, inner.container
        self.data_offset, self.end_offset = inner.data_offset, inner.end_offset
        self.dtype = dtype if dtype is not None and inner.container == "raw" else dtype_of(inner, path)
        chunked = Chunks(inner.chunks, self.dtype)
        self.chunks, self.shards, self.fill_value = chunked.chunks, chunked.shards, chunked.fill_value
        self.dimension_names = chunked.dimension_names
        self._record: Optional[Attributes] = None
        if self.container == "zarr":
            self._record = Attributes(inner, path, chunked.attributes_text, refuse_long_integers)
        self._requests = Requests(self.shape, self.dtype, self.order)
        self._growing = threading.Lock()

    def append(self, local: Any, section: Optional[Index] = ..., method: Optional[str] = None, **hints: Any) -> None:
        """Makes the array one step longer along its slowest dimension, and writes the step. Collective.

        The file was opened with None for that dimension, as in ``shape=(None, 512, 512)``. An .npy header and Zarr's
        metadata tell the new extent from the next `sync` or `close` on, which bring the steps to the device first:
        after a crash the file holds what was there then.

        Args:
            local: This rank's part of the step, as in `write`.
            section: Where it belongs in the step, in the other dimensions: as in `write`, e.g. a Distribution of these.
                Default: all of the step. None: this rank has no part of it. What no rank writes is zeros, or
                the fill value.
            method: As in `write`.
            hints: As in `write`.

        Raises:
            StateError: If the file was not opened to grow, or its header has no room for a longer shape.
            ArgumentError, SectionError, DisagreementError, StorageError: As `write`; the shape is then as it was.
        """
        with self._growing:  # two threads must not mean the same step
            longer = self._requests.one_longer()
            self._inner.append(*longer.write(local, longer.in_last_step(section), method, hints).request)
            self._requests = longer
            self.shape, self.end_offset = longer.shape, self._inner.end_offset

    @property
    def attrs(self) -> MutableMapping[str, Any]:
        """The attributes of the array, a dictionary.

        Collective whenever one is set, and the first time, which reads them, unless it is a Zarr array. A file that
        is made anew has none but those that `penstock.open` was given. An array at an ``offset`` of its file cannot
        have any.
        """
        if self._record is None:
            self._record = Attributes(self._inner, self.path, self._inner.attributes())
        return self._record

    def truncate(self, size: int) -> None:
        """Sets the size of the file; what is new holds zeros. Collective.

        Args:
            size: In bytes, the same on all ranks.

        Raises:
            ArgumentError: For a size that is none.
            DisagreementError: If ranks passed different sizes.
            StateError: If the file is open for reading only.
            StorageError: If the operating system refuses.
        """
        try:
            wanted, problem = whole_number(size, "size"), None
        except ArgumentError as error:  # the other ranks must hear of it
            wanted, problem = 0, tellable(error)
        self._inner.truncate(wanted, problem)

    def __repr__(self) -> str:
        state = "closed" if self.closed else f"open for {self.mode!r}"
        ranks = "" if self._ranks == 1 else f", {self._ranks} ranks"
        where = f" at byte {self.data_offset}" if self.data_offset else ""
        return (f"<penstock.File {self.path!r}: {self.dtype} {self.shape}, order {self.order}, {self.container}, "
                f"{self.nbytes} bytes{where}, {state}{ranks}>")
