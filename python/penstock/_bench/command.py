"""`penstock bench steps` and `penstock bench peers`: one mpiexec a rank count, then the report."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, Optional

import typer

from .._hints import choices
from .running import FOLDER, HINT, OUTPUT, PATIENCE, TIMEOUT, Bench, Run, byte_count, numbers, parse_hints

app = typer.Typer(no_args_is_help=True, help="Measure the engine: against a rod, and against the MPI library's MPI-IO.")

STEPS = {"direct": {"method": "direct"},
         **{name: {"method": "extended", "exchange": name} for name in choices("exchange")}}
OPERATIONS = ["write", "read"]
FILES = ["new", "existing"]
# The exchange is measured, to the storage and back: a write that is only copied would hide it.
UNBUFFERED = {"active_buffer_size": "0"}
BUFFERED = {"active_buffer_size": "64M"}

_ranks = typer.Option("4,16", help="Numbers of MPI processes.")
_operations = typer.Option("write,read", help="write, read or both.")
_repeat = typer.Option(9, min=1, help="Timed repetitions; the median counts.")


@app.command()
def steps(
    steps: str = typer.Option("all", help=f"Which of {', '.join(STEPS)}."),
    patterns: str = typer.Option("block-block", help="Access patterns, or all."),
    ranks: str = _ranks,
    sizes: str = typer.Option("64M", help="Bytes that all ranks want together: 4M,16M,64M."),
    operations: str = _operations, repeat: int = _repeat, patience: float = PATIENCE, output: Path = OUTPUT,
    folder: Optional[Path] = FOLDER, hint: Optional[list[str]] = HINT, mpiexec_timeout: float = TIMEOUT,
) -> None:
    """Every way to exchange data, over rank counts and sizes."""
    from .patterns import pick
    from .report import report

    methods = {name: {**UNBUFFERED, **STEPS[name]} for name in pick("step", steps, list(STEPS))}
    job = {**_job("steps", patterns, sizes, operations, repeat, patience, hint), "methods": methods,
           "files": ["existing"]}
    _bench(job, [Run(job={"mpi_io": None})], ranks, report).carry_out(output, folder, mpiexec_timeout)


@app.command()
def peers(
    patterns: str = typer.Option("all", help="Access patterns, or all."),
    ranks: str = typer.Option("4,16,64", help="Numbers of MPI processes."),
    size: str = typer.Option("64M", help="Bytes that all ranks want together."),
    operations: str = _operations,
    files: str = typer.Option("new,existing", help="What is written into: new files, an existing one, or both."),
    repeat: int = _repeat, patience: float = PATIENCE, output: Path = OUTPUT,
    folder: Optional[Path] = FOLDER, hint: Optional[list[str]] = HINT, mpiexec_timeout: float = TIMEOUT,
) -> None:
    """Penstock beside the MPI library's own MPI-IO, for the access patterns of the field."""
    from .patterns import pick
    from .peers_report import peers_report

    methods = {"penstock": UNBUFFERED, "penstock, buffered": BUFFERED}
    job = {**_job("peers", patterns, size, operations, repeat, patience, hint), "methods": methods,
           "writes_only": ["penstock, buffered"], "files": pick("kind of file", files, FILES)}
    _bench(job, _mpi_ios(), ranks, peers_report).carry_out(output, folder, mpiexec_timeout)


def _job(command: str, patterns: str, sizes: str, operations: str, repeat: int, patience: float,
         hints: Optional[list[str]]) -> dict[str, Any]:
    from .patterns import chosen, pick

    return {"command": command, "patterns": [p.name for p in chosen(patterns)],
            "sizes": [byte_count("size", s) for s in sizes.split(",")],
            "operations": pick("operation", operations, OPERATIONS), "repeat": repeat, "patience": patience,
            "hints": parse_hints(hints or []), "writes_only": []}


def _mpi_ios() -> list[Run]:
    """A run for each MPI-IO of the MPI library, by what chooses it. Open MPI has several."""
    from .._core import mpi_library_version
    from .._launch import find_mpiexec

    only = [Run(job={"mpi_io": "MPI-IO"})]
    if "Open MPI" not in mpi_library_version():
        return only
    told = ""
    for name in ("ompi_info", "ompi_info.openmpi"):
        tool = Path(find_mpiexec()).with_name(name)
        if tool.exists():
            told = subprocess.run([str(tool), "--parsable"], capture_output=True, text=True, timeout=60).stdout
            break
    components = sorted(set(re.findall(r"^mca:io:(\w+):version", told, re.MULTILINE)))
    return [Run(c, {"mpi_io": c}, {"OMPI_MCA_io": c}) for c in components] or only


def _bench(job: dict[str, Any], runs: list[Run], ranks: str, report: Callable[[list[dict[str, Any]], Path], None]) -> Bench:
    counts = numbers("ranks", ranks)
    series = sum(len(job["files"]) if operation == "write" else 1 for operation in job["operations"])
    pieces = len(counts) * len(runs) * len(job["patterns"]) * len(job["sizes"]) * series
    return Bench("penstock._bench.worker", job, runs, counts, pieces, report)
