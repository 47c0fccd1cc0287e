"""The fixture that all tests with several ranks stand on."""

import os
import sys
import time

import pytest


def test_all_ranks_are_one_program(mpirun, tmp_path):
    script = tmp_path / "sum.py"
    script.write_text(
        "from mpi4py import MPI\n"
        "ranks = MPI.COMM_WORLD.gather(MPI.COMM_WORLD.rank)\n"
        "if ranks: print(*ranks)\n"
    )
    done = mpirun(script, 3)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["0", "1", "2"]


def test_failure_is_returned(mpirun):
    assert mpirun(["-c", "import sys; sys.exit(7)"], 2).returncode != 0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
def test_hanging_ranks_are_killed(mpirun, tmp_path):
    program = (
        "import os, sys, time; from mpi4py import MPI\n"
        "open(os.path.join(sys.argv[1], str(os.getpid())), 'w').close(); time.sleep(600)"
    )
    with pytest.raises(pytest.fail.Exception, match="ran longer than"):
        mpirun(["-c", program, str(tmp_path)], 2, timeout=6)
    ranks = [int(name) for name in os.listdir(tmp_path)]
    assert len(ranks) == 2
    for _ in range(50):  # the killed are gone once somebody has waited for them
        if not any(_alive(rank) for rank in ranks):
            return
        time.sleep(0.1)
    pytest.fail(f"still alive: {ranks}")


def _alive(process):
    try:
        with open(f"/proc/{process}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
