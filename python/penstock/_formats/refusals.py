"""What the operating system, or a package that is missing, refuses: in words that name the file and what to do."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .._core import ArgumentError, Error, FormatError, StorageError
from .._regular import kind_of


def import_or_refuse(module: str) -> Any:
    """An optional package, where it is installed."""
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        extra = "hdf5" if module == "h5py" else "netcdf"
        raise ArgumentError(f"the package {module} is needed for such files, and cannot be imported ({error}): "
                            f"pip install {module}, or penstock[{extra}]") from None


def refused_by_system(path: str, number: int, doing: str, advice: str = "") -> StorageError:
    error = StorageError(f"cannot {doing} '{path}': {os.strerror(number)}{advice}")
    error.errno, error.filename = number, path
    return error


def already_there(path: str) -> StorageError:
    return refused_by_system(path, errno.EEXIST, "make",
                             "; mode 'x' makes a new file only: choose another name, or remove it first")


@contextmanager
def told_in_words(path: str, doing: str) -> Iterator[None]:
    """What HDF5 raises, as one of Penstock's errors: of the system where there is an errno, else of the format."""
    try:
        yield
    except Error:
        raise
    except OSError as error:
        if error.errno == errno.EAGAIN:
            raise locked(path) from None
        if error.errno:
            raise refused_by_system(path, error.errno, doing) from None
        raise FormatError(f"'{path}' is damaged, or not a file of this kind: {error}") from None
    except Exception as error:  # whatever h5py makes of a damaged file
        raise FormatError(f"cannot {doing} '{path}': {type(error).__name__}: {error}") from None


def in_words(path: str, work: Callable[[], Any], doing: str = "open") -> Callable[[], Any]:
    """The same work, within `told_in_words`."""
    def worded() -> Any:
        with told_in_words(path, doing):
            return work()

    return worded


def locked(path: str) -> StorageError:
    error = StorageError(f"'{path}' is open in another program (or in this one), which has locked it: "
                         "close it there first")
    error.errno, error.filename = errno.EAGAIN, path
    return error


def check_regular(path: str) -> bool:
    """Whether it exists. Raises if it cannot hold datasets."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise refused_by_system(path, error.errno or errno.EIO, "open") from None
    if os.path.isdir(path):
        raise refused_by_system(path, errno.EISDIR, "open")
    if not os.path.isfile(path):
        raise StorageError(f"cannot open '{path}': it is {kind_of(status.st_mode)}, and datasets need a regular file")
    return True


def check_lock(path: str) -> None:
    """Raises where another program has the file open: HDF5 would truncate it before it finds that out."""
    with _descriptor(path) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise locked(path) from None
        except OSError:
            pass  # a file system without locks: HDF5 goes on without, too


@contextmanager
def _descriptor(path: str) -> Iterator[int]:
    try:
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        raise refused_by_system(path, error.errno or errno.EIO, "open") from None
    try:
        yield file
    finally:
        os.close(file)


def check_signature(path: str) -> None:
    h5py = import_or_refuse("h5py")
    with open(path, "rb") as file:
        begin = file.read(8)
    if h5py.is_hdf5(path):
        return
    if begin[:3] == b"CDF":
        raise FormatError(f"'{path}' is a classic netCDF file, which is not HDF5: pass container='netcdf'")
    what = "is empty" if not begin else f"is none: it begins with {begin!r}"
    raise FormatError(f"'{path}' should be an HDF5 or netCDF-4 file, but {what}")


# ---- what is in a file
