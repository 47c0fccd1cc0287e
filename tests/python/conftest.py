"""Fixtures that all tests of the Python package share."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _mpi_environment():
    """What scripts/mpi_env.sh exports."""
    words = shlex.split((ROOT / "scripts" / "mpi_env.sh").read_text(), comments=True)
    return dict(word.split("=", 1) for word in words if "=" in word)


def _kill_session(session):
    """Kills what is left of a session: Open MPI gives every rank a process group of its own."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            # After the name in parentheses: state, parent, process group, session.
            if int(stat.read_text().rpartition(")")[2].split()[3]) == session:
                os.kill(int(stat.parent.name), signal.SIGKILL)
        except (OSError, IndexError, ValueError):
            pass  # it ended by itself


def run_under_mpi(program, ranks, timeout=120, env=None, cwd=None):
    mpiexec = os.environ.get("PENSTOCK_MPIEXEC") or shutil.which("mpiexec")
    if not mpiexec:
        pytest.fail("no mpiexec: run the tests with `make test`, or set PENSTOCK_MPIEXEC")
    arguments = [program] if isinstance(program, (str, os.PathLike)) else list(program)
    command = [mpiexec, "-n", str(ranks), sys.executable, *map(os.fspath, arguments)]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env=os.environ | _mpi_environment() | (env or {}),
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)  # mpiexec takes its ranks along, if it can
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            pass
        _kill_session(process.pid)
        out, err = process.communicate()
        pytest.fail(f"{command} ran longer than {timeout} s\n{out}\n{err}")
    except BaseException:
        _kill_session(process.pid)
        raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


@pytest.fixture
def mpirun():
    """mpirun(script, ranks): runs Python under mpiexec and returns a CompletedProcess.

    `script` is a path, or a list of arguments to Python (["-c", "..."], ["-m", "penstock", ...]).
    """
    return run_under_mpi
