"""Programs of the standard ABI: `penstock run`, and the drop-in MPI-IO that `make dropin` makes for them."""

import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from flavour import files_in_report, same_files, succeed

CHAPTER = ["main", "access", "bad_input", "files", "misuse", "requests", "views"]


def penstock_run(flavour, folder, program, *words):
    """On 2 ranks; returns its output."""
    command = [sys.executable, "-m", "penstock", "run", "--report", flavour.mpiexec, "-n", "2", program, *words]
    return succeed(command, cwd=folder, env={**os.environ, "PYTHONPATH": str(flavour.build / "python")})


def test_a_program_has_the_same_file(flavour, abi, space, programs):
    program = programs / "lattice-abi"
    succeed([abi.mpicc, "-std=c11", "-o", program, Path(__file__).with_name("programs") / "lattice.c"])
    native, penstock = space / "native", space / "penstock"
    native.mkdir()
    penstock.mkdir()
    flavour.run(native, [program, "lattice.bin"], 2, dropin=False)
    output = penstock_run(flavour, penstock, program, "lattice.bin")
    assert files_in_report(output) == {"lattice.bin"}
    same_files(native, penstock, ["lattice.bin"])


def test_the_chapter(flavour, abi, space, programs):
    tests = Path(__file__).parents[1]

    def compile_one(name):
        made = programs / f"chapter-abi-{name}.o"
        succeed([abi.mpicxx, "-std=c++20", f"-I{tests}", "-c", tests / f"mpi_io/chapter/{name}.cpp", "-o", made])
        return made

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compile_one, CHAPTER))
    program = programs / "chapter-abi"
    succeed([abi.mpicxx, *objects, "-o", program, "-lgtest", "-lpthread"])
    output = penstock_run(flavour, space, program)
    passed = re.search(r"\[  PASSED  \] (\d+) tests", output)
    assert passed and int(passed[1]) > 50 and "FAILED" not in output, output
