"""What a checkpoint of torch.distributed is as tensors of safetensors files. Knows nothing of torch."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Optional

import numpy as np

from .._core import ArgumentError, FormatError
from .header import Entry
from .shard import Shard

RESERVED = "penstock."
BYTES = RESERVED + "bytes."  #: in front of the name of what is no tensor: its bytes, as U8
PATHS = RESERVED + "paths"  #: U8, JSON: where a name is in the nested dictionary, if that is not the name alone
#: A path in nested dictionaries and lists.
Path = tuple[Any, ...]


def put_part(parts: dict[str, Any], name: str, array: np.ndarray, offsets: Sequence[int], shape: Sequence[int],
             dtype: Optional[str] = None) -> None:
    """Adds to what is saved, or loaded: the array is the part of the tensor that begins at these indices."""
    if name.startswith(RESERVED):
        raise ArgumentError(f"names that begin with {RESERVED!r} are Penstock's")
    # A tensor without dimensions, or of more than the engine takes parts of, is whole.
    whole = tuple(array.shape) == tuple(shape)
    section = None if whole else tuple(slice(begin, begin + n) for begin, n in zip(offsets, array.shape))
    parts.setdefault(name, []).append(Shard(array, section, tuple(shape), dtype))


def put_bytes(parts: dict[str, Any], name: str, data: Any) -> None:
    """Adds to what is saved: an object's bytes."""
    parts[BYTES + name] = np.frombuffer(data, "u1")


class Contents(NamedTuple):
    """What the tensors of a file are to torch."""

    tensors: dict[str, Entry]
    bytes: list[str]  #: names of objects, as torch has them
    has_paths: bool


def contents(entries: Mapping[str, Entry], path: str) -> Contents:
    """Raises FormatError for a reserved name that is nothing of the kind."""
    tensors, names = dict(entries), []
    for name in [name for name in entries if name.startswith(RESERVED)]:
        entry = tensors.pop(name)
        if entry.dtype != "U8" or len(entry.shape) != 1 or not (name == PATHS or name.startswith(BYTES)):
            raise FormatError(f"'{path}': tensor {name!r}, {entry.dtype} of shape {entry.shape}, is none that Penstock "
                              f"writes: those are {PATHS!r} and {BYTES + '...'!r}, U8 of one dimension")
        if name != PATHS:
            names.append(name.removeprefix(BYTES))
    return Contents(tensors, names, PATHS in entries)


def _is_path(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and len(value) > 0 and all(type(key) in (str, int) for key in value)


def paths_text(mappings: Iterable[Any]) -> bytes:
    """Of what the planners of all ranks say; empty: no name needs it. Raises ArgumentError."""
    joined: dict[str, Path] = {}
    for mapping in mappings:
        if mapping is not None and not (isinstance(mapping, Mapping) and all(map(_is_path, mapping.values()))):
            raise ArgumentError(f"the planner's planner_data must be paths by name, as DefaultSavePlanner has them, "
                                f"not {mapping!r:.80}")
        joined.update(mapping or {})
    told = {name: path for name, path in sorted(joined.items()) if tuple(path) != (name,)}
    return json.dumps(told, ensure_ascii=False).encode() if told else b""


def paths_of(text: bytes, names: Iterable[str], path: str) -> dict[str, Path]:
    """By name. `text`: of the file; empty: it has none. Raises FormatError."""
    try:
        told = json.loads(text or b"{}")
        if not isinstance(told, dict) or not all(map(_is_path, told.values())):
            raise ValueError("they are not lists of names and numbers")
    except (ValueError, RecursionError) as error:
        raise FormatError(f"'{path}': the paths in {PATHS!r} cannot be read: {error!s:.200}") from None
    return {name: tuple(told.get(name, (name,))) for name in names}
