"""Parallel netCDF-4 of Debian: made for Debian's Open MPI."""

import subprocess

import pytest
from flavour import install


def package(*what):
    return subprocess.check_output(["pkg-config", *what, "netcdf-mpi"], text=True).split()


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_netcdf(flavour, space, programs, ranks):
    flavour.require("openmpi-debian")
    install("libnetcdf-mpi-dev", "pkg-config")
    prefix, options = package("--variable=prefix"), package("--cflags", "--libs")
    program = flavour.compile(programs / "netcdf", "netcdf_program.c", "-std=c11", f"-I{prefix[0]}/include", *options)
    flavour.run_both(space, [program, "field.nc"], ranks, ["field.nc"])
