"""Running tests' scripts under mpiexec, with a time limit and no stray ranks."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from penstock._launch import environment, find_mpiexec, kill_session


# Open MPI 5's launcher fails about once in some hundred times, before any rank exists.
NOT_BEGUN = "PMIx server's listener thread failed to start"


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: needs minutes; run by make test-slow")
    config.addinivalue_line("markers", "without_program: of a bench whose program is not built")


def run_ranks(folder, script, ranks, timeout=120, expect=0):
    """Runs Python text on ranks in a folder; returns its output."""
    file = folder / "script.py"
    file.write_text(script)
    command = [find_mpiexec(), "-n", str(ranks), sys.executable, str(file)]
    status, output = run_once(folder, command, timeout)
    if status != 0 and NOT_BEGUN in output:
        status, output = run_once(folder, command, timeout)
    assert expect is None or status == expect, output
    return output


# In front of a command: a shell starts background jobs with SIGINT ignored, and children inherit that. (A preexec_fn
# runs Python in a forked child of a process with threads, which crashes now and then.)
INTERRUPTIBLE = ["env", "--default-signal=INT"]


def run_once(folder, command, timeout):
    process = subprocess.Popen(command, cwd=folder, env=environment(), text=True, start_new_session=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        output, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        kill_session(process.pid)
        output, _ = process.communicate()
        pytest.fail(f"{' '.join(command)} did not end within {timeout} s:\n{output}")
    return process.returncode, output


def kill_at_some_time(folder, arguments, ranks, one):
    """Runs a program for some time after it has made the file "done", then kills one rank, by its "pid.RANK", or all."""
    (folder / "done").unlink(missing_ok=True)
    process = subprocess.Popen([find_mpiexec(), "-n", str(ranks), sys.executable, *arguments], cwd=folder,
                               env=environment(), start_new_session=True, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not (folder / "done").exists():
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.01)
    time.sleep(random.random() / 10)
    if one:
        os.kill(int((folder / f"pid.{random.randrange(ranks)}").read_text()), signal.SIGKILL)
        try:
            process.wait(20)  # a launcher ends what is left of the program
        except subprocess.TimeoutExpired:
            pass
    kill_session(process.pid)
    process.wait()


def left_over(path):
    """The file left beside `path` by a program that was killed while it replaced it."""
    import penstock as ps

    there = set(os.listdir(path.parent))
    try:
        with ps.open(path, "w", shape=3, dtype="f8", container="raw", replace=True):
            (name,) = set(os.listdir(path.parent)) - there
            raise KeyError
    except KeyError:
        pass
    (path.parent / name).write_text("of a program that was killed")
    return path.parent / name


@pytest.fixture
def mpirun(tmp_path):
    """mpirun(script, ranks): runs Python text on ranks in a fresh folder; returns its output."""

    def run(script, ranks, **how):
        return run_ranks(tmp_path, script, ranks, **how)

    return run


def case_outcomes(folder, script, ranks=3, **how):
    """Runs the cases of a script that begins with CASES; returns the results of calls, {case: [per rank]}."""
    output = run_ranks(folder, script + "\nrun_cases()\n", ranks, **how)
    return json.loads((folder / "outcomes.json").read_text()), output
