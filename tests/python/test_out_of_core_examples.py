"""The out-of-core programs of examples/, checked against NumPy."""

import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from conftest import run_once
from penstock._launch import find_mpiexec

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def run(folder, name, ranks, *arguments):
    command = [find_mpiexec(), "-n", str(ranks), sys.executable, str(EXAMPLES / "python" / name), *map(str, arguments)]
    status, output = run_once(folder, command, 120)
    assert status == 0, output
    return float(re.search(r"largest difference from NumPy: (\S+)", output)[1])


@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_gaxpy(tmp_path, ranks):
    n = 101  # matrices of 80 KiB, with 32 KiB of memory for each
    assert run(tmp_path, "gaxpy.py", ranks, n, "32K") < 1e-12 * n
    a, b, c = (np.load(tmp_path / f"{name}.npy") for name in "abc")
    assert np.abs(a).max() > 1 and not np.array_equal(a, b) and np.allclose(c, a @ b)


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("boundaries", [[], ["send"]], ids=["read", "sent"])
def test_laplace(tmp_path, ranks, boundaries):
    assert run(tmp_path, "laplace.py", ranks, 90, 9, "24K", *boundaries) == 0.0
    cells = np.load(tmp_path / "new.npy")
    assert cells[0].min() == 100 and 0 < cells[9, 45] < cells[1, 45] < 100


def test_cxx(tmp_path):
    program = Path(os.environ["PYTHONPATH"].split(os.pathsep)[0]).parent / "examples" / "example_out_of_core"
    if not program.exists():
        pytest.skip("the examples in C++ are not built")
    status, output = run_once(tmp_path, [find_mpiexec(), "-n", "3", str(program)], 60)
    assert status == 0, output
    squares = np.repeat(np.arange(2000.0)[:, None] ** 2, 300, axis=1)
    assert np.array_equal(np.load(tmp_path / "squares.npy"), squares)
    padded = np.pad(squares, ((1, 1), (0, 0)), mode="edge")
    assert np.array_equal(np.load(tmp_path / "means.npy"), (padded[:-2] + padded[2:]) / 2)
