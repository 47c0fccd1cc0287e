"""C++ programs with the bindings of MPI-2, which Debian's MPI libraries still have."""

import pytest
from flavour import files_in_report


@pytest.mark.parametrize("ranks", [1, 2])
def test_error_handlers(flavour, space, programs, ranks):
    flavour.require("mpich-debian", "openmpi-debian")
    program = flavour.compile(programs / "error_handlers-cxx", "error_handlers.cpp", "-Wno-literal-suffix",
                              language="cxx")
    output = flavour.run(space, [program], ranks, dropin=True)
    assert "0 checks have failed" in output.splitlines()
    assert files_in_report(output) == {"handled.bin"}
