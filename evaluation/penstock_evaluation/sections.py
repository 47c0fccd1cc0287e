"""`python -m penstock_evaluation sections`: the section patterns of Thakur and Choudhary, one mpiexec per rank count
and device."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional

import typer
from penstock import ArgumentError
from penstock._bench.devices import RANK_MEMORY, available_memory
from penstock._bench.patterns import pick
from penstock._bench.running import FOLDER, HINT, ON, OUTPUT, TIMEOUT, Bench, Run, numbers, parse_hints, runs_on

from .application import app
from .command import OPERATIONS, UNBUFFERED
from .paper_tables import ELEMENT, ROWS, TABLES, Row

ETP = {"method": "extended", **UNBUFFERED}
# The paper's have one aggregator a rank ("ranks": their number), the others as many as the engine chooses.
METHODS = {
    "direct": {"method": "direct", **UNBUFFERED},
    "paper-static": {**ETP, "domains": "static", "aggregators": "ranks"},
    "paper-dynamic": {**ETP, "domains": "dynamic", "aggregators": "ranks"},
    "static": {**ETP, "domains": "static"},
    "dynamic": {**ETP, "domains": "dynamic"},
    "auto": {**UNBUFFERED},
}
LATENCY = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


@app.command()
def sections(
    tables: str = typer.Option("1,2,3,4,5,6", help=f"Tables of the paper: any of {', '.join(map(str, TABLES))}, or all."),
    rows: str = typer.Option("all", help="Rows of these tables, as in I,IV."),
    ranks: str = typer.Option("16", help="Numbers of MPI processes. The paper has 4 to 128 in Tables 7 and 8, else 16."),
    size: int = typer.Option(0, min=0, help="Elements of the array in each dimension; 0: as printed, 4096 or 16384."),
    methods: str = typer.Option("all", help=f"Any of {', '.join(METHODS)}."),
    on: str = typer.Option("page-cache,paced:bandwidth=100M,latency=1ms", help=ON),
    operations: str = typer.Option("read,write", help="read, write or both."),
    longest: float = typer.Option(10.0, min=0, help="Seconds. On a modelled device the direct method is left out where "
                                                    "the latency of its requests alone takes longer."),
    repeat: int = typer.Option(7, min=1, help="Timed repetitions; the median counts."),
    patience: float = typer.Option(1.5, min=0, help="Seconds after which a row is not repeated again."),
    output: Path = OUTPUT, folder: Optional[Path] = FOLDER, hint: Optional[list[str]] = HINT,
    mpiexec_timeout: float = TIMEOUT,
) -> None:
    """Sections of arrays by the direct and the extended two-phase method, compared with the paper's Tables 1 to 8."""
    from .pictures import illustrated
    from .sections_report import sections_report

    chosen = rows_of(tables, rows, pick("operation", operations, OPERATIONS))
    counts = numbers("ranks", ranks)
    cases = _cases(chosen, size, counts)
    named = pick("method", methods, list(METHODS))
    job: dict[str, Any] = {"command": "sections", "rows": [ROWS.index(row) for row in chosen], "size": size,
                           "repeat": repeat, "patience": patience, "hints": parse_hints(hint or []),
                           "methods": {name: METHODS[name] for name in named}}
    typer.echo(check_room(cases, folder or output))
    runs = [_leaving_out(run, cases, longest) for run in runs_on(on, folder, output)]
    bench = Bench("penstock_evaluation.sections_worker", job, runs, counts, len(runs) * len(cases), illustrated(sections_report))
    bench.carry_out(output, folder, mpiexec_timeout)


def rows_of(tables: str, names: str, operations: list[str]) -> list[Row]:
    """Rows as printed: those that read before those that write, for these have a file of their own."""
    numbered = pick("table", tables, [str(table) for table in TABLES])
    of_tables = [row for row in ROWS if str(row.table) in numbered]
    wanted = pick("row", names, list(dict.fromkeys(row.name for row in of_tables)))
    chosen = [row for row in of_tables if row.name in wanted and row.operation in operations]
    if not chosen:
        raise ArgumentError(f"tables {', '.join(numbered)} have no rows that {' or '.join(operations)}")
    return sorted(chosen, key=lambda row: row.operation)


Case = tuple[Row, int, int]  # a row, the size of its array, the number of ranks


def _cases(rows: Sequence[Row], size: int, counts: Sequence[int]) -> list[Case]:
    """The cases that fit; reports those that do not."""
    cases = []
    for ranks in counts:
        for row in rows:
            n = size or row.size
            if row.extent(ranks) <= n:
                cases.append((row, n, ranks))
            else:
                typer.echo(f"{row.cited}: left out on {ranks} ranks: {row.section} does not fit into {n} x {n}")
    if not cases:
        raise ArgumentError("no row fits; choose fewer --ranks or a larger --size")
    return cases


def check_room(cases: Sequence[Case], folder: Path) -> str:
    """The disk space and memory needed, as text; raises an error if there is too little."""
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    file = max(size * size * ELEMENT for _, size, _ in cases)
    # Each element is written, and read into another place. The file is in the page cache.
    memory = file + max(ranks * RANK_MEMORY + 2 * sum(row.section_of(r, ranks).size * ELEMENT for r in range(ranks))
                        for row, _, ranks in cases)
    for what, needed, free in (("on the disk of", file, shutil.disk_usage(there).free),
                               ("of memory for", memory, available_memory())):
        if needed > free:
            raise ArgumentError(f"sections: {_mib(needed)} {what} '{folder}' are needed, and {_mib(free)} are free; choose "
                                "fewer --ranks, other --tables or a smaller --size")
    tables = ", ".join(str(table) for table in dict.fromkeys(row.table for row, _, _ in cases))
    return f"{len(cases)} rows of tables {tables}: they need {_mib(file)} of disk and {_mib(memory)} of memory, which are free"


def _mib(size: int) -> str:
    return f"{-(-size >> 20)} MiB" if size < 1 << 30 else f"{size / (1 << 30):.1f} GiB"


def _leaving_out(run: Run, cases: Sequence[Case], longest: float) -> Run:
    """The run, and what of it would take too long: by row and ranks, the method and the seconds that it would take at least."""
    told = re.search(r"\blatency=([0-9.]+)(us|ms|s)\b", run.job["on"])
    latency = float(told[1]) * LATENCY[told[2]] if told else 0.0
    left_out: dict[str, dict[str, float]] = {}
    for row, size, ranks in cases:
        requests = max(row.requests(rank, ranks, size) for rank in range(ranks))
        seconds = requests * latency
        if seconds > longest:
            typer.echo(f"{row.cited}: without direct on {run.name}, {ranks} ranks: {requests} requests, one after the other, "
                       f"take {seconds:.0f} s at least (--longest {longest:g})")
            left_out[f"{ROWS.index(row)} on {ranks}"] = {"direct": seconds}
    return Run(run.name, {**run.job, "left_out": left_out}, run.settings)
