"""Several processes that each open a file alone, for writing: refused, with advice what to write instead."""

import os
import subprocess
import sys

import numpy as np
import pytest

from conftest import run_ranks, case_outcomes
from penstock._core import mpi_library_version
from scripts import CASES

pytestmark = pytest.mark.ranks

ALONE = CASES + """
def alone(mode, name, **how):
    return lambda: ps.open(name, mode, shape=(4,), dtype="f8", **how).close()
def old(name):
    np.save(name, np.ones(4)) if rank == 0 else None
    comm.Barrier()
@case
def without_communicator():
    old("a.npy")
    for mode in ("w", "r+"):
        record(alone(mode, "a.npy"))
    comm.Barrier()
    record(lambda: bool((np.load("a.npy") == 1).all()))
    record(alone("w", "new.npy"))
    comm.Barrier()
    record(lambda: os.path.exists("new.npy"))
@case
def reading():
    old("a.npy")
    def read(**how):
        with ps.open("a.npy", **how) as f:
            return bool((f.read(slice(0, 4)) == 1).all())
    record(read)
    record(lambda: read(comm=MPI.COMM_SELF))
@case
def meant_to():
    def write(**how):
        with ps.open(f"self{rank}.npy", "w", shape=(4,), dtype="f8", **how) as f:
            f.write(np.full(4, rank + 1.0), ...)
        return bool((np.load(f"self{rank}.npy") == rank + 1).all())
    record(lambda: write(comm=MPI.COMM_SELF))
    group = comm.Split(rank, 0)
    record(lambda: write(comm=group))
"""


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    return case_outcomes(tmp_path_factory.mktemp("alone"), ALONE)[0]


def test_writing_without_a_communicator_is_refused(alone):
    for outcomes in alone["without_communicator"]:
        assert [kind for kind, _ in outcomes] == ["ArgumentError", "ArgumentError", "", "ArgumentError", ""], outcomes
        assert outcomes[2][1] is True and outcomes[4][1] is False
        for i in (0, 1, 3):
            assert "one of the 3 ranks of MPI" in outcomes[i][1] and "comm=MPI.COMM_WORLD" in outcomes[i][1]
            assert "comm=MPI.COMM_SELF" in outcomes[i][1]


def test_reading_without_a_communicator_is_not(alone):
    assert alone["reading"] == [[["", True]] * 2] * 3


def test_a_communicator_of_one_rank_says_that_it_is_meant(alone):
    assert alone["meant_to"] == [[["", True]] * 2] * 3


def run_one(folder, script, **variables):
    """One process, as a launcher with these variables would have started it."""
    launchers = ("PMI", "OMPI_COMM", "MV2_COMM", "SLURM", "FLUX", "JSM", "PALS")
    env = {name: value for name, value in os.environ.items() if not name.startswith(launchers)}
    head = "import numpy as np, penstock as ps\n"
    return subprocess.run([sys.executable, "-c", head + script], cwd=folder, env={**env, **variables}, text=True,
                          capture_output=True, timeout=60)


WRITE = "ps.open('a.npy', 'w', shape=(4,), dtype='f8').close()\n"


@pytest.mark.parametrize("variable", ["PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE",
                                      "SLURM_STEP_NUM_TASKS", "FLUX_JOB_SIZE", "JSM_NAMESPACE_SIZE",
                                      "PMIX_RANK", "PALS_RANKID", "SLURM_PROCID"])
def test_one_of_several_processes_of_a_launcher(tmp_path, variable):
    done = run_one(tmp_path, WRITE, **{variable: "4"})
    assert done.returncode == 1 and "ArgumentError: 'a.npy' is opened for writing" in done.stderr, done.stderr
    assert f"({variable}=4)" in done.stderr and "comm=MPI.COMM_WORLD" in done.stderr
    assert f"env -u {variable}" in done.stderr
    assert not (tmp_path / "a.npy").exists()


@pytest.mark.parametrize("variables", [
    {"PMI_SIZE": "1", "OMPI_COMM_WORLD_SIZE": "1", "SLURM_STEP_NUM_TASKS": "nonsense"},
    {"SLURM_NTASKS": "4", "SLURM_PROCID": "0"},  # in a batch script, not in a step of it
    {"PMI_SIZE": "1", "PMI_RANK": "0", "SLURM_STEP_NUM_TASKS": "2", "SLURM_PROCID": "1"},  # mpiexec -n 1 there
    {"PMIX_RANK": "0", "PMIX_NAMESPACE": "x"},
], ids=["sizes of 1", "batch script", "mpiexec within srun", "rank 0 of PMIx"])
def test_one_process_of_a_launcher(tmp_path, variables):
    done = run_one(tmp_path, WRITE, **variables)
    assert done.returncode == 0 and (tmp_path / "a.npy").exists(), done.stderr


def test_one_of_several_processes_may_read(tmp_path):
    np.save(tmp_path / "a.npy", np.ones(4))
    done = run_one(tmp_path, "assert (ps.open('a.npy').read(slice(0, 4)) == 1).all()", PMI_SIZE="4")
    assert done.returncode == 0 and done.stderr.count("Error") == 0, done.stderr


def test_a_world_of_one_rank_under_the_launcher_of_another_mpi(tmp_path):
    variable = "OMPI_COMM_WORLD_SIZE" if "MPICH" in mpi_library_version() else "SLURM_STEP_NUM_TASKS"
    script = "from mpi4py import MPI\n" + WRITE.replace("dtype='f8'", "dtype='f8', comm=MPI.COMM_{}")
    done = run_one(tmp_path, script.format("WORLD"), **{variable: "4"})
    name = " ".join(mpi_library_version().splitlines()[0].split(", package")[0].split())
    assert done.returncode != 0 and "the mpiexec of another MPI" in done.stderr, done.stderr
    assert f"Start them with the mpiexec of {name}, or" in " ".join(done.stderr.split()), done.stderr
    assert not (tmp_path / "a.npy").exists()
    done = run_one(tmp_path, script.format("SELF"), **{variable: "4"})
    assert done.returncode == 0 and (tmp_path / "a.npy").exists(), done.stderr


# The last rank forgets `comm` and ends by its exception, as a program does that catches nothing.
FORGETTING = """
import time
import penstock as ps
from mpi4py import MPI
comm = MPI.COMM_WORLD
last = comm.rank == comm.size - 1
{before}
begin = time.monotonic()
try:
    ps.open("a.npy", "w", shape=(4,), dtype="f8", **({{}} if last else {{"comm": comm}})).close()
except ps.Error as error:
    with open(f"outcomes{{comm.rank}}", "w") as outcomes:  # launchers mix what ranks print, even within a line
        outcomes.write(f"rank {{comm.rank}} after {{time.monotonic() - begin:.0f}} s: {{type(error).__name__}}: {{error}}")
    raise
"""
ONE_FILE_BEFORE = 'ps.open("b.npy", "w", shape=(4,), dtype="f8", comm=comm).close()'


@pytest.mark.parametrize("ranks", [2, 5])
def test_ranks_that_wait_for_one_that_forgot_the_communicator_hear_of_it(tmp_path, ranks):
    """If they have opened a file before, and so share memory."""
    output = run_ranks(tmp_path, FORGETTING.format(before=ONE_FILE_BEFORE), ranks, expect=None)
    lines = [file.read_text() for file in sorted(tmp_path.glob("outcomes*"))]
    assert len(lines) == ranks, output
    for line in lines:
        rank, seconds = int(line.split()[1]), int(line.split()[3])
        assert seconds < 8, output  # well before the others would be missed
        if rank == ranks - 1:
            assert "ArgumentError: 'a.npy' is opened for writing without a communicator" in line
        else:
            assert f"StateError: rank {ranks - 1} has ended MPI and will not come to this open" in line
    assert not (tmp_path / "a.npy").exists()


def test_a_rank_that_was_refused_and_goes_on_may_still_come(tmp_path):
    script = """
import penstock as ps
from mpi4py import MPI
comm = MPI.COMM_WORLD
if comm.rank == 1:
    try:
        ps.open("a.npy", "w", shape=(4,), dtype="f8")
    except ps.ArgumentError:
        pass
with ps.open("a.npy", "w", shape=(4,), dtype="f8", comm=comm) as f:
    f.write(None, None)
"""
    run_ranks(tmp_path, script, 3)
    assert np.load(tmp_path / "a.npy").shape == (4,)


def test_a_refused_rank_leaves_nothing_behind_that_the_end_of_mpi_would_stumble_over(tmp_path):
    script = """
import penstock as ps
from mpi4py import MPI
try:
    ps.open("a.npy", "w", shape=(4,), dtype="f8")
except ps.ArgumentError:
    pass
"""
    run_ranks(tmp_path, script, 3)  # MPICH ends with an error where a message was never received
