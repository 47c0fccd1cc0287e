"""An HDF5 program, with Debian's HDF5 for Open MPI and for MPICH."""

import hdf5
import pytest


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_hdf5(flavour, space, programs, ranks):
    program = flavour.compile(programs / "hdf5_program", "hdf5_program.c", "-std=c11", *hdf5.options(flavour))
    flavour.run_both(space, [program, "field.h5"], ranks, ["field.h5"])


def test_ph5diff(flavour, space, programs):
    program = flavour.compile(programs / "hdf5_program", "hdf5_program.c", "-std=c11", *hdf5.options(flavour))
    flavour.run_both(space, [program, "field.h5"], 4, ["field.h5"])
    hdf5.compare(flavour, hdf5.build_ph5diff(flavour, programs), space, "field.h5", objects=5)
