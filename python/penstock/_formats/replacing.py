"""Files of HDF5 and netCDF-4, and Zarr folders, that take the place of old ones when all ranks have closed them.

The library makes a new file or folder beside the old one, on rank 0, and says where it is. There everything is written
as in any new file. At close all ranks bring what they wrote to the device; if all could, rank 0 puts it in place.
"""

from __future__ import annotations

import atexit
import os
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any, Optional
from weakref import WeakSet

from .. import _core
from .._chunks import NONE
from .._core import DisagreementError, Error, FormatError, StorageError
from .._first_rank import ask_first_rank, ask_first_rank_of
from .._handle import Handle, closing
from .refusals import in_words
from .zarr_metadata import METADATA_FILE, metadata_in

FOLDER = ".folder"  #: what the name of a new folder has behind that of the file whose lock says that it is being made


def raised_by(call: Callable[[], Any]) -> Optional[Exception]:
    try:
        call()
    except Exception as error:
        return error
    return None


class Replacing:
    """Of one file or folder, on every rank."""

    _all: WeakSet[Replacing] = WeakSet()

    def __init__(self, comm: int, path: str, is_folder: bool):
        self.path, self._comm, self._is_folder = path, comm, is_folder
        self._new: Any = None  #: on rank 0, until it is in place
        self._anchor: Any = None  #: by which the ranks meet

    def begin(self, common: Mapping[str, Any], check: Callable[[], Any],
              problem: Optional[Exception] = None) -> str:
        """Collective. Where the new one is to be made. `check`: on rank 0, raises where it cannot be."""
        name = os.fsencode(self.path)

        def make() -> bytes:
            check()
            self._new = _core._ReplacementPlace(name, self._is_folder)
            return self._new.path

        place: bytes = ask_first_rank(self._comm, name, common, in_words(self.path, make), True, problem)
        try:
            held = place.removesuffix(FOLDER.encode()) if self._is_folder else place
            self._anchor = _core._open(self._comm, held, "r+", [0], "|u1", 1, "C", 0, "raw", None, NONE, None, None)
        except Exception:
            self._new = None
            raise
        self._all.add(self)
        return os.fsdecode(place)

    def close_file(self, inner: Any, wait: bool) -> Optional[Handle]:
        """Collective: closes the file, and puts it in place."""
        failure = self.checked(raised_by(inner.sync)) or raised_by(inner.check_whole)
        if not wait:
            return closing(_Begun(inner.close_begin(), self, failure))
        error = self.checked(raised_by(inner.close))
        self.finish(failure or error)
        return None

    @staticmethod
    def checked(error: Optional[Exception]) -> Optional[Exception]:
        """Raises where ranks are in different calls: then nothing was done."""
        if isinstance(error, DisagreementError):
            raise error
        return error

    def finish(self, failure: Optional[Exception]) -> None:
        """Collective. `failure`: why what this rank wrote is not whole; then nothing is replaced, and all raise it."""
        if failure is not None:
            failure = self._told(failure)
        try:
            ask_first_rank_of(self._anchor, {"the call": "close"}, in_words(self.path, self._commit, "replace"), True,
                              failure)
            self._anchor.close()
        except Exception:
            self._give_up()
            raise

    def _told(self, failure: Exception) -> Exception:
        known = type(failure) if isinstance(failure, Error) else StorageError
        told = known(f"{failure}; {self._left()}")
        if isinstance(told, StorageError):
            told.errno, told.filename = getattr(failure, "errno", None), self.path
        return told

    def _left(self) -> str:
        return f"'{self.path}' is left as it was before it was opened"

    def _commit(self) -> None:
        new, self._new = self._new, None
        new.commit()

    def _give_up(self) -> None:
        self._new = None  # which removes it
        self._all.discard(self)
        if self._anchor is not None:
            self._anchor.abandon()

    def abandon(self, error: Any = None) -> None:
        """On this rank alone. `error`: which left the ``with``."""
        if self._anchor is None or self._anchor.closed:
            return
        if self._new is not None:
            print(f"penstock: {self._left()}: the one that was to replace it was abandoned before all ranks had closed "
                  "it", file=sys.stderr)
        self._give_up()
        if hasattr(error, "add_note"):
            error.add_note(f"penstock: {self._left()}, since its with block was left by this exception")

    @classmethod
    def abandon_all(cls) -> None:
        for one in list(cls._all):
            one.abandon()


class _Begun:
    """A close that has begun, as of the library, with the replacement at its end."""

    def __init__(self, inner: Any, replacing: Replacing, failure: Optional[Exception]):
        self._inner, self._replacing, self._failure = inner, replacing, failure

    def copied(self, wait: bool) -> bool:
        return self._inner.copied(wait)

    def test(self) -> bool:
        return self._inner.test()

    def wait(self) -> None:
        error = self._replacing.checked(raised_by(self._inner.wait))
        self._replacing.finish(self._failure or error)


atexit.register(Replacing.abandon_all)
os.register_at_fork(after_in_child=Replacing._all.clear)  # the files are its parent's


def check_array(path: str) -> None:
    """On rank 0. Raises where there is something else than a Zarr array, which would be lost with it."""
    if not os.path.lexists(path):
        return
    if not os.path.isdir(path):
        raise FormatError(f"'{path}' is no folder, and so no Zarr array")
    names = os.listdir(path)
    told = metadata_in(path)
    if names and (told is None or told.get("node_type") != "array"):
        raise FormatError(f"'{path}' is there and is no Zarr array: nothing of it is replaced; remove it, or choose "
                          "another name")
    others = sorted(name for name in names if name != METADATA_FILE and not name.startswith(".")
                    and not re.fullmatch(r"c|(c\.)?[0-9.]+", name))
    if others:
        raise FormatError(f"'{path}' holds {', '.join(others[:5])}, nothing of a Zarr array, which would be lost: "
                          "choose another folder, or remove that")
