"""Programs that end without a close: their data is in the file, or they report that it is lost."""

import os
import subprocess
import sys

import numpy as np
import pytest

from scripts import HEAD

ENDS = {
    "at the end": "",
    "sys.exit": "import sys; sys.exit(0)",
    "dropped": "del f",
    "after MPI": "MPI.Finalize()",
    "after MPI, dropped": "MPI.Finalize(); del f",
}
UNCLOSED = """
n = 1 << 20
hints = {"device": DEVICE, "method": METHOD}
f = ps.open("a", "w", shape=(size * n,), dtype="u1", comm=comm, hints=hints)
f.write(np.full(n, rank + 1, "u1"), slice(rank * n, (rank + 1) * n))
"""


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("method", [pytest.param("direct", marks=pytest.mark.slow), "extended"])
@pytest.mark.parametrize("ranks", [pytest.param(1, marks=pytest.mark.slow), 3])
def test_data_of_a_file_that_is_never_closed_is_written(mpirun, tmp_path, ranks, method, end):
    script = HEAD + f"DEVICE, METHOD = 'paced:bandwidth=8M', {method!r}\n" + UNCLOSED + ENDS[end]
    output = mpirun(script, ranks)
    content = np.fromfile(tmp_path / "a", "u1").reshape(ranks, -1)
    assert (content == np.arange(1, ranks + 1)[:, None]).all()
    assert "'a' was never closed" in output and "LOST" not in output


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("ranks", [pytest.param(1, marks=pytest.mark.slow), 3])
def test_data_that_is_lost_without_a_close_is_told(mpirun, ranks, end):
    victim = ranks - 1
    script = HEAD + f"DEVICE, METHOD = 'fault:write@0+=ENOSPC,rank={victim}', 'direct'\n" + UNCLOSED + ENDS[end]
    output = mpirun(script, ranks)
    assert output.count("LOST DATA") == 1, output
    line = next(line for line in output.splitlines() if "LOST DATA" in line)
    assert (f"rank {victim}" in line or ranks == 1) and "No space left" in line and "write 1 of the file" in line


@pytest.mark.parametrize("end", ["", "import sys; sys.exit(0)", "del f", "raise SystemExit(0)"])
@pytest.mark.parametrize("device", ["paced:bandwidth=8M", "fault:write@0=EIO"])
def test_without_mpi(tmp_path, device, end):
    script = ("import numpy as np, penstock as ps\n"
              f"f = ps.open('a', 'w', shape=(1 << 20,), dtype='u1', hints={{'device': {device!r}}})\n"
              "h = f.write_begin(np.ones(1 << 20, 'u1'), ..., background='storage', method='extended')\n" + end)
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, text=True, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    if device.startswith("fault"):
        assert done.stderr.count("LOST DATA") == 1 and "errno 5" in done.stderr, done.stderr
    else:
        assert (np.fromfile(tmp_path / "a", "u1") == 1).all()
        assert done.stderr.count("never closed") == 1 and "LOST" not in done.stderr, done.stderr


def test_what_is_closed_is_closed_in_silence(mpirun):
    output = mpirun(HEAD + """
n = 1 << 16
mine = slice(rank * n, (rank + 1) * n)
f = ps.open("a", "w", shape=(size * n,), dtype="u1", comm=comm)
f.write(np.ones(n, "u1"), mine)
f.close()
with ps.open("b", "w", shape=(size * n,), dtype="u1", comm=comm) as f:
    f.write_begin(np.ones(n, "u1"), mine)
f = ps.open("c", "w", shape=(size * n,), dtype="u1", comm=comm)
f.write_begin(np.ones(n, "u1"), mine, background="all")
f.close(wait=False)
f = ps.open("d", "w", shape=(size * n,), dtype="u1", comm=comm)
f.write(np.ones(n, "u1"), mine)
f.sync()  # what is on the device needs no close
""", 3)
    assert "penstock" not in output, output


KILLED = """
n = 1 << 18
f = ps.open("a", "w", shape=(20, size * n), dtype="u1", comm=comm, hints={"device": "paced:bandwidth=5M"})
mine = slice(rank * n, (rank + 1) * n)
for turn in range(20):
    f.write(np.full((1, n), 1 + rank, "u1"), (slice(turn, turn + 1), mine), exchange="node", method="extended")
    if turn == 3:
        f.sync()
comm.Barrier()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_run_keeps_what_was_synced_and_leaves_nothing_behind(mpirun, tmp_path):
    before = set(os.listdir("/dev/shm"))
    mpirun(HEAD + KILLED, 3, expect=None)
    content = np.fromfile(tmp_path / "a", "u1").reshape(20, 3, -1)
    whole = content == np.arange(1, 4)[:, None]
    assert whole[:4].all() and (whole | (content == 0)).all()
    assert not whole.all(), "it was killed too late to tell anything"
    assert not [name for name in set(os.listdir("/dev/shm")) - before if "penstock" in name]
