"""Debian's HDF5 for the MPI under test, and its ph5diff, which Debian's packages lack."""

from pathlib import Path

from flavour import fetch_source, install, succeed

PREFIX = {"openmpi-debian": "openmpi", "mpich-debian": "mpich"}
SOURCES = ("ph5diff_main.c", "h5diff_common.c"), ("h5diff*.c", "h5tools*.c", "h5trav.c", "io_timer.c")
LIBRARIES = next(iter(Path("/usr/lib").glob("*-linux-gnu")), Path("/usr/lib"))


def options(flavour):
    """The compiler's, for programs with HDF5."""
    flavour.require(*PREFIX)
    kind = PREFIX[flavour.name]
    install(f"libhdf5-{kind}-dev")
    return [f"-I/usr/include/hdf5/{kind}", f"-L{LIBRARIES}/hdf5/{kind}", "-lhdf5"]


def build_ph5diff(flavour, programs):
    program = programs / "ph5diff"
    if program.exists():
        return program
    source = fetch_source("hdf5", programs.parent / "hdf5")
    diff, library = source / "tools/src/h5diff", source / "tools/lib"
    files = [*(diff / name for name in SOURCES[0]), *(path for name in SOURCES[1] for path in library.glob(name))]
    includes = [f"-I{path}" for path in (source / "src", diff, library)]
    succeed([flavour.compiler("cc"), "-O1", "-w", "-o", program, *includes, *files, *options(flavour)])
    return program


def compare(flavour, program, space, name, objects):
    """ph5diff of what was written with and without Penstock. Its ranks read by themselves, without MPI-IO."""
    output = flavour.run(space / "penstock", [program, "-v", name, f"../native/{name}"], 3, dropin=False)
    assert output.count("0 differences found") == objects and "not comparable" not in output, output
