"""Third-party test suites, unchanged, with the MPI library's own MPI-IO and with Penstock's. They are fetched when this
runs, and not kept in the repository. Run by scripts/test_judges.sh."""

import os
import re
import sys

import pytest
from bench import ENDED, PASSED, Case, judge
from flavour import fetch_mpi4py, fetch_source, install, succeed
from hdf5 import options

JOBS = os.environ.get("JOBS", str(os.cpu_count()))

# --- HDF5: testpar, of Debian's source package, with Debian's library.

# Without t_cache, which opens no file by MPI-IO, and t_pflush1, which ends without a close on purpose.
HDF5_PROGRAMS = ["t_mpi", "t_bigio", "testphdf5", "t_cache_image", "t_pread", "t_pshutdown", "t_prestart",
                 "t_init_term", "t_shapesame", "t_filters_parallel"]
BEFORE = {"t_prestart": ["t_pshutdown"]}  # leaves its file
TESTPHDF5 = ["t_dset", "t_file", "t_file_image", "t_mdset", "t_ph5basic", "t_coll_chunk", "t_span_tree",
             "t_chunk_alloc", "t_filter_read", "t_prop", "t_coll_md_read"]
TEST_LIBRARY = ["h5test", "testframe", "cache_common", "swmr_common", "external_common"]


@pytest.fixture(scope="session")
def hdf5(flavour, workshop):
    """The folder of its test programs."""
    found = options(flavour)
    source = fetch_source("hdf5", workshop / "hdf5")
    folder = workshop / "testpar"
    folder.mkdir(exist_ok=True)
    (folder / "H5srcdir_str.h").write_text(f'const char *config_srcdir = "{source}/test";\n')  # of its configure
    includes = [f"-I{folder}", *(f"-I{source / name}" for name in ("src", "test", "testpar"))]
    compiler = [flavour.compiler("cc"), "-O1", "-w", *includes]
    if not (folder / "libh5test.a").exists():
        succeed([*compiler, *found, "-c", *(source / f"test/{name}.c" for name in TEST_LIBRARY)], cwd=folder)
        succeed(["ar", "rc", "libh5test.a", *(f"{name}.o" for name in TEST_LIBRARY)], cwd=folder)
    for name in HDF5_PROGRAMS:
        if not (folder / name).exists():
            files = [source / f"testpar/{part}.c" for part in [name, *(TESTPHDF5 if name == "testphdf5" else [])]]
            succeed([*compiler, "-o", folder / name, *files, folder / "libh5test.a", *found, "-lm"])
    return folder


def parts_of_hdf5(status, output):
    """Each "Testing ..." line that testphdf5 has, as far as it gets."""
    names = re.findall(r"^Testing +-- (.*?) \((\w+)\)", output, re.MULTILINE)
    return {ENDED: PASSED if status == 0 else f"status {status}", **{name: PASSED for _, name in names[:-1]}}


@pytest.mark.parametrize("program", HDF5_PROGRAMS)
def test_hdf5(flavour, hdf5, program, record_property):
    read = {"read": parts_of_hdf5} if program == "testphdf5" else {}
    variables = {"HDF5TestExpress": "3"}
    commands = [[hdf5 / name] for name in [*BEFORE.get(program, []), program]]
    case = Case(program, commands, 2, 900, variables, **read)
    judge(flavour, f"hdf5/{program}", [case], record_property)


# --- PnetCDF: the library and its tests, of Debian's source package.

PNETCDF_FOLDERS = {"nc_test": 1, "C": 4, "testcases": 4, "nonblocking": 4, "header": 4, "cdf_format": 4}


@pytest.fixture(scope="session")
def pnetcdf(flavour, workshop):
    """The folder of its tests, compiled."""
    install("autoconf", "automake", "libtool", "m4")
    source = fetch_source("pnetcdf", workshop / "pnetcdf")
    if not (source / "tests.built").exists():
        succeed(["autoreconf", "-fi"], cwd=source)
        succeed(["./configure", "--disable-fortran", "--disable-cxx", f"MPICC={flavour.mpicc}", "CFLAGS=-O1 -w"],
                cwd=source)
        succeed(["make", "-j", JOBS, "-C", "src"], cwd=source)
        for folder in ["common", *PNETCDF_FOLDERS]:
            succeed(["make", "-j", JOBS, "-C", f"test/{folder}", "tests"], cwd=source)
        (source / "tests.built").touch()
    return source / "test"


def is_program(path):
    return path.is_file() and path.read_bytes()[:4] == b"\x7fELF" and os.access(path, os.X_OK)


@pytest.mark.parametrize("folder", PNETCDF_FOLDERS)
def test_pnetcdf(flavour, pnetcdf, folder, record_property):
    programs = sorted(path for path in (pnetcdf / folder).iterdir() if is_program(path))
    assert programs
    cases = [Case(path.name, [[path, *words_of_pnetcdf(folder, path)]], PNETCDF_FOLDERS[folder]) for path in programs]
    judge(flavour, f"pnetcdf/{folder}", cases, record_property)


def words_of_pnetcdf(folder, path):
    """As its own scripts call it (seq_runs.sh, parallel_run.sh)."""
    if folder == "nc_test" and path.name in ("nc_test", "t_nc", "tst_misc", "tst_norm", "tst_small"):
        return ["-c", "-d", "{}"] if path.name == "nc_test" else ["{}/out.nc"]
    return ["{}/out.nc"]


# --- mpi4py: all of its tests, of its sources on PyPI in the version that is installed.


def parts_of_mpi4py(status, output):
    """Of "test_x (module.Class.test_x) ... ok"; a test has passed where it has on all ranks."""
    found = {}
    for name, outcome in re.findall(r"^@\d+ \w+ \((\S+)\) \.\.\. (ok|FAIL|ERROR|skipped)", output, re.MULTILINE):
        passed = outcome in ("ok", "skipped")
        found[name] = PASSED if passed and found.get(name, PASSED) == PASSED else "failed"
    return {ENDED: PASSED if status == 0 else f"status {status}", **found}


# These start programs, or are about Python alone.
WITHOUT_FILES = ["spawn", "dynproc", "ulfm", "pickle", "util_pool", "util_pkl5", "doc", "cython", "toplevel"]
# Each rank's lines, apart from the others': mpiexec mixes them.
OUTPUT_OF_EACH = 'exec 3>&1; "$0" "$@" >"{}/rank.$$" 2>&1; s=$?; sed "s/^/@$$ /" "{}/rank.$$" >&3; exit $s'


@pytest.mark.parametrize("ranks", [2])
def test_mpi4py(flavour, workshop, ranks, record_property):
    sources = fetch_mpi4py(workshop)
    modules = sorted(path.stem for path in (sources / "test").glob("test_*.py"))
    variables = {"LD_LIBRARY_PATH": f"{sys.prefix}/lib"}
    modules = [name for name in modules if name.removeprefix("test_") not in WITHOUT_FILES]
    python = ["sh", "-c", OUTPUT_OF_EACH, sys.executable, sources / "test/main.py", "--no-builddir", "-v", "-i"]
    cases = [Case(name, [[*python, rf"^{name}\.py$"]], ranks, 300, {**variables, "TMPDIR": "{}"}, parts_of_mpi4py)
             for name in modules]
    judge(flavour, "mpi4py", cases, record_property)
