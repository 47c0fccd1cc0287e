"""The wheel in dist/, and virtual environments that contain only it and its dependencies."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]


def run(command, folder, env, expect=0, timeout=900):
    done = subprocess.run([str(word) for word in command], cwd=folder, env=env, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout)
    assert expect is None or done.returncode == expect, done.stdout
    return done.stdout


class Environment:
    """A virtual environment, and programs run in it."""

    def __init__(self, folder, packages):
        venv.create(folder, with_pip=True)
        self.folder, self.python = folder, folder / "bin/python"
        self.work = folder / "work"
        self.work.mkdir()
        self.install(*packages)

    def environ(self):
        """Nothing of the tests' own environment, but what lets more ranks run than there are cores, and root."""
        kept = ("HOME", "TMPDIR", "PIP_", "SSL_", "REQUESTS_", "HTTP", "http", "NO_PROXY", "no_proxy",
                "OMPI_", "PRTE_", "MPIR_")
        env = {name: value for name, value in os.environ.items() if name.startswith(kept)}
        return {**env, "PATH": f"{self.folder / 'bin'}:/usr/bin:/bin"}

    def install(self, *packages):
        """No package is compiled."""
        run([self.python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--only-binary", ":all:",
             *packages], "/", self.environ())

    def run(self, *words, expect=0):
        return run([self.folder / "bin" / words[0], *words[1:]], self.work, self.environ(), expect)

    def ranks(self, count, script, expect=0):
        (self.work / "script.py").write_text(script)
        return self.run("mpiexec", "-n", str(count), self.python, "script.py", expect=expect)


@pytest.fixture(scope="session")
def wheel():
    (found,) = (SOURCE / "dist").glob("penstock-*.whl")
    return found


@pytest.fixture(scope="session")
def environment(tmp_path_factory):
    def make(name, *packages):
        return Environment(tmp_path_factory.mktemp(name) / "venv", packages)

    return make


def tools():
    return Path(sys.prefix)
