"""Files that anybody may have put there: a named pipe would wait for its other end, and a device may have no end."""

from __future__ import annotations

import errno
import os
import stat
from os import PathLike
from typing import BinaryIO, Union

from ._core import FormatError


def kind_of(mode: int) -> str:
    """Of what os.stat() has found, in words."""
    kinds = {stat.S_IFREG: "a regular file", stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe",
             stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(mode), "a device")


def sync_folder_of(path: str) -> None:
    """The name of a new file is on the device, or where the file system has no such call, when that has written it."""
    folder = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(folder)


def open_regular(path: Union[str, PathLike[str]], what: str) -> BinaryIO:
    """For reading. `what` it should be, for the message."""
    try:
        file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))
        mode = os.fstat(file.fileno()).st_mode
    except OSError:
        # A folder and a socket cannot be opened.
        mode = os.stat(path).st_mode
        if stat.S_ISREG(mode):
            raise
    else:
        if stat.S_ISREG(mode):
            return file
        file.close()
    raise FormatError(f"'{path}' is {kind_of(mode)}, not a regular file: {what} is one")
