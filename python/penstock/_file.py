"""Open files: what can be done with any of them, and with one that holds an array."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any, Literal, Optional, TypeVar, overload

import numpy as np

from ._attributes import Attributes, refuse_long_integers
from ._chunks import Chunks
from ._core import ArgumentError, Statistics
from ._growing import Growing
from ._handle import Handle, closing
from ._request import Requests
from ._small_floats import is_foreign
from ._values import dtype_of, tellable, whole_number

Open = TypeVar("Open", bound="OpenFile")


class OpenFile:
    """The methods of any open file. A context manager that closes it."""

    path: str  #: as it was given to `penstock.open`
    mode: str  #: "r", "r+" or "w"; of "a" what it came to, and "w" of "x"
    replace: bool  #: whether it takes the place of an old file when it is closed
    _inner: Any
    _replacing: Any = None  #: of a file whose replacement is not the library's

    def _named(self, path: str, mode: str) -> None:
        """`mode`: as the library has it."""
        self.replace = mode == "replace"
        self.path, self.mode = path, "w" if mode in ("replace", "x") else mode

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
            wait: False: returns at once; the file counts as closed, and its data is in the file after `Handle.wait` of
                the returned handle.

        Returns:
            A handle with ``wait=False``, else None.

        Raises:
            StorageError: If something could not be written; the file is closed nevertheless, and with ``replace=True``
                the old file stays.
            DisagreementError: If ranks are in different calls; the file stays open.
        """
        if self._replacing is not None and not self.closed:
            return self._replacing.close_file(self._inner, wait)
        if not wait:
            return closing(self._inner.close_begin())
        self._inner.close()
        return None

    def file_size(self) -> int:
        """Bytes of the whole file, with all that was written so far. Collective.

        Raises:
            StorageError: If the system reports an error, or a write in the background failed.
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

        A dictionary of type ("ext4", "lustre"...), block_size, stripe_size (0: unknown), direct_alignment (0: direct
        I/O does not work), caches_agree (the page caches of all hosts show what one host writes), several_caches (they
        do not, and the ranks have several: accesses bypass them), locks_exclude (with several caches: locks of one host
        exclude other hosts) and whole_pages (with several caches: accesses cannot bypass them, and hosts write whole
        pages).
        """
        return self._inner.file_system

    @property
    def device(self) -> str:
        """What storage calls access, in words: "page cache" or "O_DIRECT", for example."""
        return self._inner.device

    @property
    def aggregators(self) -> list[int]:
        """The ranks that access the file in collective methods."""
        return self._inner.aggregators

    @property
    def statistics(self) -> Statistics:
        """What this rank did since the file was opened, also in the background."""
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
            if self._replacing is not None:
                self._replacing.abandon(value)
            elif self.replace and hasattr(value, "add_note"):
                value.add_note(f"penstock: {self.path!r} is left as it was before it was opened, since its with block "
                               "was left by this exception")


class File(OpenFile, Growing):
    """An array in a file, opened by `penstock.open`. A context manager that closes it.

    After an exception in the ``with`` block only this rank abandons the file, since the other ranks may be in any call.
    """

    container: str  #: "raw", "npy" or "zarr"
    chunks: Optional[tuple[int, ...]]  #: extents of a Zarr array's chunks; None: it is none
    shards: Optional[tuple[int, ...]]  #: extents of its files of several chunks; None: each chunk is a file
    fill_value: Any  #: elements of chunks that are not there; None without chunks
    dims: Optional[tuple[Optional[str], ...]]  #: names of its dimensions, where it has any

    def __init__(self, inner: Any, path: str, mode: str, dtype: Optional[np.dtype], ranks: int):
        super().__init__()
        self._inner, self._ranks = inner, ranks
        self._named(path, mode)
        self.shape, self.order, self.container = inner.shape, inner.order, inner.container
        self.data_offset, self.end_offset = inner.data_offset, inner.end_offset
        known = dtype is not None and (inner.container == "raw" or is_foreign(dtype))
        self.dtype = dtype if dtype is not None and known else dtype_of(inner, path)
        chunked = Chunks(inner.chunks, self.dtype)
        self.chunks, self.shards, self.fill_value = chunked.chunks, chunked.shards, chunked.fill_value
        self.dims = chunked.dims
        self._record: Optional[Attributes] = None
        if self.container == "zarr":
            self._record = Attributes(inner, path, chunked.attributes_text, refuse_long_integers)
        self._requests = Requests(self.shape, self.dtype, self.order)

    @property
    def attrs(self) -> MutableMapping[str, Any]:
        """The attributes of the array, a dictionary.

        Setting one is collective, and so is the first use, which reads them, except for Zarr arrays. A new file has
        only those passed to `penstock.open`. An array at an ``offset`` of its file cannot have any.
        """
        if self._record is None:
            self._record = Attributes(self._inner, self.path, self._inner.attributes())
        return self._record

    def truncate(self, size: int) -> None:
        """Sets the size of the file; new bytes are zeros. Collective.

        Args:
            size: In bytes, the same on all ranks.

        Raises:
            ArgumentError: For an invalid size.
            DisagreementError: If ranks passed different sizes.
            StateError: If the file is open for reading only.
            StorageError: If the operating system refuses.
        """
        try:
            wanted, problem = whole_number(size, "size"), None
        except ArgumentError as error:  # all ranks must raise it
            wanted, problem = 0, tellable(error)
        self._inner.truncate(wanted, problem)

    def __repr__(self) -> str:
        state = "closed" if self.closed else f"open for {self.mode!r}"
        ranks = "" if self._ranks == 1 else f", {self._ranks} ranks"
        where = f" at byte {self.data_offset}" if self.data_offset else ""
        return (f"<penstock.File {self.path!r}: {self.dtype} {self.shape}, order {self.order}, {self.container}, "
                f"{self.nbytes} bytes{where}, {state}{ranks}>")
