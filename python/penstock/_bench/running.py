"""What all of `penstock bench` share on the caller's side: options, mpiexecs, progress, results."""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

import typer

from .. import hints
from .._commands import integers

PATIENCE = typer.Option(60.0, min=0, help="Seconds of repetitions after which three are enough.")
OUTPUT = typer.Option(Path("penstock-bench"), help="Folder for results and plots.")
FOLDER = typer.Option(None, "--folder", exists=True, file_okay=False,
                      help="Folder for the file that is written and read; default: a temporary one in --output.")
HINT = typer.Option(None, help="A hint for Penstock, name=value. Repeat it for several. There are: "
                          f"{', '.join(hint.name for hint in hints())}.")
ON = "What the I/O goes to: any of page-cache, o-direct and paced:NAME=VALUE,..., a modelled shared file system."
PLACE = typer.Argument(Path("."), exists=True, file_okay=False,
                       help="Folder on the file system to measure; files go into a temporary folder in it.")
RANKS = typer.Option(4, min=1, help="MPI processes.")
TIMEOUT = typer.Option(3600.0, min=1, help="Seconds after which an mpiexec is ended.")


@dataclass(frozen=True)
class Run:
    """One mpiexec for each rank count: its name, and what it does not share with the others."""

    name: str = ""
    job: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)  #: environment


def at_least(least: int, name: str, number: int) -> int:
    from .. import ArgumentError

    if number < least:
        raise ArgumentError(f"{name} must be at least {least}, not {number}")
    return number


def numbers(name: str, text: str) -> list[int]:
    """Counts with commas between: 4,16."""
    from .. import ArgumentError

    counts = list(dict.fromkeys(at_least(1, name, n) for n in integers(name, text)))
    if not counts:
        raise ArgumentError(f"{name} must be at least one number, as in 4,16")
    return counts


def byte_count(name: str, text: str) -> int:
    from .. import parse_bytes

    return at_least(1, name, parse_bytes(text.strip()))


def parse_hints(given: list[str]) -> dict[str, str]:
    from .. import ArgumentError
    from .._core import _Settings

    for text in given:
        if not re.fullmatch(r"[^=]+=.*", text):
            raise ArgumentError(f"hint '{text}' must be name=value, as in buffer_size=16M")
    settings = dict(text.split("=", 1) for text in given)
    _Settings(settings)  # which throws
    return settings


class Progress:
    """A bar for a person who looks on; plain lines for a pipe."""

    def __init__(self, total: int):
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        self.live = sys.stdout.isatty()
        self.bar = Bar(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
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


@dataclass(frozen=True)
class Bench:
    """What is measured: `worker` for each run and rank count, `report` of all records at the end."""

    worker: str  #: module that the ranks run
    job: dict[str, Any]
    runs: list[Run]
    ranks: list[int]
    pieces: int  #: of work, as the workers count them, for the progress bar
    report: Callable[[list[dict[str, Any]], Path], None]

    def carry_out(self, output: Path, folder: Optional[Path], seconds: float) -> None:
        output.mkdir(parents=True, exist_ok=True)
        results = output / f"{self.job['command']}.jsonl"
        results.write_text("")
        with tempfile.TemporaryDirectory(prefix="penstock-bench-", dir=folder or output) as place:
            places = {"results": str(results.resolve()), "device": str(Path(place).resolve())}
            good = self._run_all(places, seconds, Progress(self.pieces))
        records = [json.loads(line) for line in results.read_text().splitlines()]
        if records:
            self.report(records, output)
        raise typer.Exit(0 if good else 1)

    def _run_all(self, places: dict[str, str], seconds: float, progress: Progress) -> bool:
        """Whether all was measured. A wrong file ends everything; a run that takes too long, only itself."""
        from .._launch import say_status, watched_mpirun

        good = True
        with progress.bar:
            for n in self.ranks:
                for run in self.runs:
                    name = f"{n} ranks" + (f", {run.name}" if run.name else "")
                    text = json.dumps({**self.job, **places, **run.job, "run": run.name})
                    try:
                        status = watched_mpirun([sys.executable, "-m", self.worker, text], n, seconds,
                                                lambda line: progress.line(name, line), run.settings)
                    except TimeoutError as error:
                        typer.echo(f"penstock bench: {name}: {error}; see --mpiexec-timeout", err=True)
                        good = False
                        continue
                    if status != 0:
                        say_status(name, status)
                        raise typer.Exit(status)
        return good


def measured(worker: str, job: Mapping[str, Any], folder: Path, ranks: int, seconds: float) -> list[dict[str, Any]]:
    """What rank 0 of a worker without files of results prints, a JSON object a line, in a folder of its own that goes
    afterwards. Other lines are shown."""
    from .._launch import say_status, watched_mpirun

    records: list[dict[str, Any]] = []

    def take(line: str) -> None:
        if line.startswith("{"):
            records.append(json.loads(line))
        else:
            typer.echo(line)

    with tempfile.TemporaryDirectory(prefix="penstock-bench-", dir=folder, ignore_cleanup_errors=True) as place:
        text = json.dumps({**job, "folder": str(Path(place).absolute())})
        try:
            status = watched_mpirun([sys.executable, "-m", worker, text], ranks, seconds, take, {})
        except TimeoutError as error:
            typer.echo(f"penstock bench: {error}; see --mpiexec-timeout", err=True)
            raise typer.Exit(1) from None
    if status != 0:
        say_status(f"{ranks} ranks", status)
        raise typer.Exit(1)
    return records


def save_records(path: Path, records: list[dict[str, Any]], **common: Any) -> None:
    """As JSON lines. `common`: what is the same for all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps({**record, **common}) + "\n" for record in records)


def runs_on(on: str, folder: Optional[Path], output: Path) -> list[Run]:
    """One for each device that there is."""
    from . import devices as known

    wanted, place = known.parse(on), folder or output
    place.mkdir(parents=True, exist_ok=True)
    if any(d.name == "o-direct" for d in wanted) and not known.has_o_direct(place):
        typer.echo(f"O_DIRECT: left out, for the file system of '{place}' has none")
        wanted = [d for d in wanted if d.name != "o-direct"]
    if not wanted:
        raise typer.Exit(1)
    return [Run(d.words, {"on": d.name}) for d in wanted]
