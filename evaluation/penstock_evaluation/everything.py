"""`python -m penstock_evaluation all`: every experiment, one after the other, and one page with all results."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from html import escape
from pathlib import Path
from typing import Any, Optional

import typer
from penstock._bench.patterns import pick
from penstock._bench.ratios import Record

from .experiments import EXPERIMENTS, Experiment
from .findings import Finding
from .outofcore import app
from .page import Sheet, findings_table, machine, page, picture
from .report import shown_on

INTERRUPTED = "interrupted: only what was measured until then is here"
GRACE = 60.0  #: seconds that an experiment has to end its ranks after ^C


class Interrupted(Exception):
    """The user has interrupted the run."""


@app.command("all")
def everything(
    out: Path = typer.Option(Path("penstock-bench-all"), "--out", "--output", help="Folder for index.html and all results."),
    experiments: str = typer.Option("all", help=f"Any of {', '.join(EXPERIMENTS)}."),
    small: bool = typer.Option(False, "--small", help="Tiny sizes, in a minute: shows whether everything works, not how fast."),
) -> None:
    """All experiments at sizes that fit in 20 minutes on 2 cores, and one HTML page of the results.

    ^C ends all ranks, and keeps what has been measured.
    """
    chosen = [EXPERIMENTS[name] for name in pick("experiment", experiments, list(EXPERIMENTS))]
    out.mkdir(parents=True, exist_ok=True)
    book = Book(out, small, {experiment: None for experiment in chosen})
    ended = False
    try:
        for experiment, state in _run_all(chosen, out, small):
            book.add(experiment, state)
    except Interrupted as stop:
        ended = True
        book.add(EXPERIMENTS[str(stop)], INTERRUPTED)
    for words in book.failed:
        typer.echo(words, err=True)
    typer.echo(f"page: {book.path}")
    raise typer.Exit(130 if ended else 1 if book.failed else 0)


class Book:
    """The page, rewritten after each experiment, so that it always has all results so far."""

    def __init__(self, out: Path, small: bool, sections: dict[Experiment, Optional[str]]):
        self.path, self.failed = out / "index.html", list[str]()
        self._small, self._sections, self._facts = small, sections, machine(out)
        self._found: dict[str, list[Finding]] = {}
        self._write()

    def add(self, experiment: Experiment, state: str) -> None:
        """`state`: what went wrong; "": nothing."""
        if state:
            self.failed.append(f"{experiment.name}: {state}")
        self._sections[experiment], self._found[experiment.title] = section(
            experiment, self.path.parent / experiment.name, state, self._small)
        self._write()

    def _write(self) -> None:
        texts = [(e.title, html or "<p class=unknown>not run yet</p>") for e, html in self._sections.items()]
        part = self.path.with_suffix(".part")  # a page is whole, or not there
        part.write_text(page(self._facts, self._found, texts, "; ".join(self.failed)), encoding="utf-8")
        part.replace(self.path)


def _run_all(chosen: list[Experiment], out: Path, small: bool) -> Any:
    """Each experiment when it is done, and its error ("": none)."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    live = sys.stdout.isatty()
    with Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), transient=True,
                  disable=not live) as bar:
        task = bar.add_task("", total=len(chosen))
        for experiment in chosen:
            def told(line: str, name: str = experiment.name) -> None:
                bar.update(task, description=f"{name}: {line[:60]}")
                if not live:
                    typer.echo(f"{name}: {line}")

            told("begins")
            yield experiment, _run(experiment, out, small, told)
            bar.update(task, advance=1)


def _run(experiment: Experiment, out: Path, small: bool, told: Any) -> str:
    """Runs the command of one experiment in a session of its own; returns an error message."""
    arguments = shlex.split(experiment.small if small else experiment.arguments)
    place = out / experiment.name
    command = [sys.executable, "-m", "penstock_evaluation", experiment.name, *arguments, "--output", str(place)]
    started, last = time.monotonic(), deque[str](maxlen=5)
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
    errors = threading.Thread(target=lambda: last.extend(line.strip() for line in process.stderr or ()))
    errors.start()
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for line in process.stdout or ():
            if line[:1].isdigit():  # "16 ranks, page cache: Table 1, I": a piece of work is done
                told(line.strip())
        status = process.wait()
    except KeyboardInterrupt:
        _end(process)
        raise Interrupted(experiment.name) from None
    finally:
        errors.join(GRACE)
        signal.signal(signal.SIGTERM, before)
    told(f"took {time.monotonic() - started:.0f} s")
    return "" if status == 0 else f"ended with status {status}: {' / '.join(last) or 'it said nothing'}"


def _end(process: subprocess.Popen) -> None:
    """Makes the command end its ranks, and waits for that."""
    process.send_signal(signal.SIGINT)
    try:
        process.communicate(timeout=GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


def section(experiment: Experiment, place: Path, state: str, small: bool) -> tuple[str, list[Finding]]:
    """The results of one experiment: findings next to its pictures, then its tables. And the findings."""
    command = f"python -m penstock_evaluation {experiment.name} {experiment.small if small else experiment.arguments}"
    said = f"<p class=fails>{escape(state)}</p>" if state else ""
    records = _records(place / f"{experiment.name}.jsonl")
    if not records:
        return f"{said}<p class=unknown>nothing was measured</p>", []
    sheet = Sheet()
    try:
        with shown_on(sheet):
            experiment.report(records, place)
        found = experiment.findings(records)
    except (KeyError, StopIteration, ValueError, IndexError) as error:
        # Methods are compared with others of their series, which an interrupted run may not have.
        if not state:
            raise
        return f"{said}<p class=unknown>{len(records)} measurements, too few to be compared ({escape(repr(error))})</p>", []
    pictures = "\n".join(picture(path) for path in sorted(place.glob(f"{experiment.name}*.png")))
    return f"{said}<p><code>{escape(command)}</code></p>\n{findings_table(found)}\n{pictures}\n{sheet.html}", found


def _records(path: Path) -> list[Record]:
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]  # the last may have been cut off
