"""The plan of a described request, without running it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Optional

import numpy as np

from . import _core
from ._distribution import Distribution
from ._hints import check_hints, hint_text
from ._sections import normalize


def explain(shape: Sequence[int], dtype: Any, sections: Sequence[Any], *, order: str = "C", offset: int = 0,
            write: bool = True, cores: Optional[int] = None, nodes: int = 1, **hints: Any) -> Mapping[str, Any]:
    """What a collective call of all ranks would do. Pure: no MPI, no file.

    Parameters
    ----------
    sections: per rank a section, a list of sections, or None.
    cores: processors of a node; default: those of this machine. nodes: over which the ranks are
        spread.
    hints: method, exchange, aggregators, buffer_size, domains, stripe_size, sieve_writes and others.

    Returns a dictionary: method, exchange, reason, alternatives (one dictionary per way: predicted
    seconds, and whether auto may choose it), bounding_section, span, domains (one dictionary per
    aggregator: bytes, rounds, holes), flows (rank, aggregator, bytes), and all as `text`.
    """
    text = hint_text(hints)
    check_hints(text, "a hint")
    per_rank = []
    for entry in sections:
        entries = entry if isinstance(entry, list) else [] if entry is None else [entry]
        per_rank.append([e.section if isinstance(e, Distribution) else normalize(e, shape).section
                         for e in entries])
    return _core._explain(list(shape), np.dtype(dtype).itemsize, order, offset, write,
                          cores or os.cpu_count() or 1, nodes, per_rank, text)
