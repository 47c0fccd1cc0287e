"""The predefined error handlers of files that end the program."""

import pytest


@pytest.mark.parametrize("handler", ["MPI_ERRORS_ARE_FATAL", "MPI_ERRORS_ABORT"])
def test_fatal_error(flavour, space, programs, handler):
    if not flavour.declares(handler):
        pytest.skip(f"{flavour.name} has no {handler}")
    program = flavour.compile(programs / "fatal_error", "fatal_error.c", "-std=c11")
    flavour.expect_end(space, [program, handler])
