"""The header of a safetensors file: a length of 8 bytes, and JSON with the place of each tensor."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from .._core import ArgumentError, FormatError
from .dtypes import BITS

LENGTH_BYTES = 8  #: little-endian, of the JSON
MOST = 100_000_000  #: bytes of the JSON, as the reference implementation has it
METADATA = "__metadata__"


class Entry(NamedTuple):
    """A tensor of a file."""

    dtype: str  #: as safetensors names it
    shape: tuple[int, ...]
    begin: int  #: byte of the file
    end: int


@dataclass(frozen=True)
class Header:
    """The header's contents."""

    tensors: dict[str, Entry]
    metadata: dict[str, str]
    data: int  #: byte of the file where the first tensor begins


def entries(tensors: Iterable[tuple[str, str, tuple[int, ...], int]]) -> str:
    """The JSON, without braces, of (name, dtype, shape, bytes) in the order of the file."""
    quoted = json.encoder.encode_basestring
    parts = []
    end = 0
    for name, dtype, shape, size in tensors:
        begin, end = end, end + size
        parts.append(f'{quoted(name)}:{{"dtype":"{dtype}","shape":[{",".join(map(str, shape))}],'
                     f'"data_offsets":[{begin},{end}]}}')
    return ",".join(parts)


def written(told: str, metadata: Mapping[str, str]) -> bytes:
    """With its length, padded so that data begins at a multiple of 8. `told`: the tensors' part, from `entries`."""
    first = f'"{METADATA}":{json.dumps(dict(metadata), ensure_ascii=False)}' if metadata else ""
    text = ("{" + first + ("," if first and told else "") + told + "}").encode()
    text += b" " * (-len(text) % 8)
    if len(text) > MOST:
        raise ArgumentError(f"the header of a file would have {len(text)} bytes, and readers of safetensors refuse "
                            f"more than {MOST}: write several files (max_file_size), or fewer tensors")
    return len(text).to_bytes(LENGTH_BYTES, "little") + text


def length_of(prefix: bytes, file_size: int, path: str) -> int:
    """Of the JSON, by the file's first bytes. Raises FormatError."""
    if file_size < LENGTH_BYTES:
        raise FormatError(f"'{path}' is not a safetensors file: it has {file_size} bytes, the length of the header "
                          f"alone has {LENGTH_BYTES}")
    length = int.from_bytes(prefix[:LENGTH_BYTES], "little")
    if length > MOST:
        raise FormatError(f"'{path}' is not a safetensors file: its header would have {length} bytes, more than {MOST}")
    if LENGTH_BYTES + length > file_size:
        raise FormatError(f"'{path}' is truncated, or not a safetensors file: its header has {length} bytes, the file "
                          f"{file_size}")
    return length


class _Damaged(ValueError):
    pass


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _Damaged(f"{twice!r} occurs twice")
    return found


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


def _entry(name: str, said: Any, data: int) -> Entry:
    if not isinstance(said, dict):
        raise _Damaged(f"tensor {name!r}: {said!r:.60} is not an object with dtype, shape and data_offsets")
    dtype, shape, offsets = said.get("dtype"), said.get("shape"), said.get("data_offsets")
    if not isinstance(dtype, str) or dtype not in BITS:
        raise _Damaged(f"tensor {name!r}: dtype {dtype!r:.60} is not known")
    if not isinstance(shape, list) or not all(map(_is_count, shape)):
        raise _Damaged(f"tensor {name!r}: shape {shape!r:.60} is not a list of extents")
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(map(_is_count, offsets)):
        raise _Damaged(f"tensor {name!r}: data_offsets {offsets!r:.60} are not [begin, end]")
    begin, end = offsets
    bits = math.prod(shape) * BITS[dtype]
    if (end - begin) * 8 != bits:
        raise _Damaged(f"tensor {name!r}: data_offsets {offsets} are {end - begin} bytes, and {dtype} of shape {shape} "
                       f"has {bits / 8:g}")
    return Entry(dtype, tuple(shape), data + begin, data + end)


def _check_metadata(said: Any) -> dict[str, str]:
    if said is None:  # the reference implementation takes that, too
        return {}
    if not isinstance(said, dict) or not all(isinstance(value, str) for value in said.values()):
        raise _Damaged(f"{METADATA} is not an object of strings")
    return said


def _check_contiguous(tensors: Mapping[str, Entry], data: int, file_size: int) -> None:
    end = data
    for name, entry in sorted(tensors.items(), key=lambda item: item[1][2:]):
        if entry.begin != end:
            what = "a hole before it" if entry.begin > end else "it overlaps the one before it"
            raise _Damaged(f"tensor {name!r} begins at byte {entry.begin - data} of the data, not at {end - data}: "
                           f"{what}")
        end = entry.end
        if end > file_size:
            raise _Damaged(f"tensor {name!r} ends at byte {end} of the file, which has {file_size}: it is truncated")
    if end != file_size:
        raise _Damaged(f"the tensors end at byte {end} of the file, which has {file_size}")


def parsed(text: bytes, file_size: int, path: str) -> Header:
    """Of the JSON alone. Raises FormatError for whatever the rules of the format forbid."""
    data = LENGTH_BYTES + len(text)
    try:
        said = json.loads(text.decode("utf-8"), object_pairs_hook=_unique)
        if not isinstance(said, dict) or not text.startswith(b"{"):
            raise _Damaged("it is not a JSON object")
        metadata = _check_metadata(said.pop(METADATA, None))
        for name in (*said, *metadata, *metadata.values()):
            name.encode()
        tensors = {name: _entry(name, entry, data) for name, entry in said.items()}
        _check_contiguous(tensors, data, file_size)
    except (ValueError, RecursionError) as error:
        words = str(error).encode(errors="backslashreplace").decode()
        raise FormatError(f"'{path}': the header is not that of a safetensors file: {words}") from None
    return Header(tensors, metadata, data)
