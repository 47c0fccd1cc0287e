"""zarr.json of groups and arrays, on rank 0."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, Optional

from .._core import FormatError
from .._regular import sync_folder_of

METADATA_FILE = "zarr.json"
MOST_METADATA = 16 << 20  # bytes of it
MARK_OF_NEW = ".penstock-"  # in the name of what is to replace an array


class GroupFile:
    """What zarr.json says of a group: on rank 0."""

    def __init__(self, folder: str):
        self._folder, self._name = folder, os.path.join(folder, METADATA_FILE)

    def read(self) -> dict[str, Any]:
        """Raises FormatError where it is no group of Zarr 3."""
        told = metadata_in(self._folder)
        if told is None:
            raise FormatError(f"'{self._folder}' is not a Zarr group: it has no {METADATA_FILE} (Zarr 2 has none: "
                              "zarr migrate v3)")
        if told.get("node_type") != "group":
            raise FormatError(f"'{self._folder}' is a Zarr {told.get('node_type')}, no group: open it with "
                              "penstock.open")
        return told

    def write(self, told: Mapping[str, Any]) -> None:
        """The old one, or the new one, is there at any moment."""
        new = f"{self._name}.{os.getpid()}.new"
        try:
            with open(new, "w", encoding="utf-8") as file:
                json.dump(told, file, indent=1, ensure_ascii=False, allow_nan=False)
                file.flush()
                os.fsync(file.fileno())
            os.replace(new, self._name)
            sync_folder_of(self._name)
        except BaseException:
            if os.path.exists(new):
                os.unlink(new)
            raise


def metadata_in(folder: str) -> Optional[dict[str, Any]]:
    """None where there is none."""
    name = os.path.join(folder, METADATA_FILE)
    if not os.path.isfile(name) or os.path.getsize(name) > MOST_METADATA:
        return None
    with open(name, "rb") as file:
        text = file.read(MOST_METADATA)
    try:
        told = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"'{name}' is no JSON: {error}") from None
    if not isinstance(told, dict):
        raise FormatError(f"'{name}' holds no JSON object, but {type(told).__name__}")
    return told


def nodes_in(folder: str, prefix: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Arrays and groups below a group, by name, with their metadata."""
    with os.scandir(folder) as entries:
        folders = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    for name in folders:
        below = os.path.join(folder, name)
        told = None if MARK_OF_NEW in name else metadata_in(below)
        if told is None:
            continue
        yield prefix + name, told
        if told.get("node_type") == "group":
            yield from nodes_in(below, f"{prefix}{name}/")
