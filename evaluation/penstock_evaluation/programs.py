"""`python -m penstock_evaluation program NAME`: measurements by separate programs (evaluation/programs)."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import typer
from penstock import ArgumentError
from penstock._launch import environment, find_mpiexec

from .outofcore import app

SOURCES = Path(__file__).parents[1] / "programs"


def build_folder() -> Path:
    """Of the build that `make evaluation` made."""
    named = os.environ.get("PENSTOCK_BUILD")
    if not named:
        raise ArgumentError("PENSTOCK_BUILD must name the build folder, as `make evaluation` does: build/default")
    return Path(named)


def _binary(name: str) -> str:
    return str(build_folder() / "evaluation/bin" / name)


def _script(name: str) -> list[str]:
    return [sys.executable, str(SOURCES / name)]


@dataclass(frozen=True)
class Program:
    about: str
    command: Callable[[str], list[str]]  #: for a number of ranks


PROGRAMS = {
    "plan-scaling": Program("time and memory of plans, by the number of ranks", lambda ranks: [_binary("plan_scaling")]),
    "opens": Program("opening and closing files, beside MPI_File_open and MPI_File_close",
                     lambda ranks: [find_mpiexec(), "-n", ranks, _binary("opens")]),
    "io-queues": Program("what a queue costs a unit of background I/O", lambda ranks: [_binary("io_queues")]),
    "completions": Program("completions by io_uring and by a thread", lambda ranks: [_binary("completions")]),
    "trace-cost": Program("what PENSTOCK_TRACE costs requests: FOLDER BLOCKS PAIRS", lambda ranks: [_binary("trace_cost")]),
    "simulate": Program("what a write costs each of up to 4,096 simulated ranks", lambda ranks: [
        _binary("simulate"), "--json", str(build_folder() / "evaluation/simulated.jsonl")]),
    "plot-simulated": Program("the picture of what simulate found", lambda ranks: [
        *_script("plot_simulated.py"), *(str(build_folder() / f"evaluation/simulated.{kind}") for kind in ("jsonl", "png"))]),
    "mpi-io": Program("MPI-IO of programs with `penstock run`, beside the MPI library's own",
                      lambda ranks: [*_script("mpi_io.py"), str(build_folder()), "--ranks", ranks]),
    "nonblocking": Program("non-blocking collective writes beside a computation, with `penstock run`",
                           lambda ranks: [*_script("nonblocking.py"), str(build_folder()), "--ranks", ranks]),
    "zarr": Program("Zarr arrays beside zarr-python", lambda ranks: [*_script("zarr_speed.py"), "--ranks", ranks]),
    "hosts": Program("every exchange between hosts, which are made on this machine, beside what auto takes",
                     lambda ranks: [*_script("hosts.py"), str(SOURCES.parents[1] / "tests/hosts/hosts.py")]),
}


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
             epilog="There are: " + "; ".join(f"{name}: {p.about}" for name, p in PROGRAMS.items()))
def program(context: typer.Context, name: str = typer.Argument(help="Its name."),
            ranks: int = typer.Option(4, min=1, help="MPI processes, for programs that use MPI.")) -> None:
    """Runs one of the programs that measure a part of the library, with any further arguments."""
    if name not in PROGRAMS:
        raise ArgumentError(f"program '{name}' is not known; known are {', '.join(PROGRAMS)}")
    command = [*PROGRAMS[name].command(str(ranks)), *context.args]
    raise typer.Exit(subprocess.run(command, env=environment()).returncode)
