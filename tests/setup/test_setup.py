"""scripts/setup.sh and `make demo` in a copy of the source tree, where an environment is active, another mpicc is on
PATH, a run is interrupted or fails. Run by `make test-setup`."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
# What the shell that runs these tests may have active.
PLAIN_PATH = os.pathsep.join(folder for folder in os.environ["PATH"].split(os.pathsep)
                             if not (Path(folder).parent / "pyvenv.cfg").exists())


def environment(*first, **variables):
    """A shell's, with folders before its PATH."""
    hidden = ("VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME", "PENSTOCK_", "MAKE", "MFLAGS")
    env = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    return {**env, "PATH": os.pathsep.join([*map(str, first), PLAIN_PATH]), **variables}


def run(*command, folder, env, expect=0, timeout=1200):
    done = subprocess.run([str(word) for word in command], cwd=folder, env=env, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout)
    assert expect is None or (done.returncode == 0) == (expect == 0), done.stdout
    return done.stdout


def probe(tree):
    """The output of the tree's environment, which shows that it works."""
    script = "import sys, numpy, mpi4py, rich; print(sys.prefix)"
    return run(tree / ".venv/bin/python", "-c", script, folder="/", env=environment()).strip()


def add_line(tree):
    """A package that is not there yet, and takes its time. Returns what undoes it."""
    file = tree / "requirements.txt"
    text = file.read_text()
    file.write_text(text + "scipy\n")
    return lambda: file.write_text(text)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of what git has, and what it does not ignore."""
    copy = tmp_path_factory.mktemp("copy") / "penstock"
    names = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], cwd=SOURCE,
                           stdout=subprocess.PIPE, check=True).stdout.decode()
    for name in names.split("\0"):
        if (SOURCE / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(SOURCE / name, copy / name)
    return copy


@pytest.fixture(scope="module")
def foreign(tmp_path_factory):
    """Another virtual environment, with an mpicc that must not be used."""
    folder = tmp_path_factory.mktemp("foreign") / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", folder, folder="/", env=environment())
    broken_mpicc(folder / "bin")
    return folder


def broken_mpicc(folder):
    folder.mkdir(exist_ok=True)
    (folder / "mpicc").write_text("#!/bin/sh\necho the foreign mpicc was called >&2\nexit 1\n")
    (folder / "mpicc").chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def prepared(tree, foreign):
    """The output of the first `make setup`, in a shell with an active environment."""
    return run("make", "setup", folder=tree, env=environment(foreign / "bin", VIRTUAL_ENV=str(foreign)))


def test_an_active_environment_is_left_alone(tree, foreign, prepared):
    assert "ready:" in prepared and str(foreign) not in (tree / "build/default/env.sh").read_text()
    assert "the foreign mpicc was called" not in (tree / "build/default/setup.log").read_text()
    assert probe(tree) == str(tree / ".venv")
    assert not (foreign / "lib/libmpi.so.12").exists() and not list(foreign.glob("lib/python*/site-packages/mpi4py"))


def test_nothing_is_prepared_again_once_it_is_deactivated(tree, prepared):
    assert run("make", "setup", folder=tree, env=environment()) == ""


def test_an_mpi_that_is_installed_later_changes_nothing(tree, prepared, tmp_path):
    chosen = (tree / "build/default/env.sh").read_text()
    python = (tree / ".venv/bin/python").lstat()
    folder = broken_mpicc(tmp_path / "bin")
    assert run("make", "setup", folder=tree, env=environment(folder)) == ""
    assert (tree / "build/default/env.sh").read_text() == chosen
    assert (tree / ".venv/bin/python").lstat() == python


def test_an_mpicc_that_does_not_work_is_left_out_and_named(tree, tmp_path):
    folder, other = broken_mpicc(tmp_path / "bin"), tmp_path / "other"
    shutil.copytree(tree, other, ignore=shutil.ignore_patterns("build", ".venv*", "dist"))
    said = run("scripts/setup.sh", "default", "demo", folder=other, env=environment(folder))
    assert f"{folder}/mpicc is left out: it compiles no MPI program" in said and "ready:" in said
    assert str(folder) not in (other / "build/default/env.sh").read_text()


def test_an_mpi_that_is_gone_is_said(tree, prepared):
    file = tree / "build/default/env.sh"
    chosen = file.read_text()
    file.write_text(re.sub('PENSTOCK_MPICC="[^"]*"', 'PENSTOCK_MPICC="/gone/mpicc"', chosen))
    said = run("make", "setup", folder=tree, env=environment(), expect=1)
    file.write_text(chosen)
    assert "default was set up with /gone/mpicc, which is no longer there" in said and "make clean" in said
    assert run("make", "setup", folder=tree, env=environment()) == ""


def test_packages_that_cannot_be_had_leave_the_environment_that_there_was(tree, prepared):
    run("make", "setup", folder=tree, env=environment())
    undo = add_line(tree)
    said = run("make", "setup", folder=tree, expect=1, env=environment(
        PIP_INDEX_URL="http://127.0.0.1:9/simple", PIP_RETRIES="0", PIP_NO_CACHE_DIR="1"))
    assert "setup: this failed:" in said and "pip install" in said
    assert probe(tree) == str(tree / ".venv")
    undo()
    assert run("make", "setup", folder=tree, env=environment()) == ""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "killed"])
def test_an_interrupted_setup_leaves_the_environment_that_there_was(tree, prepared, how):
    run("make", "setup", folder=tree, env=environment())
    undo = add_line(tree)
    # What runs these tests may ignore SIGINT, as shells let their background jobs do.
    process = subprocess.Popen(["env", "--default-signal=INT", "scripts/setup.sh"], cwd=tree, env=environment(),
                               start_new_session=True, text=True, stdout=subprocess.PIPE)
    for line in process.stdout:
        if "installing -r requirements.txt" in line:
            break
    time.sleep(2)
    assert process.poll() is None
    os.killpg(process.pid, how)  # as a terminal does
    assert process.wait(timeout=60) != 0
    undo()
    assert run("make", "setup", folder=tree, env=environment()) == ""
    assert probe(tree) == str(tree / ".venv")


def test_make_demo_and_then_the_package_and_the_command_in_any_folder(tree, foreign, prepared, tmp_path):
    active = environment(foreign / "bin", VIRTUAL_ENV=str(foreign))
    said = run("make", "demo", "ARGS=--size 16 --steps 2 --snapshots 1", folder=tree, env=active)
    assert "byte-identical" in said
    python, command = tree / ".venv/bin/python", tree / ".venv/bin/penstock"
    result = run(python, "-c", "import penstock; print(penstock.__file__)", folder=tmp_path, env=environment())
    assert result.startswith(str(tree / "build/default/python"))
    assert "penstock " in run(command, "--version", folder=tmp_path, env=environment())
    run(command, "demo", "--ranks", "2", "--size", "16", "--steps", "2", "--snapshots", "1", folder=tmp_path,
        env=environment())
    assert list((tmp_path / "penstock-demo").glob("heat_*.npy"))


def test_make_dropin_gives_penstock_run(tree, prepared, tmp_path):
    plain = environment()
    tools = dict(re.findall(r'PENSTOCK_(\w+)="([^"]*)"', (tree / "build/default/env.sh").read_text()))
    said = run("make", "dropin", f"MPICC={tools['MPICC']}", folder=tree, env=plain)
    assert "compiled, linked, stripped" in said and "build/dropin/penstock run mpiexec" in said
    (library,) = (tree / "build/dropin").glob("*/libpenstock_mpiio.so")
    assert library.stat().st_size < 5_000_000
    assert f"{library.name}.debug" in run("readelf", "-p", ".gnu_debuglink", library, folder="/", env=plain)
    assert "symtab" in run("readelf", "-S", f"{library}.debug", folder="/", env=plain)
    run(tools["MPICC"], "-o", tmp_path / "lattice", tree / "tests/dropin/programs/lattice.c", folder="/", env=plain)
    command = f"run --compare {tools['MPIEXEC']} -n 2 ./lattice lattice.bin"
    for penstock in (tree / "build/dropin/penstock", tree / ".venv/bin/penstock"):
        script = f". {tree}/scripts/mpi_env.sh; {penstock} {command}"
        said = run("bash", "-c", script, folder=tmp_path, env=plain)
        assert "Alike: " in said and "lattice.bin (" in said
