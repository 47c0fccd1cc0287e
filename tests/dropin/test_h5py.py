"""h5py with MPI, of Debian: made for Debian's Open MPI."""

import pytest
from flavour import PROGRAMS, install

PYTHON = "/usr/bin/python3"


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_h5py(flavour, space, ranks):
    flavour.require("openmpi-debian")
    install("python3-h5py-mpi", "python3-mpi4py")
    program = PROGRAMS / "h5py_program.py"
    flavour.run_both(space, [PYTHON, program, "field.h5"], ranks, ["field.h5", "changed.h5"])
