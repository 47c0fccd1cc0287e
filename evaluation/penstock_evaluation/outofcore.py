"""`python -m penstock_evaluation outofcore`: programs on arrays larger than memory; one mpiexec per rank count and
device."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Optional

import typer
from penstock import ArgumentError
from penstock._bench.devices import available_memory
from penstock._bench.patterns import pick
from penstock._bench.running import (
    FOLDER,
    HINT,
    OUTPUT,
    PATIENCE,
    TIMEOUT,
    Bench,
    Run,
    at_least,
    byte_count,
    numbers,
    parse_hints,
)
from penstock._tile_memory import text_of

from .background import ON, runs_on
from .sections import app

PROGRAMS = ["gaxpy", "laplace", "loop"]
RANK_MEMORY = 64 << 20  #: bytes of a rank beside its arrays: the interpreter
ELEMENT = 4


@app.command()
def outofcore(
    programs: str = typer.Option("all", help="Any of gaxpy (a matrix product; the paper's Table 9), laplace (Table 10), loop (an "
                                             "update beside as much computation)."),
    ranks: str = typer.Option("4,16", help="Numbers of MPI processes."),
    size: int = typer.Option(1024, min=8, help="Elements of a matrix in each dimension; in the paper 1024 to 4096."),
    memory: str = typer.Option("256K", help="Memory of a process for each array."),
    loop_memory: str = typer.Option("8M", help="The same for the array of loop."),
    iterations: int = typer.Option(4, min=1, help="Iterations of laplace."),
    steps: int = typer.Option(24, min=2, help="Tiles of a process in the loop."),
    on: str = typer.Option("page-cache,paced:bandwidth=100M,latency=200us", help=ON),
    repeat: int = typer.Option(3, min=1, help="Timed repetitions; the median counts."),
    patience: float = PATIENCE, output: Path = OUTPUT, folder: Optional[Path] = FOLDER,
    hint: Optional[list[str]] = HINT, mpiexec_timeout: float = TIMEOUT,
) -> None:
    """Arrays larger than memory: without and with read-ahead and write-behind, compared with the paper's Tables 9
    and 10."""
    from .outofcore_report import outofcore_report
    from .pictures import illustrated

    counts, wanted = numbers("ranks", ranks), pick("program", programs, PROGRAMS)
    each = at_least(16384, "memory", byte_count("memory", memory))
    at_least(max(counts), "size", size)
    of_loop = at_least(16384, "loop-memory", byte_count("loop-memory", loop_memory))
    typer.echo(check_room(size, max(each, of_loop), max(counts), steps, folder or output))
    # Each in processes of its own, whose memory has not been used by another.
    runs = [Run(f"{run.name}, {program}", {**run.job, "program": program}, {"OMP_NUM_THREADS": "1"})
            for run in runs_on(on, folder, output) for program in wanted]
    job: dict[str, Any] = {"command": "outofcore", "size": size, "memory": each, "loop_memory": of_loop,
                           "iterations": iterations, "steps": steps, "repeat": repeat, "patience": patience, "hints": parse_hints(hint or [])}
    Bench("penstock_evaluation.outofcore_worker", job, runs, counts, len(counts) * len(runs), illustrated(outofcore_report)).carry_out(output, folder, mpiexec_timeout)


def check_room(size: int, memory: int, ranks: int, steps: int, folder: Path) -> str:
    """The disk space and memory needed, as text; raises an error if there is too little."""
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    matrix = size * size * ELEMENT
    disk = 5 * matrix + ranks * steps * memory // 4
    # In core, each rank has its part of the product twice; rank 0 compares whole matrices; files are in the page cache.
    needed = disk + ranks * (RANK_MEMORY + 3 * memory + 3 * matrix) + 4 * matrix
    for what, least, free in (("on the disk of", disk, shutil.disk_usage(there).free),
                              ("of memory for", needed, available_memory())):
        if least > free:
            raise ArgumentError(f"outofcore: {text_of(least)} {what} '{folder}' are needed, and {text_of(free)} are free; choose "
                                "a smaller --size, less --memory or fewer --ranks")
    return f"it needs {text_of(disk)} of disk and {text_of(needed)} of memory, which are free"
