"""mpi4py's own tests of files, and of the requests and error handlers that files share with the rest of MPI.
From its sources on PyPI, in the version that is installed. They compare what they read, and delete their files."""

import re
import sys

import pytest
from flavour import fetch_mpi4py

MODULES = ["file", "io", "errhandler", "handle", "objmodel", "subclass", "request", "grequest", "status"]
# MPICH 4.0 takes minutes with more ranks than cores: its ranks do not sleep while they wait.
TIMEOUT = 400
TESTS, FILES = 200, 50  # at least, on each rank and in all; how many are skipped depends on the MPI library


@pytest.fixture(scope="session")
def sources(flavour):
    return fetch_mpi4py(flavour.build / "dropin") / "test/main.py"


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_mpi4py(flavour, space, sources, ranks):
    command = [sys.executable, sources, "--no-builddir"]
    for module in MODULES:
        command += ["-i", rf"^test_{module}\.py$"]
    # With MPI's functions there already, mpi4py's wheel looks for no libmpi, but its extension module needs one by the
    # name that scripts/setup.sh has made for Debian's MPICH.
    variables = {"TMPDIR": str(space), "LD_LIBRARY_PATH": f"{sys.prefix}/lib"}
    output = flavour.run(space, command, ranks, dropin=True, variables=variables, timeout=TIMEOUT)
    ran = re.findall(r"^Ran (\d+) tests", output, re.MULTILINE)
    assert ran and all(int(count) >= TESTS for count in ran)
    assert len(re.findall(r"^penstock: \S*/mpi4py-\S+ \(", output, re.MULTILINE)) >= FILES
