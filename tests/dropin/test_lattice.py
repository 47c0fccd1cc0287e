"""The 4-D lattice of mpich#7935: a subarray view with blocks in every dimension."""

import pytest

LATTICE_BYTES = 9 * 6 * 8 * 10 * 4 * 9 * 16


@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_lattice(flavour, space, programs, ranks):
    program = flavour.compile(programs / "lattice", "lattice.c", "-std=c11")
    flavour.run_both(space, [program, "lattice.bin"], ranks, ["lattice.bin"])
    assert (space / "penstock/lattice.bin").stat().st_size == LATTICE_BYTES
