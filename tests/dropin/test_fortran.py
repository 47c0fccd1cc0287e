"""A Fortran program with each of the ways in which Fortran has MPI."""

import pytest

FILES = ["columns.bin", "ordered.bin", "blocks.bin"]


@pytest.mark.parametrize("ranks", [1, 3, 4])
@pytest.mark.parametrize("form", ["mpif_h", "mpi", "mpi_f08"])
def test_fortran(flavour, space, programs, form, ranks):
    program = flavour.compile(programs / f"records-{form}", "records.F90", f"-DFORM_{form.upper()}",
                              "-ffree-line-length-none", "-fallow-argument-mismatch", language="fort")
    flavour.run_both(space, [program], ranks, FILES)
