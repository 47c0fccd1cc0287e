"""h5py with MPI, of Debian: made for Debian's Open MPI; and ph5diff on its files."""

import hdf5
import pytest
from flavour import PROGRAMS, install

PYTHON = "/usr/bin/python3"
FILES = {"field.h5": 9, "changed.h5": 9}  # and the objects and attributes in each


@pytest.fixture
def command(flavour):
    flavour.require("openmpi-debian")
    install("python3-h5py-mpi", "python3-mpi4py")
    return [PYTHON, PROGRAMS / "h5py_program.py", "field.h5"]


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_h5py(flavour, space, command, ranks):
    flavour.run_both(space, command, ranks, FILES)


def test_ph5diff(flavour, space, programs, command):
    flavour.run_both(space, command, 4, FILES)
    program = hdf5.build_ph5diff(flavour, programs)
    for name, objects in FILES.items():
        hdf5.compare(flavour, program, space, name, objects)
