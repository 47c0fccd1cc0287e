"""`penstock run`: which build of the drop-in MPI-IO it preloads, how it affects a program, and --compare."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from penstock._launch import environment, find_mpiexec
from penstock._run import script

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
# The version text of another MPI's launcher, and a command that prints its arguments.
LAUNCHER = """#!/bin/sh
[ "$1" != --version ] || { echo "mpirun (Open MPI) 4.1.4"; exit; }
echo "$@" "LD_PRELOAD=$LD_PRELOAD"
"""


def penstock_run(*arguments: str, cwd: Path | None = None, **extra: str) -> "subprocess.CompletedProcess[str]":
    """By the command of the package."""
    return subprocess.run([sys.executable, "-m", "penstock", "run", *arguments], capture_output=True, text=True,
                          timeout=120, env={**environment(), **extra}, cwd=cwd)


def script_run(*arguments: str, cwd: Path | None = None, **extra: str) -> "subprocess.CompletedProcess[str]":
    """By the program that needs no Python."""
    return subprocess.run([script(), *arguments], capture_output=True, text=True, timeout=120,
                          env={**environment(), **extra}, cwd=cwd)


@pytest.fixture
def program(tmp_path: Path) -> list[str]:
    (tmp_path / "program.py").write_text(PROGRAM)
    # mpi4py's runner ends all ranks where one of them raises an error.
    python = [sys.executable, "-m", "mpi4py"]
    return [find_mpiexec(), "-n", "2", *python, str(tmp_path / "program.py"), str(tmp_path / "data")]


@pytest.fixture
def other_build(tmp_path: Path) -> Path:
    """The folder of a build for Open MPI 4.1, without an MPI library."""
    folder = tmp_path / "other"
    folder.mkdir()
    subprocess.run(["cp", "/bin/true", folder / "libpenstock_mpiio.so"], check=True)
    (folder / "mpi.json").write_text('{"mpi": "Open MPI", "version": "4.1"}')
    (folder / "penstock-run").write_bytes(Path(script()).read_bytes())
    (folder / "penstock-run").chmod(0o755)
    (folder / "mpirun").write_text(LAUNCHER)
    (folder / "mpirun").chmod(0o755)
    return folder


def test_a_program_runs_on_penstock_and_says_what_it_did(program: list[str], tmp_path: Path) -> None:
    done = penstock_run("--report", "--hint", "penstock_stripe_size=64K", *program)
    assert done.returncode == 0, done.stderr
    assert "aggregators 0" in done.stdout and "stripes 65536" in done.stdout
    assert "collective write: 1 calls, 1.56 KiB" in done.stderr and "independent read: 2 calls" in done.stderr
    assert os.path.getsize(tmp_path / "data") == 1600


def test_which_names_the_build(program: list[str]) -> None:
    done = script_run("--which", *program)
    assert done.returncode == 0 and "libpenstock_mpiio.so" in done.stdout, done.stderr
    assert penstock_run("--which", *program).stdout == done.stdout


def test_an_unknown_hint_and_a_bad_one_are_errors(program: list[str]) -> None:
    for name, words in (("penstock_colour", " ("), ("bufer_size", "; did you mean penstock_buffer_size?"),
                        ("cb_nodse", "; did you mean cb_nodes?")):
        done = script_run("--hint", f"{name}=1", *program)
        assert done.returncode != 0
        assert f"PENSTOCK_HINTS: hint {name} is not known{words}" in done.stderr + done.stdout
    done = script_run("--hint=romio_no_indep_rw=true", *program)
    assert done.returncode == 0 and "romio_no_indep_rw" not in done.stderr
    done = script_run(*program, ROMIO_HINTS="/nowhere")
    assert done.returncode == 0 and done.stderr.count("/nowhere (ROMIO_HINTS): there is no such file") == 1
    done = script_run("--hint", "buffer_size=lots", *program)
    assert done.returncode != 0 and "hint penstock_buffer_size" in done.stderr + done.stdout


@pytest.mark.parametrize("given, wanted, said", [
    ("", "nc_driver=mpiio;nc_pncio=disable", ""),
    ("cb_nodes=4", "cb_nodes=4;nc_driver=mpiio;nc_pncio=disable", ""),
    ("nc_driver = mpiio; nc_pncio=disable", "nc_driver = mpiio; nc_pncio=disable", ""),
    ("nc_driver=gio", "nc_driver=gio;nc_pncio=disable", "PNETCDF_HINTS=nc_driver=gio PnetCDF bypasses MPI-IO"),
])
def test_pnetcdf_uses_mpi_io_unless_its_hints_ask_for_something_else(given: str, wanted: str, said: str) -> None:
    done = script_run("sh", "-c", 'echo "<$PNETCDF_HINTS>"', PNETCDF_HINTS=given)
    assert done.stdout.strip() == f"<{wanted}>" and said in done.stderr, done.stderr
    assert bool(said) == ("penstock run:" in done.stderr)


def test_a_program_gets_threads_only_if_it_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "level.py").write_text("import mpi4py; mpi4py.rc.threads = False\n"
                                       "from mpi4py import MPI; print('level', MPI.Query_thread())")
    command = [find_mpiexec(), "-n", "1", sys.executable, str(tmp_path / "level.py")]
    assert "level 3" not in script_run(*command).stdout
    done = script_run("--progress-thread", *command)
    assert "level 3" in done.stdout, done.stderr


def test_what_cannot_be_run() -> None:
    assert "which program" in penstock_run().stderr
    assert "no program 'nowhere'" in penstock_run("nowhere").stderr
    assert "no option --reprot" in penstock_run("--reprot", "true").stderr
    assert "--compare" in penstock_run("--help").stdout


def test_a_missing_build_is_said_with_what_makes_it(program: list[str], other_build: Path) -> None:
    done = subprocess.run([other_build / "penstock-run", *program], capture_output=True, text=True, env=environment())
    version = "there is no drop-in MPI-IO; builds are there for: Open MPI 4.1. `make dropin MPICC=...`"
    assert done.returncode == 2
    launcher = subprocess.run([program[0], "--version"], capture_output=True, text=True).stdout
    if not re.search(r"(Open MPI|OpenRTE)\)? v?4\.", launcher):
        assert f"{program[0]} is that of " in done.stderr and version in done.stderr
    (other_build / "mpi.json").unlink()
    done = subprocess.run([other_build / "penstock-run", *program], capture_output=True, text=True, env=environment())
    assert "no drop-in MPI-IO was found; builds are there for: none. `make dropin MPICC=...`" in done.stderr


def test_ranks_of_open_mpi_get_the_settings_through_the_launcher(other_build: Path) -> None:
    env = {**os.environ, "PENSTOCK_DROPIN": "/nowhere"}
    done = subprocess.run([other_build / "penstock-run", "--report", "--hint", "cb_nodes=2", "env", "A=b c",
                           other_build / "mpirun", "-n", "2", "a"], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    words, preload = done.stdout.strip().split(" LD_PRELOAD=")
    assert words.startswith("-x LD_PRELOAD -x PENSTOCK_") and words.endswith("-n 2 a")
    assert all(f"-x {name}" in words for name in ("PENSTOCK_REPORT", "PENSTOCK_HINTS", "PENSTOCK_DROPIN", "PNETCDF_HINTS"))
    assert preload == str(other_build / "libpenstock_mpiio.so")


def test_what_mpi4py_loads_must_be_the_library_of_the_launcher(other_build: Path) -> None:
    """The build here has another soname (none), so what mpi4py loads is looked at."""
    done = subprocess.run([other_build / "penstock-run", other_build / "mpirun", sys.executable, "x.py"],
                          capture_output=True, text=True, env=environment())
    assert done.returncode == 2 and f"mpi4py of {sys.executable} uses /" in done.stderr, done.stderr
    assert "which is not Open MPI 4.1 ()" in done.stderr


REPORTED = """
from mpi4py import MPI
import numpy as np, sys, time
comm = MPI.COMM_WORLD
f = MPI.File.Open(comm, sys.argv[1], MPI.MODE_CREATE | MPI.MODE_RDWR)
part = np.full(4 << 20, comm.rank, "u1")
back = np.empty_like(part)
for i in range(4):
    f.Write_at_all((2 * i + comm.rank) * part.size, part)
request = f.Iwrite_at_all((8 + comm.rank) * part.size, part)
time.sleep(0.05)
request.Wait()
f.Read_at_all((8 + comm.rank) * part.size, back)
f.Write_at((10 + comm.rank) * part.size, part[:1000])
f.Close()
assert (back == part).all()
"""


def milliseconds(words: str) -> float:
    value, unit = words.split()
    return float(value) * {"ms": 1, "s": 1000}[unit]


def test_what_a_report_says_adds_up(tmp_path: Path) -> None:
    """Seconds have three digits each. Buffered bytes are included."""
    (tmp_path / "program.py").write_text(REPORTED)
    done = penstock_run("--report", find_mpiexec(), "-n", "2", sys.executable, str(tmp_path / "program.py"),
                        str(tmp_path / "data"))
    assert done.returncode == 0, done.stderr
    kinds = re.findall(r"^  (\w+ \w+): \S+ calls, (.*), (.*) a rank$", done.stderr, re.MULTILINE)
    assert [kind[:2] for kind in kinds] == [("collective read", "8 MiB"), ("independent write", "1.95 KiB"),
                                            ("collective write", "40 MiB")]
    assert re.search(r"storage: \d+ reads of 8 MiB, \d+ writes of 40 MiB", done.stderr), done.stderr
    assert re.search(r"beside the program: 40 MiB buffered", done.stderr), done.stderr
    (whole, words), = re.findall(r"^  a rank's (\S+ m?s) in calls: (.*)$", done.stderr, re.MULTILINE)
    parts = {name: milliseconds(time) for name, time in re.findall(r"([a-z ]+?) ([\d.]+ m?s)(?:, |$)", words)}
    assert {"storage", "copies", "waiting for others", "planning", "requests", "other"} < set(parts)
    assert sum(parts.values()) == pytest.approx(milliseconds(whole), rel=0.01, abs=0.01), done.stderr
    assert sum(milliseconds(kind[2]) for kind in kinds) == pytest.approx(milliseconds(whole), rel=0.01, abs=0.01)


COMPARED = """
from mpi4py import MPI
import numpy as np, os, sys
comm = MPI.COMM_WORLD
assert open("input").read() == "as it was"
f = MPI.File.Open(comm, sys.argv[1], MPI.MODE_CREATE | MPI.MODE_RDWR)
f.Write_at_all(comm.rank * 800, np.full(100, comm.rank, "f8"))
f.Close()
if comm.rank == 0:
    open("input", "w").write("by the program")
    EXTRA
"""


@pytest.fixture
def compare(tmp_path: Path):  # type: ignore[no-untyped-def]
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "input").write_text("as it was")

    def compare(extra: str, *options: str, file: str = "data") -> "subprocess.CompletedProcess[str]":
        (folder / "program.py").write_text(COMPARED.replace("EXTRA", extra))
        done = script_run("--compare", *options, find_mpiexec(), "-n", "2", sys.executable, "-m", "mpi4py",
                          str(folder / "program.py"), file, cwd=folder)
        assert (folder / "input").read_text() == "as it was"  # nothing here is changed
        assert not (folder / "data").exists()
        return done
    return compare


def test_a_program_that_does_the_same_is_alike(compare, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    done = compare("pass")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["exit", "code", "0", "0"] in lines and ["data", "1.6", "KiB", "1.6", "KiB", "same"] in lines
    assert ["input", "14", "B", "14", "B", "same"] in lines and "collective write: 1 calls" in done.stdout
    assert "program.py" not in [line[0] for line in lines if line]  # not written
    assert done.stdout.splitlines()[-1].startswith("Alike: ")
    assert sorted(path.name for path in (tmp_path / "work").iterdir()) == ["input", "program.py"]


def test_a_program_that_does_not_the_same_is_told(compare, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """The program detects Penstock."""
    done = compare("with_it = 'LD_PRELOAD' in os.environ; open('log', 'w').write('abc' + str(with_it));"
                   "open('with' if with_it else 'without', 'w').close(); sys.exit(3 if with_it else 0)")
    assert done.returncode == 1, done.stdout + done.stderr
    for words in ("NOT ALIKE: the exit codes differ", "DIFFERENT from byte 4 on", "DIFFERENT: missing with Penstock",
                  "DIFFERENT: there only with Penstock", "NOT ALIKE: 3 of 5 files differ", "data "):
        assert words in done.stdout, done.stdout
    (left,) = (tmp_path / "work").glob("penstock-compare.*")
    assert (left / "with/log").read_text() == "abcTrue"


def test_what_differs_anyway_is_told_as_such(compare) -> None:  # type: ignore[no-untyped-def]
    extra = "import time; open('log', 'w').write(str(time.time_ns()))"
    done = compare(extra)
    assert done.returncode == 1 and "so do two runs without Penstock" in done.stdout, done.stdout
    done = compare(extra, "--files", "da*")
    assert done.returncode == 0 and "log" not in done.stdout, done.stdout


def test_nothing_to_compare_is_not_alike(compare, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    done = compare("pass", file=str(tmp_path / "elsewhere"))
    assert done.returncode == 1 and f"{tmp_path / 'elsewhere'} is outside of the folder of the runs" in done.stdout
    done = compare("pass", "--files", "*.nc")
    assert done.returncode == 1 and "no file in its working folder that --files names" in done.stdout
    done = script_run("--compare", find_mpiexec(), "-n", "1", "touch", "made", cwd=tmp_path / "work")
    assert done.returncode == 1 and "Penstock has opened no file" in done.stdout
