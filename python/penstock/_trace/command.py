"""`penstock trace`: what to do with the traces that PENSTOCK_TRACE=FOLDER left."""

from __future__ import annotations

from enum import Enum
from pathlib import Path

import typer

from .._commands import Commands
from .events import load, print_problems

app = typer.Typer(cls=Commands, no_args_is_help=True,
                  help="Show what a program did with its files, as recorded with PENSTOCK_TRACE=FOLDER.")

FOLDER = typer.Argument(help="The folder given in PENSTOCK_TRACE.")


class Format(str, Enum):
    text = "text"
    json = "json"
    csv = "csv"


@app.command()
def merge(
    folder: Path = FOLDER,
    output: Path = typer.Option(Path("trace.json"), "-o", "--output", help="The file to write."),
) -> None:
    """Write one file with all ranks, for Perfetto (ui.perfetto.dev) and chrome://tracing."""
    from .merge import write_json

    trace = load(folder)
    print_problems(trace)
    with open(output, "w") as file:
        count = write_json(trace, file)
    typer.echo(f"{output}: {count:,} events of {len(trace.processes)} ranks")


@app.command()
def summary(
    folder: Path = FOLDER,
    format: Format = typer.Option(Format.text, help="text, or json or csv for programs."),
) -> None:
    """Print times and sizes of operations, and what slowed the program down."""
    from .summary import FORMATS, summarise

    trace = load(folder)
    print_problems(trace)
    typer.echo(FORMATS[format.value](summarise(trace)), nl=False)


@app.command()
def view(
    folder: Path = FOLDER,
    output: Path = typer.Option(Path("trace.html"), "-o", "--output", help="The page to write."),
) -> None:
    """Write one HTML page: a timeline of the ranks, file offsets over time, and the summary."""
    from .view import page_of

    trace = load(folder)
    print_problems(trace)
    page, count = page_of(trace)
    output.write_text(page, encoding="utf-8", errors="backslashreplace")
    typer.echo(f"{output}: {count:,} events of {len(trace.processes)} ranks")
