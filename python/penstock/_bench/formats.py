"""`penstock bench formats`: one array into files of each format, beside what programs do without Penstock."""

from __future__ import annotations

import importlib.util
import statistics
from pathlib import Path
from typing import Any

import typer

from .running import PLACE, RANKS, TIMEOUT, byte_count, measured, save_records

CODEC = "the codec alone (zstd:1)"
#: A way, and what its time is divided by: of the same round.
COMPARED = (("Zarr", "zarr-python, a rank each"), ("Zarr, zstd:1", "zarr-python, zstd:1"), ("Zarr, zstd:1", CODEC),
            ("HDF5, zstd:1", CODEC), (".npy", ".npy, unbuffered"), (".npy", "MPI-IO, write_all"), (".npy", "np.memmap"),
            ("HDF5", "h5py, gathered on rank 0"), ("HDF5", "parallel HDF5"))


def formats(
    folder: Path = PLACE,
    ranks: int = RANKS,
    size: str = typer.Option("256M", help="Bytes of the array of doubles, a square in blocks."),
    repeat: int = typer.Option(7, min=1, help="Timed rounds, after one that is not counted; the median counts."),
    output: Path = typer.Option(Path("penstock-bench"), help="Folder for the measurements, formats.jsonl."),
    mpiexec_timeout: float = TIMEOUT,
) -> None:
    """Write an array into a new file of each format and read it back; every way in turn.

    A write is open, write and close; a read is open, read and close. Neither waits for the device. Beside it, where
    they are installed: zarr-python by each rank, h5py on rank 0 with all gathered there, a np.memmap of each rank,
    the MPI library's collective calls, and the codec alone on the chunks of all ranks, which writes nothing.
    """
    job = {"size": byte_count("size", size), "repeat": repeat, "codec": CODEC,
           "has": [*(name for name in ("h5py", "h5netcdf", "zarr", "numcodecs") if importlib.util.find_spec(name)),
                   *(["parallel HDF5"] if _has_parallel_hdf5() else [])]}
    records = measured("penstock._bench.formats_worker", job, folder, ranks, mpiexec_timeout)
    save_records(output / "formats.jsonl", records, ranks=ranks, size=job["size"])
    typer.echo(report(records, ranks))


def _has_parallel_hdf5() -> bool:
    try:
        import h5py
    except ImportError:
        return False
    return bool(h5py.get_config().mpi)


def report(records: list[dict[str, Any]], ranks: int) -> str:
    """Medians in milliseconds, and ratios of times of the same round with their quartiles."""
    records = sorted(records, key=lambda record: (record["round"], record["number"]))
    size, stored = records[0]["bytes"], {record["way"]: record["stored"] for record in records}
    lines = [f"{size} bytes of doubles, a square in blocks, {ranks} ranks, new files: median of {_rounds(records)} rounds",
             f"  {'':28}{'write ms':>10}{'MB/s':>8}{'read ms':>10}{'MB/s':>8}{'stored':>8}"]
    for way, share in stored.items():
        cells = "".join(_cells(_times(records, way, what), size) for what in ("write", "read"))
        lines.append(f"  {way:28}{cells}" + (f"{share:7.0%}" if share else ""))
    return "\n".join([*lines, *_ratios(records)])


def _rounds(records: list[dict[str, Any]]) -> int:
    return 1 + max(record["round"] for record in records)


def _times(records: list[dict[str, Any]], way: str, what: str) -> list[float]:
    return [record[what] for record in records if record["way"] == way and what in record]


def _cells(times: list[float], size: int) -> str:
    if not times:
        return " " * 18
    middle = statistics.median(times)
    return f"{middle * 1e3:10.1f}{size / middle / 1e6:8.0f}"


def _ratios(records: list[dict[str, Any]]) -> list[str]:
    lines = []
    for way, other in COMPARED:
        pairs = zip(_times(records, way, "write"), _times(records, other, "write"))
        ratios = sorted(theirs / ours for ours, theirs in pairs)
        if ratios:
            low, high = ratios[len(ratios) // 4], ratios[-1 - len(ratios) // 4]
            lines.append(f"write, {way}: {statistics.median(ratios):.2f} x as fast as {other} ({low:.2f} to {high:.2f})")
    return lines
