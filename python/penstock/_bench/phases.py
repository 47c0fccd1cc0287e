"""What the time of a call went into, in the phases of Dickens and Thakur: redistribution, write, waiting."""

from __future__ import annotations

from typing import Any

import numpy as np

from .methods import PHASES

# Of the recorder's phases. "rest" is what no phase has: the calls themselves, and ranks that come late.
PARTS = {"exchange": ("plan", "exchange"), "copy": ("copy",), "storage": ("storage",), "wait": ("wait", "room")}
REST = "rest"
REDISTRIBUTION = ("exchange", "copy", "wait")  #: what the paper calls the permutation of the data


def phase_seconds(phases: np.ndarray, spans: np.ndarray) -> list[dict[str, float]]:
    """Of each method, seconds of a call: means over repetitions.

    `phases` of [repetition, method, phase], the means of the ranks; `spans` of [repetition, method].
    Where a thread writes beside the exchange the phases overlap, and their sum may exceed the span.
    """
    found = []
    for k in range(spans.shape[1]):
        mean = np.mean(phases[:, k], axis=0)
        told = {part: float(sum(mean[PHASES.index(name)] for name in names)) for part, names in PARTS.items()}
        told[REST] = max(float(np.mean(spans[:, k])) - sum(told.values()), 0.0)
        found.append(told)
    return found


def share(record: dict[str, Any], *parts: str) -> float:
    """The fraction of a call's time that went into these."""
    spent = record["spent"]
    return float(sum(spent[part] for part in parts) / sum(spent.values()))
