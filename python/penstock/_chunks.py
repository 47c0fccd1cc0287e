"""Arrays in chunks: what programs pass to `open`, in terms that the library takes, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Optional

import numpy as np

from ._attributes import refuse_long_integers
from ._core import ArgumentError
from ._hints import plain_text
from ._values import whole_number

#: In the order of the library's ChunkSpec: chunks, shards, compressors, fill value, dimension names, attributes.
Members = tuple[list[int], list[int], str, bytes, list[str], str]
NONE: Members = ([], [], "", b"", [], "")


def extents_of_chunks(value: Any, name: str, dimensions: int) -> list[int]:
    if value is None:
        return []
    if not np.iterable(value):
        return [whole_number(value, name)] * max(1, dimensions)
    return [whole_number(n, f"{name} {value!r}: extent") for n in value]


def _without_none(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    return value


def codec_of(codec: Any) -> Any:
    """One of the list, as in zarr.json; codecs of zarr-python provide that form themselves."""
    if hasattr(codec, "to_dict"):
        codec = codec.to_dict()
    if isinstance(codec, str):
        name, _, level = codec.partition(":")
        if not level:
            return {"name": name}
        try:
            number = int(level)
        except ValueError:
            raise ArgumentError(f"compressors: level {level!r} of {codec!r} is not a whole number") from None
        return {"name": name, "configuration": {"clevel" if name == "blosc" else "level": number}}
    if not isinstance(codec, Mapping):
        raise ArgumentError(f"compressors: {codec!r} is not a codec; give a name, as in 'zstd:3', or a dictionary with "
                            "name and configuration")
    return _without_none(codec)


def _compressors(value: Any) -> str:
    if value is None or isinstance(value, str):
        return plain_text(value or "", "compressors")
    codecs = value if isinstance(value, Iterable) and not isinstance(value, Mapping) else [value]
    texts = [codec_of(codec) for codec in codecs]
    return json.dumps(texts, default=lambda item: getattr(item, "value", str(item))) if texts else ""


def fill_of(value: Any, dtype: Optional[np.dtype]) -> bytes:
    if value is None:
        return b""
    if dtype is None:
        raise ArgumentError("fill_value needs a dtype")
    try:
        return np.full((), value, dtype).tobytes()
    except (TypeError, ValueError, OverflowError) as error:
        raise ArgumentError(f"fill_value {value!r} is not an element of dtype {dtype}: {error}") from None


def _attributes(value: Any) -> str:
    if not value:
        return ""
    try:
        refuse_long_integers(dict(value))
        return json.dumps(dict(value))
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"attributes must be values that JSON can represent: {error}") from None


def members(settings: Mapping[str, Any], dimensions: int, dtype: Optional[np.dtype]) -> Members:
    """Of the arguments of `open` with these names."""
    names = settings["dims"] or ()
    if isinstance(names, (str, Mapping)):
        raise ArgumentError(f"dims {names!r}: a Zarr array takes a name, or None, for each of its dimensions, as "
                            "('y', 'x'); coordinates are arrays of their own")
    return (extents_of_chunks(settings["chunks"], "chunks", dimensions),
            extents_of_chunks(settings["shards"], "shards", dimensions),
            _compressors(settings["compressors"]), fill_of(settings["fill_value"], dtype),
            [plain_text(name or "", "dims") for name in names], _attributes(settings["attributes"]))


class Chunks:
    """How an open array is chunked."""

    def __init__(self, found: Members, dtype: np.dtype):
        chunks, shards, _, fill, names, self.attributes_text = found
        self.chunks, self.shards = tuple(chunks) or None, tuple(shards) or None
        self.fill_value = np.frombuffer(fill, dtype)[0] if fill else None
        self.dims = tuple(name or None for name in names) or None
