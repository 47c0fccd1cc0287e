"""A PnetCDF program, and PnetCDF's utilities on its files; of Debian: made for Debian's Open MPI."""

import pytest
from flavour import files_in_report, install

# OMPIO's collective reads past the end of a file count missing bytes, and PnetCDF writes as many when it
# moves variables behind a longer header. So the files to compare with are those of Open MPI's other MPI-IO.
ROMIO = {"OMPI_MCA_io": "romio321"}
SMALL = """netcdf small {
dimensions: x = 4 ;
variables: int v(x) ;
data: v = 1, 2, 3, 4 ;
}
"""


@pytest.fixture
def program(flavour, programs):
    flavour.require("openmpi-debian")
    install("libpnetcdf-dev", "pnetcdf-bin")
    return flavour.compile(programs / "pnetcdf", "pnetcdf_program.c", "-std=c11", "-lpnetcdf")


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("form", [1, 2, 5])
def test_pnetcdf(flavour, space, program, form, ranks):
    flavour.run_both(space, [program, "field.nc", form], ranks, ["field.nc"], ROMIO)


def test_utilities(flavour, space, program):
    flavour.run_both(space, [program, "field.nc", 5], 3, ["field.nc"], ROMIO)
    penstock = space / "penstock"

    def run(*command, ranks=1):
        output = flavour.run(penstock, command, ranks, dropin=True)
        assert "field.nc" in files_in_report(output), output
        return output

    dump = run("ncmpidump", "field.nc")
    native = flavour.run(penstock, ["ncmpidump", "field.nc"], 1, dropin=False)
    assert dump.startswith(native) and "turned =" in native
    assert "All variables of two files are the same" in run("ncmpidiff", "field.nc", "../native/field.nc", ranks=3)
    (penstock / "small.cdl").write_text(SMALL)
    output = flavour.run(penstock, ["ncmpigen", "-o", "small.nc", "small.cdl"], 1, dropin=True)
    assert files_in_report(output) == {"small.nc"}
    assert "v = 1, 2, 3, 4 ;" in flavour.run(penstock, ["ncmpidump", "small.nc"], 1, dropin=False)
    assert "is a valid" in flavour.run(penstock, ["ncvalidator", "field.nc"], 1, dropin=False)
