"""The hints reported by a file fit into an MPI_Info of every MPI library."""

import pytest


@pytest.mark.parametrize("ranks", [1, 3])
def test_info(flavour, space, programs, ranks):
    program = flavour.compile(programs / "info", "info.c", "-std=c11")
    flavour.run_both(space, [program, "reported.bin"], ranks, ["reported.bin"])
