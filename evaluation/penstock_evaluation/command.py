"""`python -m penstock_evaluation steps` and `python -m penstock_evaluation peers`: one mpiexec per rank count, then
the report."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Optional

import typer
from penstock._bench.command import BUFFERED, UNBUFFERED, mpi_ios
from penstock._bench.running import (
    FOLDER,
    HINT,
    ON,
    OUTPUT,
    PATIENCE,
    TIMEOUT,
    Bench,
    Run,
    byte_count,
    numbers,
    parse_hints,
    runs_on,
)
from penstock._commands import Commands
from penstock._hints import choices

app = typer.Typer(cls=Commands, no_args_is_help=True,
                  help="Measure the engine: against the contiguous baseline, and the MPI library's MPI-IO.")

EXCHANGES = choices("exchange")
STEPS = ["direct", *EXCHANGES]
SET_UPS = ["default", "paper"]
STEP_EXPERIMENTS = ["exchange", "staggered"]
OPERATIONS = ["write", "read"]
FILES = ["new", "existing"]
# The exchange is measured, including storage: a write that is only copied would hide it.
COPIES = 6  # multiples of a size: written, read and baseline buffers, staging memory, the file in the page cache

_ranks = typer.Option("4,16", help="Numbers of MPI processes.")
_operations = typer.Option("write,read", help="write, read or both.")
_repeat = typer.Option(9, min=1, help="Timed repetitions; the median counts.")


@app.command()
def steps(
    experiments: str = typer.Option("all", help=f"Any of {', '.join(STEP_EXPERIMENTS)}. exchange: all ways to exchange data. "
                                    "staggered: every rank writes one piece of the file, all at once or one after the other."),
    steps: str = typer.Option("all", help=f"Which of {', '.join(STEPS)}."),
    set_ups: str = typer.Option("all", help=f"Any of {', '.join(SET_UPS)}. default: as many aggregators as Penstock chooses, in "
                                "rounds. paper: every rank writes its whole share in one request, as Dickens and Thakur had it."),
    patterns: str = typer.Option("block-block", help="Access patterns of the experiment exchange, or all."),
    ranks: str = _ranks,
    sizes: str = typer.Option("64M", help="Bytes that all ranks want together: 4M,16M,64M. Those for which there is no room are "
                                          "left out, and named."),
    on: str = typer.Option("page-cache,o-direct", help=ON),
    stagger: str = typer.Option("200,1000,10000", help="Staggered: microseconds between the writes of successive ranks."),
    operations: str = _operations, repeat: int = _repeat, patience: float = PATIENCE, output: Path = OUTPUT,
    folder: Optional[Path] = FOLDER, hint: Optional[list[str]] = HINT, mpiexec_timeout: float = TIMEOUT,
) -> None:
    """Every exchange, over numbers of ranks and sizes; where its time goes; staggered writes."""
    from penstock._bench.patterns import chosen, pick

    from .pictures import illustrated
    from .steps_report import steps_report

    job = _job("steps", sizes, repeat, patience, hint)
    delays, counts = numbers("stagger", stagger), numbers("ranks", ranks)
    entries = {"exchange": _exchange_entry(pick("step", steps, STEPS), pick("set-up", set_ups, SET_UPS),
                                           [p.name for p in chosen(patterns)], pick("operation", operations, OPERATIONS)),
               "staggered": staggered_entry(delays)}
    job["entries"] = [entries[name] for name in pick("experiment", experiments, STEP_EXPERIMENTS)]
    job["sizes"] = fitting(job["sizes"], max(counts), folder or output)
    runs = [Run(run.name, {**run.job, "mpi_io": None}) for run in runs_on(on, folder, output)]
    _bench(job, runs, counts, illustrated(steps_report)).carry_out(output, folder, mpiexec_timeout)


@app.command()
def peers(
    patterns: str = typer.Option("all", help="Access patterns, or all."),
    ranks: str = typer.Option("4,16,64", help="Numbers of MPI processes."),
    size: str = typer.Option("64M", help="Bytes of all ranks together."),
    operations: str = _operations,
    files: str = typer.Option("new,existing", help="Write into new files, an existing one, or both."),
    repeat: int = _repeat, patience: float = PATIENCE, output: Path = OUTPUT,
    folder: Optional[Path] = FOLDER, hint: Optional[list[str]] = HINT, mpiexec_timeout: float = TIMEOUT,
) -> None:
    """Compare Penstock with the MPI library's own MPI-IO, for common access patterns."""
    from penstock._bench.patterns import chosen, pick

    from .peers_report import peers_report
    from .pictures import illustrated

    entry = {"experiment": "peers", "patterns": [p.name for p in chosen(patterns)],
             "operations": pick("operation", operations, OPERATIONS), "files": pick("kind of file", files, FILES),
             "methods": {"penstock": UNBUFFERED, "penstock, buffered": BUFFERED}, "writes_only": ["penstock, buffered"],
             "whole_shares": [], "about": {}}
    job = {**_job("peers", size, repeat, patience, hint), "entries": [entry], "on": "page-cache"}
    _bench(job, mpi_ios(), numbers("ranks", ranks), illustrated(peers_report)).carry_out(output, folder, mpiexec_timeout)


def _job(command: str, sizes: str, repeat: int, patience: float, hints: Optional[list[str]]) -> dict[str, Any]:
    return {"command": command, "sizes": [byte_count("size", s) for s in sizes.split(",")], "repeat": repeat,
            "patience": patience, "hints": parse_hints(hints or [])}


# An entry of a job: methods that take turns, by name; which have every rank write its whole share; what they do; and what
# their records have besides the figures.
def _exchange_entry(steps: list[str], set_ups: list[str], patterns: list[str], operations: list[str]) -> dict[str, Any]:
    methods: dict[str, dict[str, str]] = {}
    about: dict[str, dict[str, str]] = {}
    whole: list[str] = []
    for step in steps:
        for set_up in set_ups if step != "direct" else ["any"]:
            name = f"{step}, whole shares" if set_up == "paper" else step
            methods[name] = {**UNBUFFERED, **({"method": "direct"} if step == "direct" else {"method": "extended", "exchange": step})}
            whole += [name] if set_up == "paper" else []
            about[name] = {"step": step, "set_up": set_up}
    return {"experiment": "exchange", "patterns": patterns, "operations": operations, "files": ["existing"],
            "methods": methods, "whole_shares": whole, "writes_only": [], "about": about}


def staggered_entry(delays: list[int]) -> dict[str, Any]:
    """Shares that are contiguous in the file: nothing is exchanged, so that only writes are compared.

    With `node`, since the exchanges in step do not wait for a turn (`writers`) where no thread writes for them.
    """
    from penstock._bench.patterns import SLABS

    shares = {**UNBUFFERED, "exchange": "node"}
    methods = {"at once": shares, **{f"{us} us apart": {**shares, "stagger": str(us)} for us in delays},
               "one at a time": {**shares, "writers": "1"}}
    return {"experiment": "staggered", "patterns": [SLABS.name], "operations": ["write"], "files": ["existing"],
            "methods": methods, "whole_shares": list(methods), "writes_only": [], "about": {}}


def fitting(sizes: list[int], ranks: int, folder: Path) -> list[int]:
    """The sizes for which disk and memory have room; says which are left out."""
    from penstock import ArgumentError
    from penstock._bench.devices import RANK_MEMORY, available_memory
    from penstock._bench.patterns import size_text

    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    memory, disk = available_memory() - ranks * RANK_MEMORY, shutil.disk_usage(there).free
    fit = [size for size in sizes if COPIES * size <= memory and size <= disk]
    for size in sizes:
        if size not in fit:
            typer.echo(f"{size_text(size)}: left out, for it needs {size_text(COPIES * size)} of memory beside {ranks} ranks, and "
                       f"{size_text(size)} on the disk of '{folder}'")
    if not fit:
        raise ArgumentError("no size fits; choose smaller --sizes or fewer --ranks")
    return fit


def _bench(job: dict[str, Any], runs: list[Run], counts: list[int],
           report: Callable[[list[dict[str, Any]], Path], None]) -> Bench:
    def series(entry: dict[str, Any]) -> int:
        of_patterns = sum(len(entry["files"]) if operation == "write" else 1 for operation in entry["operations"])
        return of_patterns * len(entry["patterns"])

    pieces = len(counts) * len(runs) * len(job["sizes"]) * sum(map(series, job["entries"]))
    return Bench("penstock._bench.worker", job, runs, counts, pieces, report)
