"""The array of a file, or of a field of a file: writes and reads of its sections."""

from __future__ import annotations

import math
from typing import Any, Optional, Union, overload

import numpy as np
from numpy.typing import NDArray

from ._handle import Handle
from ._request import Requests
from ._types import Index
from ._values import tellable


class Array:
    """What a file's array and each field of a file have in common."""

    shape: tuple[int, ...]  #: extents of the array, in elements
    dtype: np.dtype[Any]  #: type of its elements
    order: str  #: "C" or "F": how the elements lie in the file
    data_offset: int  #: byte of the file where the first element is
    end_offset: int  #: byte of the file just past the array
    _inner: Any
    _requests: Requests

    def write(self, local: Any, section: Union[Index, list[Any], None], method: Optional[str] = None,
              **hints: Any) -> None:
        """Writes this rank's elements. Collective: every rank calls it; a rank without data passes None.

        Args:
            local: Array of the section's shape, with any strides: a view into an array with halo cells is written
                in place. If its dtype is not the file's, its elements are converted, which takes memory for the
                section, by NumPy's casting "same_kind" (float64 to float32, int64 to int32, int to float, not float to
                int). With a Distribution it has its section's shape, or its `local_shape`, of which the interior is
                written. A list of arrays for a list of sections; None for None.
            section: A NumPy index: slices, integers, a list of indices, a mask, ``...``, with omitted dimensions as
                ``:``; a Section, also as a part of an index; a Distribution; a list of these; None.
            method: The hint ``method`` for this call. Default: the file's hint, else "auto".
            hints: Hints for this call by name: those of `penstock.hints` whose scope is "call".

        On return ``local`` may be reused. Its bytes are in the file after ``sync``, ``close`` or a read;
        until then up to ``active_buffer_size`` bytes of each process (64 MiB) are pending, and an I/O thread writes
        them (Ma, Winslett, Lee & Yu, *Active Buffering Plus Threads*). With active_buffer_size=0 the bytes are in the
        file on return, as after POSIX ``write``. If sections overlap, the highest rank wins (with direct and sieved:
        one of the writers of each element).

        Raises:
            ArgumentError: For arrays that do not fit the sections, a dtype that cannot be converted to the file's, a
                number out of the range of the file's dtype, and hints that are not for calls.
            SectionError: For a section that does not fit the array.
            DisagreementError: If ranks passed different hints, or are in different calls.
            StateError: If the file is closed, or open for reading only.
            StorageError: If the operating system refuses.

        The same class is raised on every rank; after the first four the file is unchanged. An error in the background
        is raised by the next call on this file, which then does nothing else.
        """
        self._inner.write(*self._requests.write(local, section, method, hints).request)

    def write_begin(self, local: Any, section: Union[Index, list[Any], None], method: Optional[str] = None,
                    background: str = "storage", **hints: Any) -> Handle:
        """Begins a write; the program continues meanwhile. Collective.

        Several may be in flight; calls of one file are carried out in the order in which they began.

        Args:
            local: As in `write`. It must not be changed until `Handle.copied` or `Handle.wait`.
            section: As in `write`.
            method: As in `write`.
            background: What is done between begin and `Handle.wait` (Dickens & Thakur, *Improving
                Collective I/O Performance Using Threads*, section 2.1). "storage": ranks exchange data
                now, the I/O thread writes; if the page cache is as fast as a buffer, they are written now, to save a
                copy. "all": a thread does the exchange too, which needs MPI_THREAD_MULTIPLE. "none": nothing; all is
                done when this returns.
            hints: As in `write`.

        Returns:
            A handle; `Handle.wait` ends the write.

        Raises:
            ArgumentError, SectionError, DisagreementError: As `write`; with "all", `Handle.wait` raises them.
            StateError: If MPI does not allow the threads that "all" needs; or as `write`.
        """
        arrays, sections, *rest = self._requests.write(local, section, method, hints).request
        return Handle(self._inner.write_begin(arrays, sections, tellable(background), *rest))

    def read_begin(self, section: Union[Index, list[Any], None], out: Any = None, method: Optional[str] = None,
                   background: str = "storage", **hints: Any) -> Handle:
        """Begins a read; the program continues meanwhile. Collective.

        Reads are queued after earlier writes and reads; any other call on this file first completes them.

        Args:
            section: As in `read`.
            out: As in `read`. Its content is undefined until `Handle.wait` has returned.
            method: As in `write`.
            background: "storage": the I/O thread reads, as far as the active buffer has room, and
                `Handle.wait` exchanges; if the page cache has the data, all is done now. "all" and "none" as in
                `write_begin`.
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

        No byte of the file is read twice, however many ranks request it.

        Args:
            section: As in `write`. None: this rank takes part and gets None.
            out: Array to fill, of the section's shape, with any strides, e.g. a view without halo cells. If its dtype
                is not the file's, it gets converted elements: floats by casting "same_kind", where too large numbers
                become infinite, with NumPy's warning; integers by "safe". None: a new one.
            method: As in `write`.
            hints: As in `write`.

        Returns:
            The array, ``out`` if it was given; for a list of sections a list.

        Raises:
            ArgumentError, SectionError, DisagreementError, StateError, StorageError: As `write`. The content of ``out``
                is then undefined.
        """
        arguments = self._requests.read(out, section, method, hints)
        self._inner.read(*arguments.request)
        return arguments.result()

    def __getitem__(self, index: Union[Index, list[Any], None]) -> Any:
        """Reads ``f[index]`` as NumPy does. Collective.

        Args:
            index: Slices (clipped at the array's edge, steps of any sign), integers, a list of indices, a mask,
                ``...``; omitted dimensions are ``:``. A Section or Distribution, as in `read`. None: this rank takes
                part and gets None; with ``f[0:0]`` it gets an array of no elements.

        Returns:
            A new array; if integers select one element, that element.

        Raises:
            SectionError: As `read`; an IndexError, too.
        """
        result = self.read((index,) if isinstance(index, list) else index)
        if not isinstance(result, np.ndarray) or result.ndim > 0:
            return result
        has_dots = any(entry is Ellipsis for entry in (index if isinstance(index, tuple) else (index,)))
        return result if has_dots else result[()]  # as NumPy does it

    def __setitem__(self, index: Union[Index, list[Any], None], value: Any) -> None:
        """Writes ``f[index] = value`` as NumPy does. Collective.

        Args:
            index: As in ``f[index]``.
            value: An array or a number, which is broadcast to what the index selects, and converted to the file's dtype
                if that loses only digits of a float.

        Raises:
            ArgumentError: For a value of another shape, or that the file's dtype cannot hold.
        """
        self._inner.write(*self._requests.assign(value, (index,) if isinstance(index, list) else index).request)

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> NDArray[Any]:
        """The whole array in memory, for ``np.asarray(f)`` and NumPy's functions. Collective."""
        if copy is False:
            raise ValueError("an array in a file cannot be had without a copy in memory")
        array = self.read(...)
        return array if dtype is None else array.astype(dtype, copy=False)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a single element, which has no dimension")
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
        """The method of the last read or write; with "auto" the one chosen."""
        return self._inner.last_method
