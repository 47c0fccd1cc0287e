"""Starting ranks with the mpiexec that fits the MPI library of the engine."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
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
    return {**extra, **{name: value for name, value in os.environ.items() if not _of_a_singleton(name)}}


def _of_a_singleton(name: str) -> bool:
    """Whether Open MPI 4 left this behind in a program (a notebook, say) that started MPI without mpiexec.

    An mpiexec that inherits it takes itself for a part of that program, and ends without a word.
    """
    if os.environ.get("OMPI_MCA_ess") != "singleton":
        return False
    return (name.startswith("PMIX_") and not name.startswith("PMIX_MCA_")) or name in {
        "OMPI_MCA_ess", "OMPI_MCA_pmix", "OMPI_MCA_orte_launch", "OMPI_MCA_orte_ess_num_procs",
        "OMPI_MCA_orte_precondition_transports", "OMPI_APP_CTX_NUM_PROCS", "ORTE_SCHIZO_DETECTION"}


def say_status(what: str, status: int) -> None:
    """The ranks have reported the error, unless mpiexec ended before they began."""
    if status != 0:
        print(f"mpiexec of {what} ended with status {status}", file=sys.stderr)


def mpirun(module: str, arguments: list[str], ranks: int) -> int:
    """Runs `python -m module arguments` on `ranks` ranks and returns the exit status."""
    command = [find_mpiexec(), "-n", str(ranks), sys.executable, "-m", module, *arguments]
    status = subprocess.run(command, env=environment()).returncode
    say_status(f"{ranks} ranks", status)
    return status


def kill_session(session: int) -> None:
    """Kills all processes of a session: Open MPI gives every rank a process group of its own."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            # After the name in parentheses: state, parent, process group, session.
            if int(stat.read_text().rpartition(")")[2].split()[3]) == session:
                os.kill(int(stat.parent.name), signal.SIGKILL)
        except OSError:
            pass  # it ended by itself


def watched_mpirun(program: list[str], ranks: int, seconds: float, on_line: Callable[[str], None],
                   settings: Mapping[str, str]) -> int:
    """Runs a program with its arguments and passes on each line of output. No rank outlives `seconds` or this call.

    Returns the exit status. Raises TimeoutError.
    """
    command = [find_mpiexec(), "-n", str(ranks), *program]
    process = subprocess.Popen(command, env={**environment(), **settings}, text=True, start_new_session=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    late = threading.Event()

    def stop() -> None:
        late.set()
        kill_session(process.pid)

    timer = threading.Timer(seconds, stop)
    timer.start()
    # The ranks are out of reach of the terminal's Ctrl-C; it and SIGTERM end up in `finally`.
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        for line in process.stdout or ():
            on_line(line.rstrip("\n"))
        status = process.wait()
    finally:
        timer.cancel()
        signal.signal(signal.SIGTERM, before)
        kill_session(process.pid)
        process.wait()
    if late.is_set():
        raise TimeoutError(f"{ranks} ranks did not end within {seconds:g} s")
    return status
