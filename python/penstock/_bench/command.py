"""`penstock bench steps` and `penstock bench peers`: one mpiexec a rank count, then the report."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Optional

import typer

app = typer.Typer(no_args_is_help=True, help="Measure the engine: against a rod, and against the MPI library's MPI-IO.")

EXCHANGES = ("step1", "step2", "step3", "step4", "step5", "sparse", "alltoallw", "node")
STEPS = {"direct": {"method": "direct"}, **{name: {"method": "extended", "exchange": name} for name in EXCHANGES}}
OPERATIONS = ["write", "read"]

_ranks = typer.Option("4,16", help="Numbers of MPI processes.")
_operations = typer.Option("write,read", help="write, read or both.")
_repeat = typer.Option(9, min=1, help="Timed repetitions; the median counts.")
_patience = typer.Option(60.0, min=0, help="Seconds of repetitions after which three are enough.")
_output = typer.Option(Path("penstock-bench"), help="Folder for results and plots.")
_device = typer.Option(None, exists=True, file_okay=False, help="Folder for the file that is written and read; "
                                                                "default: a temporary one in --output.")
_hint = typer.Option(None, help="A hint for Penstock, name=value. Repeat it for several.")
_timeout = typer.Option(3600.0, min=1, help="Seconds after which an mpiexec is ended.")


@app.command()
def steps(
    steps: str = typer.Option("all", help=f"Which of {', '.join(STEPS)}."),
    patterns: str = typer.Option("block-block", help="Access patterns, or all."),
    ranks: str = _ranks,
    sizes: str = typer.Option("64M", help="Bytes that all ranks want together: 4M,16M,64M."),
    operations: str = _operations, repeat: int = _repeat, patience: float = _patience, output: Path = _output,
    device: Optional[Path] = _device, hint: Optional[list[str]] = _hint, mpiexec_timeout: float = _timeout,
) -> None:
    """Every way to exchange data, over rank counts and sizes."""
    from .patterns import pick

    methods = {name: STEPS[name] for name in pick("step", steps, list(STEPS))}
    job = _job("steps", patterns, sizes, operations, repeat, patience, output, hint)
    _bench({**job, "methods": methods, "mpi_io": None}, [("", None, {})], ranks, device, mpiexec_timeout)


@app.command()
def peers(
    patterns: str = typer.Option("all", help="Access patterns, or all."),
    ranks: str = typer.Option("4,16,64", help="Numbers of MPI processes."),
    size: str = typer.Option("64M", help="Bytes that all ranks want together."),
    operations: str = _operations, repeat: int = _repeat, patience: float = _patience, output: Path = _output,
    device: Optional[Path] = _device, hint: Optional[list[str]] = _hint, mpiexec_timeout: float = _timeout,
) -> None:
    """Penstock beside the MPI library's own MPI-IO, for the access patterns of the field."""
    job = _job("peers", patterns, size, operations, repeat, patience, output, hint)
    _bench({**job, "methods": {"penstock": {}}}, _mpi_ios(), ranks, device, mpiexec_timeout)


def _job(command: str, patterns: str, sizes: str, operations: str, repeat: int, patience: float, output: Path,
         hints: Optional[list[str]]) -> dict[str, Any]:
    from .. import parse_bytes
    from .patterns import chosen, pick

    return {"command": command, "patterns": [p.name for p in chosen(patterns)],
            "sizes": [_at_least_one("size", parse_bytes(s.strip())) for s in sizes.split(",")],
            "operations": pick("operation", operations, OPERATIONS), "repeat": repeat, "patience": patience,
            "hints": _hints(hints or []), "output": output}


def _at_least_one(name: str, number: int) -> int:
    from .. import ArgumentError

    if number < 1:
        raise ArgumentError(f"{name} must be at least 1, not {number}")
    return number


def _hints(given: list[str]) -> dict[str, str]:
    from .. import ArgumentError

    for text in given:
        if not re.fullmatch(r"[^=]+=.*", text):
            raise ArgumentError(f"hint '{text}' must be name=value, as in buffer_size=16M")
    return dict(text.split("=", 1) for text in given)


def _mpi_ios() -> list[tuple[str, str, Mapping[str, str]]]:
    """Runs to make: the run's name, that of its MPI-IO, and what chooses it. Open MPI has several."""
    from .._core import mpi_library_version
    from .._launch import find_mpiexec

    if "Open MPI" not in mpi_library_version():
        return [("", "MPI-IO", {})]
    told = ""
    for name in ("ompi_info", "ompi_info.openmpi"):
        tool = Path(find_mpiexec()).with_name(name)
        if tool.exists():
            told = subprocess.run([str(tool), "--parsable"], capture_output=True, text=True, timeout=60).stdout
            break
    components = sorted(set(re.findall(r"^mca:io:(\w+):version", told, re.MULTILINE)))
    return [(c, c, {"OMPI_MCA_io": c}) for c in components] or [("", "MPI-IO", {})]


class _Progress:
    """A bar for a person who looks on; plain lines for a pipe."""

    def __init__(self, total: int):
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        self.live = sys.stdout.isatty()
        self.bar = Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
                            transient=True, disable=not self.live)
        self.task = self.bar.add_task("", total=total)

    def line(self, run: str, text: str) -> None:
        """A line of a worker's: one piece of work done, or something that the user should see."""
        if not text.startswith("@ "):
            (self.bar.console.print if self.live else typer.echo)(text)
        elif self.live:
            self.bar.update(self.task, advance=1, description=f"{run}: {text[2:]}")
        else:
            typer.echo(f"{run}: {text[2:]}")


def _bench(job: dict[str, Any], runs: list[tuple[str, Optional[str], Mapping[str, str]]], ranks: str,
           device: Optional[Path], seconds: float) -> None:
    from ..cli import _integers
    from .report import report

    counts = [_at_least_one("ranks", n) for n in _integers("ranks", ranks)]
    output = job.pop("output")
    output.mkdir(parents=True, exist_ok=True)
    results = output / f"{job['command']}.jsonl"
    results.write_text("")
    pieces = len(counts) * len(runs) * len(job["patterns"]) * len(job["sizes"]) * len(job["operations"])
    with tempfile.TemporaryDirectory(prefix="penstock-bench-", dir=device or output) as folder:
        job |= {"results": str(results.resolve()), "device": str(Path(folder).resolve())}
        good = _run_all(job, runs, counts, seconds, _Progress(pieces))
    records = [json.loads(line) for line in results.read_text().splitlines()]
    report(records, output)
    raise typer.Exit(0 if good else 1)


def _run_all(job: dict[str, Any], runs: list[tuple[str, Optional[str], Mapping[str, str]]], counts: list[int],
             seconds: float, progress: _Progress) -> bool:
    """Whether all was measured. A wrong file ends everything; a run that takes too long, only itself."""
    from .._launch import watched_mpirun

    good = True
    with progress.bar:
        for n in counts:
            for run, mpi_io, settings in runs:
                name = f"{n} ranks" + (f", {run}" if run else "")
                text = json.dumps({**job, "run": run, "mpi_io": mpi_io})
                try:
                    status = watched_mpirun("penstock._bench.worker", [text], n, seconds,
                                            lambda line: progress.line(name, line), settings)
                except TimeoutError as error:
                    typer.echo(f"penstock bench: {name}: {error}; see --mpiexec-timeout", err=True)
                    good = False
                    continue
                if status != 0:
                    raise typer.Exit(status)
    return good
