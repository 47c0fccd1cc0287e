"""`penstock run`: programs that use MPI-IO, with Penstock's in place of their MPI library's.

All of it is done by a shell program, penstock-run, which is beside each build of the drop-in MPI-IO and needs no
Python.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from . import ArgumentError


def script() -> str:
    """penstock-run, beside this package or in the tree that it was built in.

    Raises ArgumentError where there is none.
    """
    here = Path(__file__).absolute().parent
    found = [here / "dropin/penstock-run", *sorted(here.glob("dropin/*/penstock-run"))]
    found += [here.parents[1] / "dropin/penstock-run", *sorted(here.parents[2].glob("dropin/*/penstock-run"))]
    for path in found:
        if path.exists():
            return str(path)
    raise ArgumentError("no drop-in MPI-IO was found; `make dropin MPICC=...` in Penstock's source folder makes one")


def run(words: list[str]) -> None:
    """Becomes `penstock-run WORDS`. Raises ArgumentError where there is none."""
    os.execv("/bin/sh", ["sh", script(), *words])


def main() -> None:
    """The command penstock-run."""
    try:
        run(sys.argv[1:])
    except ArgumentError as error:
        sys.exit(f"error: {error}")
