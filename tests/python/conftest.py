"""Running tests' scripts under mpiexec, with a time limit and no stray ranks."""

import subprocess
import sys

import pytest

from penstock._launch import environment, find_mpiexec, kill_session


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: needs minutes; run by make test-slow")


@pytest.fixture
def mpirun(tmp_path):
    """mpirun(script, ranks): runs Python text on ranks in a fresh folder; returns its output."""

    def run(script, ranks, timeout=120, expect=0):
        file = tmp_path / "script.py"
        file.write_text(script)
        command = [find_mpiexec(), "-n", str(ranks), sys.executable, str(file)]
        process = subprocess.Popen(command, cwd=tmp_path, env=environment(), text=True, start_new_session=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            kill_session(process.pid)
            output, _ = process.communicate()
            pytest.fail(f"{ranks} ranks did not end within {timeout} s:\n{output}")
        assert expect is None or process.returncode == expect, output
        return output

    return run
