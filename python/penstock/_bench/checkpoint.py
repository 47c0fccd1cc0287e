"""`penstock bench checkpoint`: saving and loading sharded tensors, beside what programs do without Penstock."""

from __future__ import annotations

import importlib.util
import statistics
from pathlib import Path
from typing import Any

import typer

from .running import PLACE, RANKS, TIMEOUT, byte_count, measured, save_records


def checkpoint(
    folder: Path = PLACE,
    ranks: int = RANKS,
    size: str = typer.Option("2G", help="Bytes of all tensors."),
    tensors: int = typer.Option(300, min=1, help="Number of tensors."),
    repeat: int = typer.Option(5, min=1, help="Timed repetitions; the median counts."),
    output: Path = typer.Option(Path("penstock-bench"), help="Folder for the measurements, checkpoint.jsonl."),
    mpiexec_timeout: float = TIMEOUT,
) -> None:
    """Save tensors in shards of columns, rows and blocks, and load them in other shards; the ways take turns.

    Compared with a gather to rank 0, which saves with the safetensors package if that is installed, and with np.save of
    a file per rank, which is no standard checkpoint. A save ends when its bytes are on the device (fsync).
    """
    total = byte_count("size", size)
    job = {"size": total, "tensors": tensors, "repeat": repeat,
           "safetensors": importlib.util.find_spec("safetensors") is not None}
    records = measured("penstock._bench.checkpoint_worker", job, folder, ranks, mpiexec_timeout)
    save_records(output / "checkpoint.jsonl", records, ranks=ranks, size=total, tensors=tensors)
    typer.echo(report(records, total, ranks))


def report(records: list[dict[str, Any]], size: int, ranks: int) -> str:
    """A table for each of saves and loads. Peaks: the most that a rank's memory grew by."""
    lines = []
    for what in "save", "load":
        ways = dict.fromkeys(record["way"] for record in records if record["what"] == what)
        lines.append(f"{what}, {size} bytes, {ranks} ranks" + ("" if what == "save" else ", in other shards"))
        lines.append(f"  {'':24}{'seconds':>10}{'MiB/s':>10}{'visible':>10}{'memory':>12}")
        for way in ways:
            these = [record for record in records if record["what"] == what and record["way"] == way]
            seconds, visible = (statistics.median(record[key] for record in these) for key in ("seconds", "visible"))
            peak = max(record["peak"] for record in these) / (1 << 20)
            lines.append(f"  {way:24}{seconds:10.3f}{size / seconds / (1 << 20):10.0f}{visible:10.3f}{peak:8.0f} MiB")
    return "\n".join([*lines, *_ratios(records)])


def _ratios(records: list[dict[str, Any]]) -> list[str]:
    """Of times of the same repetition."""
    def times(what: str, way: str) -> list[float]:
        return [record["seconds"] for record in records if (record["what"], record["way"]) == (what, way)]

    lines = []
    for what, other in ("save", "gather, safetensors"), ("load", "safetensors"):
        ratios = [theirs / ours for theirs, ours in zip(times(what, other), times(what, "penstock"))]
        if ratios:
            lines.append(f"{what}: {statistics.median(ratios):.2f} x as fast as {other}")
    return lines
