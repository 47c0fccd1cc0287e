"""`penstock run --compare` with third-party programs, as users run it."""

import subprocess

import pytest
from flavour import install
from hdf5 import options


def compare(flavour, folder, *words, expect=0):
    """On 2 ranks; returns its output."""
    command = [flavour.library.with_name("penstock-run"), "--compare", flavour.mpiexec, "-n", "2", *words]
    done = subprocess.run([str(word) for word in command], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=300)
    assert done.returncode == expect, done.stdout
    return done.stdout


def test_a_program_in_c(flavour, space, programs):
    program = flavour.compile(programs / "lattice", "lattice.c", "-std=c11")
    said = compare(flavour, space, program, "lattice.bin")
    assert "lattice.bin  " in said and "  same" in said and "Alike: " in said
    assert list(space.iterdir()) == []


def test_hdf5(flavour, space, programs):
    """Its files contain the time of writing."""
    install("hdf5-tools")
    program = flavour.compile(programs / "hdf5", "hdf5_program.c", "-std=c11", *options(flavour))
    said = compare(flavour, space, program, "field.h5")
    assert "field.h5  " in said and "Alike: " in said


@pytest.mark.parametrize("form", [1, 5])
def test_pnetcdf(flavour, space, programs, form):
    flavour.require("openmpi-debian")
    install("libpnetcdf-dev")
    program = flavour.compile(programs / "pnetcdf", "pnetcdf_program.c", "-std=c11", "-lpnetcdf")
    said = compare(flavour, space, "env", "OMPI_MCA_io=romio321", program, "field.nc", form)
    assert "field.nc  " in said and "Alike: " in said
