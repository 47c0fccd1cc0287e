"""Fortran programs with each of the ways in which Fortran has MPI."""

import pytest
from flavour import files_in_report

FILES = ["columns.bin", "ordered.bin", "blocks.bin"]
FORMS = ["mpif_h", "mpi", "mpi_f08"]
OPTIONS = ["-ffree-line-length-none", "-fallow-argument-mismatch"]


@pytest.mark.parametrize("ranks", [1, 3, 4])
@pytest.mark.parametrize("form", FORMS)
def test_fortran(flavour, space, programs, form, ranks):
    program = flavour.compile(programs / f"records-{form}", "records.F90", f"-DFORM_{form.upper()}", *OPTIONS,
                              language="fort")
    flavour.run_both(space, [program], ranks, FILES)


def error_handlers(flavour, programs, form):
    return flavour.compile(programs / f"error_handlers-{form}", "error_handlers.F90", f"-DFORM_{form.upper()}",
                           *OPTIONS, language="fort")


# Not with the MPI library's own MPI-IO: MPICH 4.0 calls Fortran's handlers with an MPI_File of C.
@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("form", FORMS)
def test_error_handlers(flavour, space, programs, form, ranks):
    output = flavour.run(space, [error_handlers(flavour, programs, form)], ranks, dropin=True)
    assert "0 checks have failed" in output.splitlines()
    assert files_in_report(output) == {"handled.bin", "other.bin"}


@pytest.mark.parametrize("form", FORMS)
def test_error_that_ends_the_program(flavour, space, programs, form):
    flavour.expect_end(space, [error_handlers(flavour, programs, form), "fatal"])
