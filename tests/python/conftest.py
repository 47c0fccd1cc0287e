"""Running tests' scripts under mpiexec, with a time limit and no stray ranks."""

import subprocess
import sys

import pytest

from penstock._launch import environment, find_mpiexec, kill_session


# Open MPI 5's launcher, once in some hundred times, before there is any rank.
NOT_BEGUN = "PMIx server's listener thread failed to start"


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: needs minutes; run by make test-slow")


@pytest.fixture
def mpirun(tmp_path):
    """mpirun(script, ranks): runs Python text on ranks in a fresh folder; returns its output."""

    def run(script, ranks, timeout=120, expect=0):
        file = tmp_path / "script.py"
        file.write_text(script)
        command = [find_mpiexec(), "-n", str(ranks), sys.executable, str(file)]
        status, output = once(command, timeout)
        if status != 0 and NOT_BEGUN in output:
            status, output = once(command, timeout)
        assert expect is None or status == expect, output
        return output

    def once(command, timeout):
        process = subprocess.Popen(command, cwd=tmp_path, env=environment(), text=True, start_new_session=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            kill_session(process.pid)
            output, _ = process.communicate()
            pytest.fail(f"{command[2]} ranks did not end within {timeout} s:\n{output}")
        return process.returncode, output

    return run
