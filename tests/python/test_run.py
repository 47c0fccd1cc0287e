"""`penstock run`: which build of the drop-in MPI-IO it preloads, and what a program gets of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from penstock import ArgumentError
from penstock._launch import environment, find_mpiexec
from penstock._run import Library, choose, libraries, loaded_by_mpi4py, needed_by_mpi4py, preloaded

pytestmark = pytest.mark.ranks

PROGRAM = """
from mpi4py import MPI
import numpy as np, sys
comm = MPI.COMM_WORLD
f = MPI.File.Open(comm, sys.argv[1], MPI.MODE_CREATE | MPI.MODE_RDWR)
f.Write_at_all(comm.rank * 800, np.full(100, comm.rank, "f8"))
comm.Barrier()
info = f.Get_info()
back = np.empty(100)
f.Iread_at(((comm.rank + 1) % comm.size) * 800, back).Wait()
assert (back == (comm.rank + 1) % comm.size).all()
f.Close()
if comm.rank == 0:
    print("aggregators", info.Get("penstock_aggregator_ranks"), "stripes", info.Get("penstock_stripe_size"))
"""


def penstock_run(*arguments: str, **extra: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-m", "penstock", "run", *arguments], capture_output=True, text=True,
                          timeout=120, env={**environment(), **extra})


@pytest.fixture
def program(tmp_path: Path) -> list[str]:
    (tmp_path / "program.py").write_text(PROGRAM)
    # mpi4py's runner ends all ranks where one of them raises an error.
    python = [sys.executable, "-m", "mpi4py"]
    return [find_mpiexec(), "-n", "2", *python, str(tmp_path / "program.py"), str(tmp_path / "data")]


def test_a_program_runs_on_penstock_and_says_what_it_did(program: list[str], tmp_path: Path) -> None:
    done = penstock_run("--report", "--hint", "penstock_stripe_size=64K", *program)
    assert done.returncode == 0, done.stderr
    assert "aggregators 0" in done.stdout and "stripes 65536" in done.stdout
    assert "collective write: 1 calls, 1.56 KiB" in done.stderr and "independent read: 2 calls" in done.stderr
    assert os.path.getsize(tmp_path / "data") == 1600


def test_which_names_the_build(program: list[str]) -> None:
    done = penstock_run("--which", *program)
    assert done.returncode == 0 and "libpenstock_mpiio.so" in done.stdout, done.stderr


def test_an_unknown_hint_and_a_bad_one_are_errors(program: list[str]) -> None:
    for name, words in (("penstock_colour", " ("), ("bufer_size", "; did you mean penstock_buffer_size?"),
                        ("cb_nodse", "; did you mean cb_nodes?")):
        done = penstock_run("--hint", f"{name}=1", *program)
        assert done.returncode != 0
        assert f"PENSTOCK_HINTS: hint {name} is not known{words}" in done.stderr + done.stdout
    done = penstock_run("--hint", "romio_no_indep_rw=true", *program)
    assert done.returncode == 0 and "romio_no_indep_rw" not in done.stderr
    done = penstock_run("--hint", "buffer_size=lots", *program)
    assert done.returncode != 0 and "hint penstock_buffer_size" in done.stderr + done.stdout


def test_a_program_gets_threads_only_if_it_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "level.py").write_text("import mpi4py; mpi4py.rc.threads = False\n"
                                       "from mpi4py import MPI; print('level', MPI.Query_thread())")
    command = [find_mpiexec(), "-n", "1", sys.executable, str(tmp_path / "level.py")]
    assert "level 3" not in penstock_run(*command).stdout
    done = penstock_run("--progress-thread", *command)
    assert "level 3" in done.stdout, done.stderr


def test_what_cannot_be_run() -> None:
    assert "which program" in penstock_run().stderr
    assert "no program 'nowhere'" in penstock_run("nowhere").stderr


def test_a_missing_build_is_said_with_what_makes_it(program: list[str]) -> None:
    with pytest.raises(ArgumentError, match="for which there is no drop-in.*for: none.*make dropin"):
        choose(program, [])
    own = libraries()[0]
    other = Library(own.path, "Another MPI", "1.0", "libanother.so.1")
    with pytest.raises(ArgumentError, match="Another MPI 1.0"):
        choose(program, [other])


def test_ranks_of_open_mpi_get_the_settings_through_the_launcher() -> None:
    library = Library(Path("/x.so"), "Open MPI", "5.0", "libmpi.so.40")
    command, mine = preloaded(["mpirun", "-n", "2", "a"], library, {"PENSTOCK_REPORT": "1"})
    assert command[:3] == ["mpirun", "-x", "LD_PRELOAD"] and "PENSTOCK_REPORT" in command
    assert mine["LD_PRELOAD"].startswith("/x.so")


def test_what_mpi4py_loads_is_preloaded_where_the_library_has_another_name() -> None:
    found = loaded_by_mpi4py(sys.executable)
    assert len(found) == 1 and found[0].exists()
    command = ["mpiexec", "-n", "2", sys.executable, "program.py"]
    own = libraries()[0]
    assert needed_by_mpi4py(command, own) == ([] if own.soname.startswith("libmpi.so") else found)
    assert needed_by_mpi4py(["mpiexec", "-n", "2", "./program"], own) == []
    other = Library(own.path, "Another MPI", "1.0", "libanother.so.1")
    with pytest.raises(ArgumentError, match="mpi4py of .* uses .*libmpi.so.* is not Another MPI 1.0"):
        needed_by_mpi4py(command, other)
    _, mine = preloaded(command, own, {}, found)
    assert mine["LD_PRELOAD"].split(":")[:2] == [str(own.path), str(found[0])]
