"""Ratios of speeds, from times of the same round: what disturbs a round disturbs both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

Record = dict[str, Any]
DEFAULT = "penstock"  #: the engine with nothing set, until the bytes are in the file
IN_A_BUFFER = "penstock, buffered"


def is_mpi_io(record: Record) -> bool:
    return bool(record.get("kind") == "MPI-IO")


def is_penstock(record: Record) -> bool:
    return bool(record.get("kind") == "Penstock")


def quartiles(values: Sequence[float]) -> list[float]:
    """Lower quartile, median, upper quartile."""
    return [float(q) for q in np.quantile(values, (0.25, 0.5, 0.75))]


def paired(times: Sequence[float], others: Sequence[float]) -> list[float]:
    """How many times as fast as the other, round by round."""
    return [other / mine for mine, other in zip(times, others)]


def snapshots(record: Record) -> list[float]:
    """Seconds of open, write and close, round by round."""
    return [sum(parts) for parts in zip(record["open_times"], record["times"], record["close_times"])]


def compare_methods(records: Iterable[Record]) -> None:
    """Adds to the records of one series of one run what they are of the rod, and of MPI-IO."""
    records = list(records)
    rod = next((r for r in records if r["method"] == "rod"), None)
    peer = next((r for r in records if is_mpi_io(r)), None)
    for r in records:
        others = {**({"of_rod": rod} if rod is not None else {}), **({"of_mpi_io": peer} if peer is not None and is_penstock(r) else {})}
        for name, other in others.items():
            r[f"{name}_pairs"] = paired(r["times"], other["times"])
            _, r[name], _ = quartiles(r[f"{name}_pairs"])
            if "open_times" in r:
                _, r[f"snapshot_{name}"], _ = quartiles(paired(snapshots(r), snapshots(other)))
