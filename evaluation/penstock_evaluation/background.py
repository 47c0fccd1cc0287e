"""`python -m penstock_evaluation split` and `python -m penstock_evaluation abt`: background I/O; one mpiexec per
rank count and device."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Optional

import typer
from penstock._bench.patterns import DISTRIBUTIONS, one_of
from penstock._bench.running import (
    FOLDER,
    HINT,
    ON,
    OUTPUT,
    PATIENCE,
    TIMEOUT,
    Bench,
    Run,
    at_least,
    byte_count,
    numbers,
    parse_hints,
    runs_on,
)

from .command import OPERATIONS, SET_UPS, app
from .report import BUDGETS, PRIORITIES

EXPERIMENTS = ["independent", "computation", "communication"]
ABT_PROGRAMS = ("jacobi", "product")
ABT_EXPERIMENTS = ["pretest", "throughput", *ABT_PROGRAMS, "servers"]
COPIES = 5  # of a rank's data: the array, its copy, a buffer of twice the data, the file in the page cache

_ranks = typer.Option("4,16", help="Numbers of MPI processes.")


@app.command()
def split(
    experiments: str = typer.Option("all", help=f"Any of {', '.join(EXPERIMENTS)}. independent: each rank its own part, without exchange, "
                                    "beside computation. The others: collective, beside what they are named after."),
    priorities: str = typer.Option("auto,nice", help=f"Of the background's thread, any of {', '.join(PRIORITIES)}: as Penstock "
                                   "chooses; as the program; SCHED_BATCH; nice 19; SCHED_IDLE, only when a core has nothing else."),
    set_up: str = typer.Option("default", help=f"Of the collective ones: {' or '.join(SET_UPS)}, in which every rank writes its "
                               "whole share in one request, after step 5 of the exchange."),
    on: str = typer.Option("page-cache,o-direct,paced:bandwidth=100M,latency=1ms", help=ON),
    ranks: str = _ranks,
    size: str = typer.Option("64M", help="Bytes that all ranks write together, collectively."),
    slab: str = typer.Option("4M", help="Bytes that each rank writes without exchange."),
    pattern: str = typer.Option("block-block", help="Access pattern of the collective writes."),
    operations: str = typer.Option("write", help="write, read, or all."),
    repeat: int = typer.Option(7, min=1, help="Timed repetitions; the median counts."),
    sample: float = typer.Option(0.15, min=0, help="Least seconds of I/O in a repetition, in up to 20 calls."),
    patience: float = PATIENCE, output: Path = OUTPUT, folder: Optional[Path] = FOLDER,
    hint: Optional[list[str]] = HINT, mpiexec_timeout: float = TIMEOUT,
) -> None:
    """Split collectives: how much I/O is hidden behind computation or communication."""
    from penstock._bench.patterns import pick

    from .background_report import split_report
    from .pictures import illustrated

    job: dict[str, Any] = {"command": "split", "experiments": pick("experiment", experiments, EXPERIMENTS),
           "operations": pick("operation", operations, OPERATIONS), "size": byte_count("size", size),
           "priorities": pick("priority", priorities, list(PRIORITIES)), "set_up": one_of("set-up", set_up, SET_UPS),
           "slab": byte_count("slab", slab), "pattern": _pattern(pattern), "repeat": repeat, "patience": patience,
           "sample": sample, "hints": parse_hints(hint or [])}
    counts, runs = numbers("ranks", ranks), runs_on(on, folder, output)
    pieces = len(counts) * len(runs) * len(job["experiments"]) * len(job["operations"])
    bench = Bench("penstock_evaluation.overlap_worker", job, runs, counts, pieces, illustrated(split_report))
    bench.carry_out(output, folder, mpiexec_timeout)


@app.command()
def abt(
    experiments: str = typer.Option("all", help=f"Any of {', '.join(ABT_EXPERIMENTS)}. pretest: what a thread that writes costs "
                                    "computation and broadcasts. throughput: writes beside memory copies. jacobi, product: programs with "
                                    "snapshots. servers: writes to servers that vary in speed, on modelled devices."),
    on: str = typer.Option("page-cache,o-direct,paced:bandwidth=400M,latency=1ms", help=ON),
    ranks: str = _ranks,
    size: str = typer.Option("32M", help="Bytes that each rank writes; fewer if memory is short. Not for jacobi and product."),
    requests: str = typer.Option("128K,512K,1M,4M", help="Pretest: bytes of a write."),
    variances: str = typer.Option("0,0.5,1", help="Servers: random variation of a write's time, as a fraction from 0 to 1."),
    distributions: str = typer.Option("all", help=f"Throughput: any of {', '.join(DISTRIBUTIONS)}."),
    grid: int = typer.Option(2048, help="Jacobi, product: elements per side of the square."),
    iterations: int = typer.Option(256, min=1, help="Jacobi, product: iterations; the product is complete after the last."),
    snapshots: str = typer.Option("1,2,4,8,16,32,64", help="Jacobi, product: numbers of snapshots."),
    jacobi_ranks: str = typer.Option("", help="Jacobi, product: numbers of MPI processes; default: the largest of --ranks."),
    jacobi_repeat: int = typer.Option(1, min=1, help="Jacobi, product: repetitions; confidence intervals need three or more."),
    repeat: int = typer.Option(5, min=1, help="Other experiments: timed repetitions; the median counts."),
    patience: float = PATIENCE, output: Path = OUTPUT, folder: Optional[Path] = FOLDER,
    hint: Optional[list[str]] = HINT, mpiexec_timeout: float = TIMEOUT,
) -> None:
    """Active buffering: what it hides and costs, compared with memory copies and in programs that write snapshots."""
    from penstock._bench.patterns import pick

    from .background_report import abt_report
    from .pictures import illustrated

    chosen = pick("experiment", experiments, ABT_EXPERIMENTS)
    programs, others = ([name for name in names if name in chosen] for names in (ABT_PROGRAMS, ("pretest", "servers")))
    counts = numbers("ranks", ranks)
    job: dict[str, Any] = {
        "command": "abt", "throughput_ranks": counts if "throughput" in chosen else [], "other_ranks": counts if others else [],
        "others": others, "programs": programs, "wanted_size": byte_count("size", size),
        "requests": [byte_count("requests", text) for text in requests.split(",")], "variances": _variances(variances),
        "grid": grid, "iterations": iterations, "distributions": pick("distribution", distributions, list(DISTRIBUTIONS)),
        "snapshots": _snapshots(snapshots, iterations), "jacobi_repeat": jacobi_repeat, "repeat": repeat, "patience": patience,
        "hints": parse_hints(hint or []), "jacobi_ranks": _program_ranks(jacobi_ranks or str(max(counts)), grid) if programs else []}
    # One thread for each rank: a library that multiplies matrices with more would take the other ranks' cores.
    runs = [Run(run.name, run.job, {"OMP_NUM_THREADS": "1"}) for run in runs_on(on, folder, output)]
    job["sizes"] = _sizes(list(dict.fromkeys(job["throughput_ranks"] + job["other_ranks"])), job["wanted_size"])
    counts = list(dict.fromkeys(job["throughput_ranks"] + job["other_ranks"] + job["jacobi_ranks"]))
    bench = Bench("penstock_evaluation.abt_worker", job, runs, counts, _pieces(job, runs), illustrated(abt_report))
    bench.carry_out(output, folder, mpiexec_timeout)


def _program_ranks(text: str, grid: int) -> list[int]:
    counts = numbers("jacobi-ranks", text)
    at_least(max(counts), "grid", grid)
    return counts


def _pieces(job: dict[str, Any], runs: list[Run]) -> int:
    paced = sum(str(run.job["on"]).startswith("paced:") for run in runs)
    programs = len(job["jacobi_ranks"]) * len(job["programs"]) * job["jacobi_repeat"] * (1 + len(BUDGETS) * len(job["snapshots"]))
    pretests = len(job["other_ranks"]) * ("pretest" in job["others"]) * 2 * len(job["requests"])
    servers = len(job["other_ranks"]) * ("servers" in job["others"]) * len(job["variances"])
    return len(runs) * (len(job["throughput_ranks"]) * len(job["distributions"]) + programs + pretests) + paced * servers


def _variances(text: str) -> list[float]:
    from penstock import ArgumentError

    try:
        found = [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        found = []
    if not found or not all(0 <= v <= 1 for v in found):
        raise ArgumentError(f"--variances '{text}' must be numbers from 0 to 1 with commas between, as in 0,0.5,1")
    return found


def _pattern(name: str) -> str:
    """One whose parts are boxes, so that their files can be compared simply."""
    from penstock import ArgumentError
    from penstock._bench.patterns import PATTERNS

    boxes = [p.name for p in PATTERNS.values() if "cyclic" not in p.kind and not p.tiles]
    if name not in boxes:
        raise ArgumentError(f"pattern '{name}' is not known here; known are {', '.join(boxes)}")
    return name


def _snapshots(text: str, iterations: int) -> list[int]:
    from penstock import ArgumentError

    counts = numbers("snapshots", text)
    if max(counts) > iterations:
        raise ArgumentError(f"{max(counts)} snapshots cannot be taken in {iterations} iterations")
    return counts


def _sizes(counts: list[int], wanted: int) -> dict[str, int]:
    """Bytes a rank for each rank count, so that all of it fits into half of the free memory."""
    from penstock._bench.devices import room
    from penstock._bench.patterns import size_text

    sizes = {str(n): room(wanted, COPIES, n) for n in counts}
    for n, size in sizes.items():
        if size < wanted:
            typer.echo(f"{n} ranks: {size_text(size)} a rank instead of {size_text(wanted)}, for want of memory")
    return sizes
