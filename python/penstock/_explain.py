"""The plan of a described request, without running it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Optional

import numpy as np

from . import _core
from ._index import normalize


def explain(shape: Sequence[int], dtype: Any, sections: Sequence[Any], *, order: str = "C", offset: int = 0,
            write: bool = True, cores: Optional[int] = None, nodes: int = 1, measure: bool = True,
            **hints: Any) -> Mapping[str, Any]:
    """What a collective call of all ranks would do. Pure: no MPI, no file.

    Args:
        shape: Extents of the array, 1 to 8, in elements.
        dtype: Type of its elements.
        sections: Per rank a section, a list of sections, or None.
        order: "C" or "F".
        offset: Byte of the file where the array starts.
        write: Whether it is a write; else a read.
        cores: Processors of a node; default: those of this machine.
        nodes: Nodes that the ranks are spread over, in equal parts.
        measure: The constants of the cost model are those of this machine, measured once in a process,
            and what a modelled device (hint device) tells; False: those of the machine that Penstock
            was written on.
        hints: Settings by name; those of `penstock.hints` that are `planned` change the plan.

    Returns:
        A dictionary: method, exchange, reason, alternatives (one dictionary per way: predicted seconds,
        and whether auto may choose it), costs (the constants, in seconds), bounding_section (per
        dimension, in elements), span (bytes of the file), domains (one dictionary per aggregator:
        bytes, rounds, holes), flows (rank, aggregator, bytes), and all as ``text``.

    Raises:
        ArgumentError: For hints that are none, or that no plan can follow.
        SectionError: For a section that does not fit the array.
    """
    settings = _core._Settings(hints)
    per_rank = []
    for entry in sections:
        entries = entry if isinstance(entry, list) else [] if entry is None else [entry]
        per_rank.append([normalize(e, shape, order).section for e in entries])
    return _core._explain(list(shape), np.dtype(dtype).itemsize, order, offset, write,
                          cores or os.cpu_count() or 1, nodes, per_rank, settings, measure)
