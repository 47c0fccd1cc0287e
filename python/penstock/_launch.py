"""Starting ranks with the mpiexec that fits the MPI library of the engine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from . import ArgumentError
from ._core import mpi_library_version


def _candidates() -> list[Path]:
    chosen = os.environ.get("PENSTOCK_MPIEXEC")
    if chosen:
        return [Path(chosen)]
    folders = [Path(sys.prefix) / "bin", Path(sys.executable).parent]
    folders += [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    names = ("mpiexec", "mpiexec.openmpi", "mpiexec.mpich", "mpirun")
    return [folder / name for folder in folders for name in names]


def find_mpiexec() -> str:
    """The first mpiexec, in this environment and then on PATH, of the engine's own MPI."""
    library = mpi_library_version()
    is_open_mpi = "Open MPI" in library
    wanted = r"Open MPI|OpenRTE|prterun|PRRTE" if is_open_mpi else r"HYDRA|MPICH|Intel"
    for candidate in _candidates():
        found = shutil.which(str(candidate))
        if found is None:
            continue
        told = subprocess.run([found, "--version"], capture_output=True, text=True, timeout=60)
        if re.search(wanted, told.stdout + told.stderr, re.IGNORECASE):
            return found
    name = library.splitlines()[0].strip()
    raise ArgumentError(f"no mpiexec of {name} was found; put it on PATH, or name it in PENSTOCK_MPIEXEC")


def environment() -> dict[str, str]:
    """Lets more ranks run than there are cores, and Open MPI for root as well."""
    # MPICH 5: a rank that waits lets others run.
    extra = {"MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1", "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "10",
             "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
             "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
             "OMPI_MCA_hwloc_base_binding_policy": "none", "PRTE_MCA_hwloc_default_binding_policy": "none"}
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        extra |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return {**extra, **os.environ}


def mpirun(module: str, arguments: list[str], ranks: int) -> int:
    """Runs `python -m module arguments` on `ranks` ranks and returns the exit status."""
    command = [find_mpiexec(), "-n", str(ranks), sys.executable, "-m", module, *arguments]
    env = environment()
    if sys.stdout.isatty():
        # Ranks write into a pipe of mpiexec: they cannot see for themselves that a person looks on.
        env["PENSTOCK_TERMINAL_WIDTH"] = str(shutil.get_terminal_size().columns)
    return subprocess.run(command, env=env).returncode
