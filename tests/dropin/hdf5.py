"""HDF5 of Debian for the MPI at hand, and its ph5diff, which Debian's packages leave out."""

import os
import subprocess
from pathlib import Path

import pytest
from flavour import install, succeed

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
    source = fetch_source(programs.parent / "hdf5")
    diff, library = source / "tools/src/h5diff", source / "tools/lib"
    files = [*(diff / name for name in SOURCES[0]), *(path for name in SOURCES[1] for path in library.glob(name))]
    includes = [f"-I{path}" for path in (source / "src", diff, library)]
    succeed([flavour.compiler("cc"), "-O1", "-w", "-o", program, *includes, *files, *options(flavour)])
    return program


def fetch_source(folder):
    """Debian's source package, by a list of sources of its own."""
    if not folder.exists() or not list(folder.glob("hdf5-*/")):
        install("dpkg-dev")
        if os.geteuid() != 0:
            pytest.skip("ph5diff is built from Debian's source package, which apt-get fetches as root")
        (folder / "lists/partial").mkdir(parents=True, exist_ok=True)
        release = Path("/etc/os-release").read_text().partition("VERSION_CODENAME=")[2].split()[0]
        (folder / "sources.list").write_text(f"deb-src http://deb.debian.org/debian {release} main\n")
        apt = ["apt-get", "-q", "-o", f"Dir::Etc::SourceList={folder}/sources.list", "-o", "Dir::Etc::SourceParts=-",
               "-o", f"Dir::State::Lists={folder}/lists"]
        for command in ([*apt, "update"], [*apt, "source", "hdf5"]):
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
            if done.returncode != 0:
                pytest.skip(f"the source package of HDF5 cannot be had: {done.stderr.strip()[-200:]}")
    return next(folder.glob("hdf5-*/"))


def compare(flavour, program, space, name, objects):
    """ph5diff of what was written with and without Penstock. Its ranks read by themselves, without MPI-IO."""
    output = flavour.run(space / "penstock", [program, "-v", name, f"../native/{name}"], 3, dropin=False)
    assert output.count("0 differences found") == objects and "not comparable" not in output, output
