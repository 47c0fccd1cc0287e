"""`penstock bench`: Penstock beside the machine's own MPI-IO in a folder of the user's, and which settings pay there."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any, Optional

import typer

from .patterns import PATTERNS, chosen
from .ratios import DEFAULT, IN_A_BUFFER
from .running import HINT, PATIENCE, TIMEOUT, Bench, Run, byte_count, numbers, parse_hints

UNBUFFERED = {"active_buffer_size": "0"}
BUFFERED = {"active_buffer_size": "64M"}


def bench(
    folder: Path = typer.Argument(Path("."), exists=True, file_okay=False,
                                  help="Folder on the file system to measure; files go into a temporary folder in it."),
    ranks: str = typer.Option("4", help="Numbers of MPI processes: 4,16."),
    size: str = typer.Option("64M", help="Bytes that all ranks move together."),
    patterns: str = typer.Option("block-block,column-block,block3", help=f"Access patterns: {', '.join(PATTERNS)}, or all."),
    repeat: int = typer.Option(9, min=1, help="Timed repetitions; the median counts."),
    patience: float = PATIENCE,
    output: Path = typer.Option(Path("penstock-bench"), help="Folder for the measurements, bench.jsonl."),
    hint: Optional[list[str]] = HINT,
    mpiexec_timeout: float = TIMEOUT,
) -> None:
    """Compare Penstock with the MPI library's own MPI-IO in a folder of yours, and report which settings pay there.

    Measures writes into new files and into an existing one, and reads; every byte is checked. The methods take turns in
    each repetition, and ratios are of times of the same repetition.
    """
    from .report import report

    counts = numbers("ranks", ranks)
    wanted = [p.name for p in chosen(patterns)]
    job = {"command": "bench", "sizes": [byte_count("size", size)], "repeat": repeat, "patience": patience,
           "hints": parse_hints(hint or []), "on": "page-cache", "entries": [_entry(wanted, settings(max(counts)))]}
    pieces = len(counts) * 3 * len(wanted)
    runs = [*mpi_ios(), *past_the_page_cache(folder, wanted)]
    Bench("penstock._bench.worker", job, runs, counts, pieces * len(runs), report).carry_out(output, folder, mpiexec_timeout)


def settings(ranks: int) -> dict[str, dict[str, str]]:
    """What a user may set for speed, beside the default.

    A write that is buffered, as it is by default, returns when it is copied; settings are compared by writes that
    return when the bytes are in the file.
    """
    tried = {"aggregators=1": {"aggregators": "1"}, f"aggregators={ranks}": {"aggregators": str(ranks)},
             "buffer_size=1M": {"buffer_size": "1M"}, "buffer_size=32M": {"buffer_size": "32M"}}
    return {DEFAULT: UNBUFFERED, IN_A_BUFFER: BUFFERED, **{name: {**UNBUFFERED, **hints} for name, hints in tried.items()}}


def _entry(patterns: list[str], methods: dict[str, dict[str, str]]) -> dict[str, Any]:
    """What a worker measures: see `worker.Bench.measure`."""
    return {"experiment": "bench", "patterns": patterns, "operations": ["write", "read"], "files": ["new", "existing"],
            "methods": methods, "writes_only": [IN_A_BUFFER], "whole_shares": [], "about": {}}


def past_the_page_cache(folder: Path, patterns: list[str]) -> list[Run]:
    """A run with storage=direct, where the folder's file system has O_DIRECT."""
    from .devices import has_o_direct

    if not has_o_direct(folder):
        typer.echo(f"storage=direct: left out, for the file system of '{folder}' has no O_DIRECT")
        return []
    return [Run("storage=direct", {"mpi_io": None, "on": "o-direct", "entries": [_entry(patterns, {DEFAULT: UNBUFFERED})]})]


def mpi_ios() -> list[Run]:
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
