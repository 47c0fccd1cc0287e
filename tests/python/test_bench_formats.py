"""`penstock bench formats`: all ways write the same array and read it back."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from penstock._bench.formats import report
from penstock._launch import environment


@pytest.mark.ranks
def test_it_measures_all_formats(tmp_path: Path) -> None:
    for package in ("h5py", "h5netcdf", "zarr"):
        pytest.importorskip(package)
    command = [sys.executable, "-m", "penstock", "bench", "formats", tmp_path, "--ranks", "2", "--size", "256K",
               "--repeat", "2", "--output", tmp_path / "out"]
    shown = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=240, check=True).stdout
    for way in (".npy", "HDF5", "HDF5, zstd:1", "netCDF-4", "Zarr", "zarr-python, a rank each", "MPI-IO, write_all",
                "np.memmap", "h5py, gathered on rank 0"):
        assert re.search(rf"^  {re.escape(way)} +[\d.]+ +\d+ +[\d.]+ +\d+ +\d+%$", shown, re.MULTILINE), shown
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    records = [json.loads(line) for line in (tmp_path / "out/formats.jsonl").read_text().splitlines()]
    ways = {record["way"] for record in records}
    assert len(records) == 2 * len(ways) and {record["ranks"] for record in records} == {2}


def test_ratios_are_of_the_same_round() -> None:
    def record(way: str, number: int, turn: int, seconds: float) -> dict[str, object]:
        return {"way": way, "number": number, "round": turn, "bytes": 1000, "stored": 1.0, "write": seconds, "read": 1.0}

    text = report([record("np.memmap", 1, 0, 2.0), record(".npy", 0, 0, 1.0), record(".npy", 0, 1, 4.0),
                   record("np.memmap", 1, 1, 12.0), record(".npy", 0, 2, 2.0), record("np.memmap", 1, 2, 8.0)], ranks=1)
    assert "write, .npy: 3.00 x as fast as np.memmap (2.00 to 4.00)" in text
    assert text.index("  .npy") < text.index("  np.memmap") and "median of 3 rounds" in text
