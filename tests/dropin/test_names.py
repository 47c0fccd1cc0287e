"""The drop-in MPI-IO defines every file function that mpi.h declares, as MPI_ and as PMPI_."""

import re

from flavour import succeed

# The functions that progress file requests are in it, too.
NAMES = r"MPI_(?:File_\w+|Register_datarep\w*|(?:Wait|Test)(?:all|any|some)?|Request_get_status\w*)"


def declared(header):
    """Matches declarations only: macros, function types and comments look different."""
    return set(re.findall(rf"\b(?:int|MPI_Fint|MPI_File)\s+({NAMES})\s*\(", header))


def exported(library):
    return {line.split()[-1] for line in succeed(["nm", "-D", "--defined-only", library]).splitlines()
            if line.split()[-2] in "TW"}


def expect_all(header, library):
    functions = declared(header)
    assert len(functions) > 60 and {"MPI_File_open", "MPI_File_iwrite_shared", "MPI_Waitall"} <= functions
    missing = {prefix + name for name in functions for prefix in ("", "P")} - exported(library)
    assert not missing, f"{library} lacks {sorted(missing)}"


# A function that a newer MPI declares is found, too.
def test_names(flavour):
    expect_all(flavour.header(), flavour.library)


def test_names_of_the_standard_abi(flavour, abi):
    expect_all(flavour.header(abi.mpicc), abi.library)
