"""Array files: open, write, read."""

from __future__ import annotations

import ast
import operator
import os
from collections.abc import Mapping
from typing import Any, Optional

import numpy as np

from . import _core
from ._core import ArgumentError, FormatError, Section, SectionError, Statistics
from ._distribution import Distribution
from ._handle import Handle
from ._hints import check_hints, hint_text, plain_text, warn_of_unknown
from ._sections import Normalized, normalize


def _comm_address(comm: Any) -> int:
    if comm is None:
        return 0
    from mpi4py import MPI

    if not isinstance(comm, MPI.Comm):
        raise ArgumentError(f"comm must be an mpi4py communicator or None, not {type(comm).__name__}")
    if comm == MPI.COMM_NULL:
        raise ArgumentError("comm is MPI.COMM_NULL: the communicator was freed, or this process is not in it")
    return MPI._addressof(comm)


def _whole_number(value: Any, name: str) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise ArgumentError(f"{name} must be a whole number, not {value!r}") from None
    if not -(2**63) <= number < 2**63:
        raise ArgumentError(f"{name} {number} does not fit 64 bits")
    return number


def _tellable(value: Any) -> str:
    """As text that the library takes, whatever is in it."""
    return str(value).encode(errors="backslashreplace").decode()


def _descr_of(dtype: np.dtype) -> str:
    descr = np.lib.format.dtype_to_descr(dtype)
    return descr if isinstance(descr, str) else repr(descr)


def _dtype_of(inner: Any, path: str) -> np.dtype:
    """What the file's header says. Closes the file where NumPy knows no such type."""
    descr, size = inner.dtype, inner.element_size
    if not descr:
        return np.dtype((np.void, size))
    try:
        value: Any = ast.literal_eval(descr) if descr[0] == "[" else descr
        dtype = np.lib.format.descr_to_dtype(value)
        if dtype.itemsize == size:
            return dtype
        problem = f"it has elements of {dtype.itemsize} bytes for NumPy, {size} for Penstock"
    except (TypeError, ValueError) as error:
        problem = str(error)
    inner.close()  # collective, as this is: every rank has the same header
    raise FormatError(f"'{path}': .npy header: type {descr} is not one of NumPy's: {problem}")


def open(path: Any, mode: str = "r", shape: Any = None, dtype: Any = None, order: Optional[str] = None,
         offset: int = 0, comm: Any = None, hints: Optional[Mapping[str, Any]] = None,
         container: str = "auto") -> File:
    """Opens an array in a file. Collective over ``comm``.

    Args:
        path: The file. A name that ends in .npy is (to be) a NumPy file; others hold bare elements.
        mode: "r"; "r+" (read and write: the file exists, and grows if the array does not fit yet); or
            "w" (made anew, its old content dropped).
        shape: Extents of the array, 1 to 8, in elements.
        dtype: Type of its elements, which have 1 to 65536 bytes.
        order: "C" (the default) or "F". An .npy file tells shape, dtype and order itself; what is given
            must then agree.
        offset: Byte of the file where the array (an .npy file's header) starts. With "r+" and the
            `end_offset` of the array before, several arrays lie in one file.
        comm: An mpi4py communicator. None: this process alone; MPI need not be there.
        hints: Settings by name, as {"buffer_size": "16M", "aggregators": 2}; `hints` tells which there
            are. A name that is not known has no effect and is warned of once.
        container: "raw" (bare elements), "npy", or "auto": by the name of a new file and by the content
            of others.

    Returns:
        The open file. Close it, or use it as a context manager.

    Raises:
        ArgumentError: For a value that no file takes.
        FormatError: If the file holds something else than the arguments say.
        StorageError: If the operating system refuses.
        DisagreementError: If ranks passed different arguments, or one may not write the file alone.

    The same class is raised on every rank, and no file is changed then.
    """
    problem, address = None, 0
    text: dict[str, str] = {}
    extents: list[int] = []
    name, order_text, descr, element_size, kind = b"", "", "", 0, None
    address = _comm_address(comm)  # without a communicator there is nobody to tell
    try:
        name = os.fsencode(path)
        offset = _whole_number(offset, "offset")
        extents = [] if shape is None else [
            _whole_number(n, f"shape {shape!r}: extent") for n in (shape if np.iterable(shape) else (shape,))]
        mode, container = plain_text(mode, "mode"), plain_text(container, "container")
        order_text = plain_text(order or "", "order")
        if shape is not None and not extents:
            raise ArgumentError("shape must have 1 to 8 dimensions, not 0")
        if dtype is not None:
            kind = np.dtype(dtype)
            if kind.hasobject:
                raise ArgumentError(f"dtype {kind} holds Python objects, which have no fixed size in a file")
            descr, element_size = plain_text(_descr_of(kind), "dtype"), kind.itemsize
            if element_size == 0:
                raise ArgumentError(f"dtype {kind} has elements of 0 bytes; give them a size, as in 'S8'")
        text = hint_text(hints or {})
    except Exception as error:  # the other ranks must hear of it
        problem = _tellable(error)
    if problem is None and (comm is None or comm.Get_rank() == 0):
        warn_of_unknown(text)
    if problem is not None:  # what could not be read must not stop this rank from telling
        name, mode, order_text, container = b"", "r", "", "auto"
        extents, offset, text, descr = [], 0, {}, ""
    inner = _core._open(address, name, mode, extents, descr, element_size, order_text, offset, container, text,
                        problem)
    return File(inner, os.fsdecode(name), mode, kind)


class File:
    """An array in a file, made by `penstock.open`. A context manager, which closes it.

    After an exception within the ``with`` it lets go of the file on this rank alone, since the other
    ranks may be anywhere.
    """

    path: str  #: as it was given to `penstock.open`
    mode: str  #: "r", "r+" or "w"
    shape: tuple[int, ...]  #: extents of the array, in elements
    dtype: np.dtype  #: type of its elements
    order: str  #: "C" or "F": how the elements lie in the file
    container: str  #: "raw" or "npy"
    data_offset: int  #: byte of the file where the first element is
    end_offset: int  #: byte of the file just past the array

    def __init__(self, inner: Any, path: str, mode: str, dtype: Optional[np.dtype]):
        self._inner = inner
        self.path, self.mode = path, mode
        self.shape, self.order, self.container = inner.shape, inner.order, inner.container
        self.data_offset, self.end_offset = inner.data_offset, inner.end_offset
        # A program makes the same call again and again: what was worked out once is kept.
        self._last: Optional[tuple[Any, Normalized, tuple[int, ...]]] = None
        self._settings: dict[Any, dict[str, str]] = {}
        self.dtype = dtype if dtype is not None and inner.container == "raw" else _dtype_of(inner, path)
        self._record = np.dtype((np.void, self.dtype.itemsize))

    def write(self, local: Any, section: Any, method: Optional[str] = None, **hints: Any) -> None:
        """Writes this rank's elements. Collective: every rank calls, those with nothing with None.

        Args:
            local: Array of the section's shape and the file's dtype, with any strides: a view into an
                array with halo cells is written in place. With a Distribution: of its section's shape, or
                of its `local_shape`, of which the interior is written. A list of arrays for a list of
                sections; None for None.
            section: A tuple of slices, integers and index lists; a Section; a Distribution; a list of
                these; None.
            method: The hint ``method`` for this call. Default: what the file's hints say, else "auto".
            hints: Settings for this call by name: those of `penstock.hints` whose scope is "call".

        On return ``local`` may be reused. Its bytes are in the file after `sync`, `close` or a read;
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
        arrays, sections, text, problem, _ = self._prepare(local, section, method, hints, reading=False)
        self._inner.write(arrays, sections, text, problem)

    def write_begin(self, local: Any, section: Any, method: Optional[str] = None, background: str = "storage",
                    **hints: Any) -> Handle:
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
        arrays, sections, text, problem, _ = self._prepare(local, section, method, hints, reading=False)
        return Handle(self._inner.write_begin(arrays, sections, _tellable(background), text, problem))

    def read_begin(self, section: Any, out: Any = None, method: Optional[str] = None, background: str = "storage",
                   **hints: Any) -> Handle:
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
        arrays, sections, text, problem, result = self._prepare(out, section, method, hints, reading=True)
        return Handle(self._inner.read_begin(arrays, sections, _tellable(background), text, problem), result)

    def read(self, section: Any, out: Any = None, method: Optional[str] = None, **hints: Any) -> Any:
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
        arrays, sections, text, problem, result = self._prepare(out, section, method, hints, reading=True)
        self._inner.read(arrays, sections, text, problem)
        return result

    def _prepare(self, memory: Any, section: Any, method: Optional[str], hints: Mapping[str, Any],
                 reading: bool) -> Any:
        """Never raises: a rank that found a fault must still take part in the call."""
        arrays: list[np.ndarray] = []
        sections: list[Section] = []
        text: dict[str, str] = {}
        try:
            if method is not None or hints:
                text = self._call_settings(method, hints)
            many = isinstance(section, list)
            wanted = section if many else [] if section is None else [section]
            given = memory if many and memory is not None else [memory] * len(wanted)
            if len(given) != len(wanted):
                raise ArgumentError(f"{len(given)} arrays for {len(wanted)} sections")
            results: list[Any] = []
            for array, entry in zip(given, wanted):
                if entry is None:  # nothing, as for a whole call
                    results.append(None)
                    continue
                result, filled, part = self._one(array, entry, reading)
                results.append(result)
                arrays.append(filled)
                sections.append(part)
            result = results if many else results[0] if results else None
            return arrays, sections, text, None, result
        except SectionError as error:
            return [], [], text, ("section", _tellable(error)), None
        except Exception as error:
            return [], [], text, ("argument", _tellable(error)), None

    def _call_settings(self, method: Optional[str], hints: Mapping[str, Any]) -> dict[str, str]:
        key = (method, *hints.items())
        try:
            return self._settings[key]
        except (KeyError, TypeError):  # not seen before; not hashable
            pass
        text = hint_text({"method": method, **hints})
        check_hints(text, "a setting of a call")
        try:
            if len(self._settings) < 100:
                self._settings[key] = text
        except TypeError:
            pass
        return text

    def _normal(self, entry: Any) -> tuple[Normalized, tuple[int, ...]]:
        """The section in its own terms, and its shape."""
        if self._last is not None and self._last[0] is entry:
            return self._last[1], self._last[2]
        normal = normalize(entry, self.shape)
        normal.section.check(list(self.shape))
        shape = tuple(normal.section.shape)
        if isinstance(entry, Section):  # does not change
            self._last = entry, normal, shape
        return normal, shape

    def _one(self, array: Any, entry: Any, reading: bool) -> tuple[Any, np.ndarray, Section]:
        if isinstance(entry, Distribution):
            if isinstance(array, np.ndarray) and array.shape == entry.local_shape:
                array_view = array[entry.interior]
            else:
                array_view = array
            result, filled, part = self._one(array_view, entry.section, reading)
            return (array if array is not None else result), filled, part
        normal, shape = self._normal(entry)
        if array is None and reading:
            array = np.empty(normal.memory_shape, self.dtype, order=self.order)  # type: ignore[call-overload]
        elif reading and not isinstance(array, np.ndarray):
            raise ArgumentError(f"out must be a NumPy array, not {type(array).__name__}")
        return array, self._as_bytes(array, normal, shape), normal.section

    def _as_bytes(self, array: Any, normal: Normalized, shape: tuple[int, ...]) -> np.ndarray:
        """The array as records of bytes, its own memory, with the section's dimensions."""
        if array is None:
            raise ArgumentError("an array is needed for a section that is not None")
        array = np.asarray(array)
        if array.dtype is not self.dtype and array.dtype != self.dtype:
            raise ArgumentError(f"array has dtype {array.dtype}, the file has {self.dtype}; "
                                f"convert it first: array.astype({self.dtype.str!r})")
        if array.shape != shape:
            if array.shape != normal.memory_shape:
                raise ArgumentError(f"array has shape {array.shape}, the section {normal.section!r} "
                                    f"has shape {normal.memory_shape}")
            array = np.expand_dims(array, normal.dropped)
        return array.view(self._record)

    def sync(self) -> None:
        """Returns when the bytes are on the device (fdatasync). Collective.

        Raises:
            StorageError: If something could not be written, now or in the background.
        """
        self._inner.sync()

    def close(self, wait: bool = True) -> Optional[Handle]:
        """Returns when all that was written is in the file. Collective. A second call does nothing.

        Args:
            wait: False: returns at once; the file counts as closed, and its data is in the file after
                the handle's `Handle.wait`.

        Returns:
            A handle with ``wait=False``, else None.

        Raises:
            StorageError: If something could not be written; the file is closed all the same.
            DisagreementError: If ranks are in different calls; the file is then as open as before.
        """
        if not wait:
            return Handle(self._inner.close_begin())
        self._inner.close()
        return None

    def file_size(self) -> int:
        """Bytes of the whole file, with all that was written so far. Collective.

        Raises:
            StorageError: If the system does not tell, or a write in the background went wrong.
        """
        return self._inner.file_size()

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
            wanted, problem = _whole_number(size, "size"), None
        except ArgumentError as error:  # the other ranks must hear of it
            wanted, problem = 0, _tellable(error)
        self._inner.truncate(wanted, problem)

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
        """What the file system told at open, sizes in bytes.

        A dictionary of type ("ext4", "lustre"...), block_size, stripe_size (0: it does not tell) and
        direct_alignment (0: direct I/O does not work).
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

    @property
    def last_method(self) -> str:
        """The method of the last read or write, which is what "auto" chose."""
        return self._inner.last_method

    def __enter__(self) -> File:
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        # After an exception the other ranks may be anywhere: do not wait for them.
        if kind is None:
            self.close()
        else:
            self._inner.abandon()

    def __repr__(self) -> str:
        state = "closed" if self.closed else self.mode
        return f"<penstock.File {self.path!r} {self.dtype} {self.shape} order {self.order}, {state}>"
