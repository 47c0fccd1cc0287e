"""The benchmark of containers prints its measurements."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from penstock._launch import environment

for package in ("h5py", "h5netcdf", "xarray"):
    pytest.importorskip(package)

ROOT = Path(__file__).parents[2]


def test_the_bench_measures_all_containers(tmp_path):
    command = [sys.executable, ROOT / "evaluation/programs/formats.py", "--ranks", "2", "--mebibytes", "1", "--repeat", "2", "--folder", tmp_path]
    shown = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=120, check=True).stdout
    for name in ("raw", "npy", "hdf5", "netcdf"):
        assert re.search(rf"^\| {name} \| [\d.]+ \([\d.]+ ±[\d.]+\) \|", shown, re.MULTILINE), shown
    assert list(tmp_path.iterdir()) == []
