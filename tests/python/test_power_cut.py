"""Power cuts at any moment: each possible state of the device is opened."""

import sys
from pathlib import Path

import numpy as np
import penstock as ps
import pytest

from conftest import find_mpiexec, run_once

sys.path.insert(0, str(Path(__file__).parents[1] / "power_cut"))
from replay import lay_out, states  # noqa: E402

RECORDER = Path(ps.__file__).parents[2] / "tests/power_cut/libpower_cut_recorder.so"
HEAD = """
import os, sys
import numpy as np
import penstock as ps
from mpi4py import MPI
comm = MPI.COMM_WORLD
def done(step):  # as far as the program is
    comm.Barrier()
    if comm.rank == 0:
        os.mkdir(f"mark-{step}")
    comm.Barrier()
def shares(shape):
    d = ps.distribute(shape, comm)
    return d, lambda value: np.full(d.section.shape, float(value))
"""


@pytest.fixture
def power_cuts(tmp_path):
    """power_cuts(script): runs it on 2 ranks, and yields (how far it was, what the state is, a folder with it)."""

    def run(script):
        root, log, state = tmp_path / "disk", tmp_path / "log", tmp_path / "state"
        root.mkdir()
        (tmp_path / "script.py").write_text(HEAD + script)
        settings = [f"LD_PRELOAD={RECORDER}", f"PENSTOCK_RECORD_FOLDER={root}", f"PENSTOCK_RECORD_LOG={log}"]
        status, output = run_once(root, [find_mpiexec(), "-n", "2", "env", *settings, sys.executable,
                                         str(tmp_path / "script.py")], 120)
        assert status == 0, output
        count = 0
        for far, name, files in states(log, root):
            count += 1
            lay_out(files, str(root), state)
            yield far, name, state
        assert count > 20

    return run


def one_value(values):
    assert len(set(values.flat)) <= 1, values
    return float(values.flat[0]) if values.size else None


REPLACING = """
d, mine = shares((6, 8))
for generation in range(1, 4):
    with ps.open("f.npy", "w", shape=(6, 8), dtype="f8", comm=comm, replace=generation > 1) as f:
        f.write(mine(generation), d)
        f.attrs["generation"] = generation
        f.sync()
    done(generation)
"""


def test_a_file_that_is_replaced_is_the_old_one_or_the_new_one(power_cuts):
    for far, name, folder in power_cuts(REPLACING):
        if far == 0:
            continue
        with ps.open(folder / "f.npy") as f:
            value, attributes = one_value(f[...]), dict(f.attrs)
        assert value in (far, far + 1), (name, value)
        assert attributes == {"generation": value}, (name, value, attributes)


GROWING = """
d, mine = shares((8,))
columns = lambda: (d.section,)
def grow(path, **how):
    with ps.open(path, "w", shape=(None, 8), dtype="f8", comm=comm, **how) as f:
        f.sync()
        done(1)
        for step in range(1, 4):
            f.append(mine(step), d)
            f.sync()
            done(1 + step)
        f.append(mine(4), d)
    done(5)
    with ps.open(path, "r+", shape=(None, 8), comm=comm) as f:
        f.append(mine(5), d)
        f.sync()
    done(6)
"""
SYNCED = {0: 0, 1: 0, 2: 1, 3: 2, 4: 3, 5: 4, 6: 5}  #: rows, by how far the program is


def check_rows(rows, far, name):
    """Synced rows are there as written; other rows only if they were being written."""
    assert SYNCED[far] <= len(rows) <= 5, (name, rows.shape)
    for step in range(SYNCED[far]):
        assert (rows[step] == step + 1).all(), (name, rows)
    for step in range(SYNCED[far], len(rows)):  # written since: of each byte the new value, or none
        assert np.isin(rows[step], [step + 1, 0]).all(), (name, rows)


def test_an_npy_file_that_grows_keeps_what_was_synced(power_cuts):
    for far, name, folder in power_cuts(GROWING + 'grow("f.npy")'):
        if far == 0:
            continue
        check_rows(np.load(folder / "f.npy"), far, name)
        with ps.open(folder / "f.npy", "r+", shape=(None, 8)) as f:
            rows = f[...]
            check_rows(rows, far, name)
            f.append(np.full(8, 9.0))
        assert (np.load(folder / "f.npy")[-1] == 9).all(), name
        assert len(np.load(folder / "f.npy")) == len(rows) + 1, name


@pytest.mark.parametrize("chunks", [(1, 4), (2, 8)])
def test_a_zarr_array_that_grows_keeps_what_was_synced(power_cuts, chunks):
    for far, name, folder in power_cuts(GROWING + f'grow("f.zarr", chunks={chunks})'):
        if far == 0:
            continue
        with ps.open(folder / "f.zarr", "r+", shape=(None, 8)) as f:
            check_rows(f[...], far, name)
            f.append(np.full(8, 9.0))
            assert (f[-1] == 9).all(), name


REWRITING = """
with ps.open("f.zarr", "w", shape=(4, 6), dtype="f8", comm=comm, chunks=(2, 3), attributes={"generation": 0}) as f:
    d, mine = shares((4, 6))
    f.write(mine(1), d)
    f.sync()
    done(1)
    for generation in (2, 3):
        f.write(mine(generation), d)
        f.attrs["generation"] = generation
        done(2 * generation - 2)
        f.sync()
        done(2 * generation - 1)
"""


def test_a_chunk_that_is_rewritten_has_nothing_wrong(power_cuts):
    """It is the old one or the new one, or is reported as damaged if the file system stores the new name first."""
    for far, name, folder in power_cuts(REWRITING):
        if far == 0:
            continue
        synced = (far + 1) // 2
        with ps.open(folder / "f.zarr") as f:
            for row in (0, 2):
                for column in (0, 3):
                    try:
                        value = one_value(f[row:row + 2, column:column + 3])
                    except ps.FormatError as error:
                        assert "has 0 bytes" in str(error) and "all" not in name.split(), (name, error)
                        continue
                    assert value in (synced, synced + 1), (name, row, column, value)
            if far > 1:
                assert f.attrs["generation"] >= synced - 1, name
