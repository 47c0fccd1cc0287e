"""Whether files of tensors are whole, and hold what was written into them."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from .._core import FormatError, _crc32c_of_shares, _crc32c_share
from .._regular import open_regular
from .._types import Path
from . import header
from .header import Entry, Header
from .index import INDEX, read_index
from .layout import CHECKSUMS

_PIECE = 1 << 24  #: bytes to read at a time


@dataclass(frozen=True)
class Verified:
    """What `verify_tensors` has checked."""

    files: int
    tensors: int
    bytes: int  #: of all tensors
    checksums: int  #: tensors whose bytes were compared with a checksum


def header_of(file: BinaryIO, path: str) -> Header:
    """Not collective. Raises FormatError."""
    size = os.fstat(file.fileno()).st_size
    file.seek(0)
    length = header.length_of(file.read(header.LENGTH_BYTES), size, path)
    return header.parsed(file.read(length), size, path)


def is_whole(path: str) -> bool:
    """Whether a file, or a folder with an index, has everything that its headers describe. Not collective."""
    try:
        if not os.path.isdir(path):
            with open_regular(path, "a safetensors file") as file:
                header_of(file, path)
            return True
        tensors = read_index(path)
        return all(is_whole(os.path.join(path, name)) for name in set(tensors.values()))
    except (FormatError, OSError):
        return False


def _checksum(file: BinaryIO, entry: Entry) -> int:
    total, shares = entry.end - entry.begin, 0
    for begin in range(0, total, _PIECE):
        file.seek(entry.begin + begin)
        piece = np.frombuffer(file.read(min(_PIECE, total - begin)), "u1")
        shares ^= _crc32c_share(piece, (begin,), [total])
    return _crc32c_of_shares(shares, total)


def _checksums(found: Header, path: str) -> dict[str, str]:
    try:
        sums = json.loads(found.metadata.get(CHECKSUMS, "{}"))
        if not isinstance(sums, dict) or not all(isinstance(text, str) for text in sums.values()):
            raise ValueError("they are no object of texts")
    except (ValueError, RecursionError) as error:
        raise FormatError(f"'{path}': the checksums in its metadata cannot be read: {error}") from None
    for name in sums:
        if name not in found.tensors:
            raise FormatError(f"'{path}' has a checksum of tensor {name!r}, and no such tensor")
    return sums


def _verify_file(path: str) -> tuple[Header, int]:
    """The header, and how many checksums were compared."""
    with open_regular(path, "a safetensors file") as file:
        found = header_of(file, path)
        sums = _checksums(found, path)
        for name, told in sums.items():
            is_there = f"{_checksum(file, found.tensors[name]):08x}"
            if is_there != told:
                raise FormatError(f"'{path}': tensor {name!r} is damaged: its bytes have CRC-32C {is_there}, the file "
                                  f"says {told}")
    return found, len(sums)


def verify_tensors(path: Path) -> Verified:
    """Reads a safetensors file, or a folder with an index, and compares. Not collective.

    The header is checked by the rules of the format, the size of the file by the header, and each tensor by its
    CRC-32C, if `save_tensors` wrote it with ``checksums=True``.

    Args:
        path: As in `load_tensors`.

    Returns:
        Counts of what was checked.

    Raises:
        FormatError: For damage, with the name of the tensor.
        FileNotFoundError, PermissionError: If a file does not exist, or cannot be read.
    """
    text = os.fsdecode(path)
    index = read_index(text) if os.path.isdir(text) else None
    names = [text] if index is None else [os.path.join(text, name) for name in sorted(set(index.values()))]
    tensors = size = compared = 0
    for name in names:
        found, sums = _verify_file(name)
        for tensor, where in (index or {}).items():
            if os.path.join(text, where) == name and tensor not in found.tensors:
                raise FormatError(f"'{os.path.join(text, INDEX)}': tensor {tensor!r} is not in '{name}'")
        tensors += len(found.tensors)
        size += sum(entry.end - entry.begin for entry in found.tensors.values())
        compared += sums
    return Verified(len(names), tensors, size, compared)
