"""The plan of a described request, without running it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Optional, Union

import numpy as np

from . import _core
from ._index import normalize


def explain(shape: Sequence[int], dtype: Any, sections: Sequence[Any], *, order: str = "C", offset: int = 0,
            write: bool = True, cores: Optional[int] = None, nodes: int = 1, measure: bool = True,
            path: Optional[Union[str, os.PathLike]] = None, **hints: Any) -> Mapping[str, Any]:
    """What a collective call of all ranks would do, without MPI and without their file.

    Args:
        shape: Extents of the array, 1 to 8, in elements.
        dtype: Type of its elements.
        sections: Per rank a section, a list of sections, or None.
        order: "C" or "F".
        offset: Byte of the file where the array starts.
        write: Whether it is a write; else a read.
        cores: Processors of a node; default: those of this machine.
        nodes: Nodes that the ranks are spread over, in equal parts.
        measure: Use the cost model's constants for this machine, measured once in a process, and those of a modelled
            device (hint device). False: those of the machine that Penstock was written on.
        path: A file, or a folder, in which a temporary file is created: plan for its file system, and describe it.
            Default: a local one.
        hints: Settings by name; those of `penstock.hints` that are `planned` change the plan.

    Returns:
        A dictionary: method, exchange, reason, alternatives (one dictionary per way: predicted seconds,
        and whether auto may choose it), costs (the constants, in seconds), bounding_section (per
        dimension, in elements), span (bytes of the file), domains (one dictionary per aggregator:
        bytes, rounds, holes), flows (rank, aggregator, bytes), file_system (with ``path``: facts as of
        `File.file_system`, and locks, and untried: why nothing could be tried), and all as ``text``.

    Raises:
        ArgumentError: For unknown hints, or hints that no plan can follow.
        SectionError: For a section that does not fit the array.
        StorageError: If neither ``path`` nor its folder exists.
    """
    settings = _core._Settings(hints)
    per_rank = []
    for entry in sections:
        entries = entry if isinstance(entry, list) else [] if entry is None else [entry]
        per_rank.append([normalize(e, shape, order).section for e in entries])
    place = None if path is None else explain_file_system(path)
    plan = _core._explain(list(shape), np.dtype(dtype).itemsize, order, offset, write,
                          cores or os.cpu_count() or 1, nodes, per_rank, settings, measure, place)
    if place is not None:
        plan["file_system"] = {**place.facts, "locks": place.locks, "untried": place.untried}
        plan["text"] = place.text + plan["text"]
    return plan


def explain_file_system(path: Union[str, os.PathLike]) -> Any:
    """Describes the file system of a file or folder as one process sees it: facts, locks, untried, text."""
    return _core._explain_file_system(os.fspath(path))
