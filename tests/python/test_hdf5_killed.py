"""Chunked HDF5 datasets: the state of the file when the program that changes it is killed at any step."""

import io
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import penstock as ps
from conftest import environment

h5py = pytest.importorskip("h5py")
from penstock._formats import placing  # noqa: E402


class Steps:
    """The module `os`, with which the Placer changes the file, and a look at the file before and after each change. What
    is in the page cache is what a program that is killed there leaves."""

    def __init__(self, path):
        self.path, self.seen, self.reaches = path, [], None

    def look(self):
        self.seen.append(self.path.read_bytes())
        if len(self.seen) == self.reaches:
            os.kill(os.getpid(), signal.SIGKILL)

    def __getattr__(self, name):
        return self.stepping(getattr(os, name)) if name in ("pwrite", "ftruncate") else getattr(os, name)

    def stepping(self, function):
        def call(*arguments):
            self.look()
            result = function(*arguments)
            self.look()
            return result

        return call


def write_in_steps(steps):
    """Rewrites chunks with other sizes, and adds some."""
    random = np.random.default_rng(4)
    placing.os = steps
    for name in ("place", "publish"):
        setattr(placing.Placer, name, steps.stepping(getattr(placing.Placer, name)))
    with ps.open(steps.path, "r+", shape=(None, 6, 40)) as f:
        for turn in range(3):
            f[turn % 2] = random.integers(0, 9 + 90 * turn, (6, 40))
            for _ in range(20):
                f.append(np.full((6, 40), 10.0 * (turn + 1)))
            f.sync()


def old_file(path, libver):
    with h5py.File(path, "w") as file:
        file.create_group("g").attrs["a"] = 1
    with h5py.File(path, "r+", libver=(libver, "latest")) as file:
        file.create_dataset("g/u", data=np.random.default_rng(3).integers(0, 4, (40, 6, 40)).astype("f8"), chunks=(1, 3, 40),
                            maxshape=(None, 6, 40), compression="gzip")


@pytest.mark.parametrize("libver", ["earliest", "v110"])
def test_files_at_each_step(tmp_path, monkeypatch, libver):
    """Each chunk has its last published state, or the next one."""
    monkeypatch.setattr(placing, "os", os)
    for name in ("place", "publish"):
        monkeypatch.setattr(placing.Placer, name, getattr(placing.Placer, name))
    path = tmp_path / "s.h5"
    old_file(path, libver)
    steps = Steps(path)
    steps.look()
    write_in_steps(steps)
    steps.look()
    states = []
    for content in steps.seen:
        with h5py.File(io.BytesIO(content)) as file:
            there = file["g/u"][()]
        if not states or len(there) > len(states[-1]):
            states.append(there)
    assert [len(state) for state in states] == [40, 60, 80, 100] and len(steps.seen) > 40
    now = 0
    for content in steps.seen:
        with h5py.File(io.BytesIO(content)) as file:
            there = file["g/u"][()]
        now = max(now, [len(state) for state in states].index(len(there)))
        around = [state for state in states[max(now - 1, 0) : now + 2] if len(state) >= len(there)]
        for t, r in np.ndindex(len(there), 2):
            chunk = (t, slice(3 * r, 3 * r + 3))
            assert any(np.array_equal(there[chunk], state[chunk]) for state in around), (now, t, r)


KILLED = """
import pathlib, sys
from test_hdf5_killed import Steps, write_in_steps
steps = Steps(pathlib.Path(sys.argv[1]))
steps.reaches = int(sys.argv[2])
write_in_steps(steps)
"""


@pytest.mark.parametrize("step", [2, 9])
def test_a_program_that_is_killed(tmp_path, step):
    path = tmp_path / "k.h5"
    old_file(path, "v110")
    with h5py.File(path) as file:
        before = file["g/u"][()]
    ended = subprocess.run([sys.executable, "-c", KILLED, path, str(step)], capture_output=True, text=True, timeout=60,
                           env={**environment(), "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *sys.path])})
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    with h5py.File(path, "r+") as file:
        assert np.array_equal(file["g/u"][2:40], before[2:])
    with ps.open(path, "r+", shape=(None, 6, 40)) as f:
        f.append(before[0])
        assert np.array_equal(f[-1], before[0]) and np.array_equal(f[2:40], before[2:])


@pytest.mark.ranks
@pytest.mark.parametrize("ranks", [1, 2])
def test_a_program_that_ends_without_closing_after_a_failed_sync(mpirun, tmp_path, ranks):
    """HDF5 has the file open when it ends by itself, after Python."""
    mpirun("""
import numpy as np, penstock as ps
from mpi4py import MPI
comm = MPI.COMM_WORLD
f = ps.open("y.h5", "w", dataset="u", shape=(16, 8), dtype="f8", chunks=(4, 8), compressors="gzip", comm=comm,
            hints={"device": "fault:sync@0+=EIO"})
d = ps.distribute((16, 8), comm)
def work():  # refers to the module, which is taken apart late then
    f.write(np.ones(d.section.shape), d)
    f.write(np.ones(d.section.shape), d)  # the chunks of the first get their places
    f.sync()
try:
    work()
    raise SystemExit("no error")
except ps.StorageError:
    pass
""", ranks)
    with h5py.File(tmp_path / "y.h5") as file:
        assert (file["u"][:] == 0).all()
