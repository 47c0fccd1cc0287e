"""Several files with an index, as Hugging Face has them: `model.safetensors.index.json` beside the files."""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Mapping
from typing import Any

from .._core import FormatError
from .._regular import open_regular

INDEX = "model.safetensors.index.json"
MOST = 200_000_000  #: bytes of an index: each file's header has at most half of it
PLAIN_NAME = re.compile(r"[^/\0]+\.safetensors")


def index_text(tensors: Mapping[str, str], size: int, metadata: Mapping[str, str]) -> bytes:
    """`tensors`: the file of each. `size`: of all, in bytes."""
    told: dict[str, Any] = {"metadata": {**metadata, "total_size": size}, "weight_map": dict(sorted(tensors.items()))}
    return (json.dumps(told, indent=2, ensure_ascii=False) + "\n").encode()


def parsed_index(text: bytes, path: str) -> dict[str, str]:
    """The file of each tensor. Raises FormatError."""
    try:
        said = json.loads(text)
        tensors = said["weight_map"]
        names = set(tensors.values())
        if not all(isinstance(name, str) and PLAIN_NAME.fullmatch(name) for name in names):
            raise ValueError("weight_map has a value that is not the name of a .safetensors file in the same folder")
        return dict(tensors)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise FormatError(f"'{path}' is not an index of safetensors files: {error!s:.200}") from None


def read_index(folder: str) -> dict[str, str]:
    """The file of each tensor. Raises FormatError, OSError."""
    path = os.path.join(folder, INDEX)
    with open_regular(path, "an index of safetensors files") as file:
        text = file.read(MOST + 1)
    if len(text) > MOST:
        raise FormatError(f"'{path}' is not an index of safetensors files: it has more than {MOST} bytes")
    return parsed_index(text, path)


def make_folder(path: str) -> None:
    """With those around it. Their names are on the device when this returns."""
    made, at = [], os.path.abspath(path)
    while not os.path.isdir(at):
        made.append(at)
        at = os.path.dirname(at)
    os.makedirs(path, exist_ok=True)
    for one in made:
        descriptor = os.open(os.path.dirname(one), os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def files_of(folder: str) -> set[str]:
    """Those of the checkpoint in the folder; none where there is no index that can be read."""
    try:
        return set(read_index(folder).values())
    except (FormatError, OSError):
        return set()


def names_for(count: int, old: set[str]) -> list[str]:
    """Names of new files: Hugging Face's, unless the existing index, which is valid until the end, has one of them."""
    for stem in ("model", f"model-{secrets.token_hex(4)}"):
        names = [f"{stem}-{number:05}-of-{count:05}.safetensors" for number in range(1, count + 1)]
        if not old.intersection(names):
            break
    return names
