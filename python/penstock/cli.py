"""The `penstock` command."""

from __future__ import annotations

import functools
import inspect
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Optional

import typer

from . import Error, __version__, hints
from ._bench.checkpoint import checkpoint
from ._bench.command import bench
from ._bench.formats import formats
from ._commands import Commands, WithDefault, integers
from ._trace.command import app as traces

app = typer.Typer(cls=Commands, add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False,
                  help="Collective reads and writes of array sections in shared files.")

app.add_typer(traces, name="trace")


def _version(wanted: bool) -> None:
    if wanted:
        from ._core import mpi_library_version

        library = " ".join(mpi_library_version().splitlines()[0].split())
        typer.echo(f"penstock {__version__}, with {library}")
        raise typer.Exit


@app.callback()
def _root(version: bool = typer.Option(False, "--version", callback=_version, is_eager=True,
                                       help="Print the version and the MPI library, and exit.")) -> None:
    pass


@app.command()
def demo(
    ranks: int = typer.Option(4, min=1, help="MPI processes."),
    size: int = typer.Option(128, min=8, help="Points per dimension of the built-in field."),
    input: Optional[Path] = typer.Option(None, exists=True, dir_okay=False,
                                         help="Your own volume to start from: a 3-D .npy file of numbers."),
    steps: int = typer.Option(60, min=1, help="Time steps."),
    snapshots: int = typer.Option(6, min=1, help="Snapshots to write."),
    output: Path = typer.Option(Path("penstock-demo"), help="Folder for the .npy files and the picture."),
) -> None:
    """Solve a 3-D heat problem in parallel, with snapshots written through Penstock."""
    from ._launch import mpirun

    arguments = ["--size", str(size), "--steps", str(steps), "--snapshots", str(snapshots),
                 "--output", str(output)]
    if input is not None:
        arguments += ["--input", str(input)]
    if sys.stdout.isatty():
        # Ranks write into a pipe of mpiexec: they cannot see for themselves that a person looks on.
        arguments += ["--terminal-width", str(shutil.get_terminal_size().columns)]
    raise typer.Exit(mpirun("penstock._demo", arguments, ranks))


@app.command(add_help_option=False, context_settings={
    "allow_extra_args": True, "ignore_unknown_options": True, "allow_interspersed_args": False})
def run(context: typer.Context) -> None:
    """Run a program that uses MPI-IO with Penstock's engine: penstock run mpiexec -n 4 ./program

    HDF5, netCDF, PnetCDF, h5py, IOR and mpi4py use MPI-IO. Nothing is recompiled: the drop-in MPI-IO for the program's
    MPI library is preloaded. `penstock run --help` lists the options of `penstock-run`, which needs no Python.
    """
    from ._run import run as become

    try:
        become(context.args)
    except Error as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from error


def with_hint_options(command: Callable[..., None]) -> Callable[..., None]:
    """An option for each hint that a plan depends on, from the library's table, in place of `**hints`."""
    planned = [hint for hint in hints() if hint.planned]

    @functools.wraps(command)
    def wrapped(**arguments: Any) -> None:
        command(**arguments)

    own = [p for p in inspect.signature(command, eval_str=True).parameters.values() if p.kind != p.VAR_KEYWORD]
    options = [inspect.Parameter(hint.name, inspect.Parameter.KEYWORD_ONLY, annotation=str, default=typer.Option(
        hint.default, metavar="|".join(hint.choices) or hint.unit.upper(), help=hint.help)) for hint in planned]
    wrapped.__signature__ = inspect.Signature([*own, *options])  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in [*own, *options]}
    del wrapped.__wrapped__
    return wrapped


@app.command()
@with_hint_options
def explain(
    path: Optional[Path] = typer.Argument(None, help="A file or folder: describe its file system, and what follows "
                                                     "for calls. With --shape: plan for that file system."),
    shape: Optional[str] = typer.Option(None, help="Shape of the array: 4096,4096."),
    dtype: str = typer.Option("f8", help="NumPy dtype of its elements."),
    order: str = typer.Option("C", help="C or F."),
    offset: int = typer.Option(0, help="Byte of the file at which the array starts."),
    ranks: int = typer.Option(4, min=1, help="Number of ranks."),
    section: Optional[list[str]] = typer.Option(
        None, help="What each rank requests, in the papers' form: '(1:4096:1, 1+8p:16+8p:1)', 1-based and "
                   "inclusive, with p for the rank and nprocs. Repeat it for several sections."),
    kind: Optional[str] = typer.Option(None, help="Instead of --section: a distribution, block,block or "
                                                  "'*,cyclic' or 'block-cyclic(4),block'."),
    grid: Optional[str] = typer.Option(None, help="With --kind: processes per dimension, 2,2."),
    read: bool = typer.Option(False, "--read", help="Explain a read; default: a write."),
    cores: Optional[int] = typer.Option(None, help="Processors of a node; default: this machine's."),
    nodes: int = typer.Option(1, min=1, help="Number of nodes."),
    no_measure: bool = typer.Option(False, "--no-measure", help="Use assumed constants instead of measuring "
                                                                "how fast this machine copies."),
    **hints: str,
) -> None:
    """Print the plan of a request without running it, or describe the file system of PATH."""
    from . import ArgumentError, Section, distribute
    from . import explain as explain_request
    from ._explain import explain_file_system

    if shape is None:
        if path is None or section or kind is not None:
            raise ArgumentError("say what it is about: a request, with --shape, or PATH, of a file system, or both")
        typer.echo(explain_file_system(path).text, nl=False)
        return
    extents = integers("shape", shape)
    if (section is None or section == []) == (kind is None):
        raise ArgumentError("say what the ranks ask for: either --section or --kind")
    if kind is not None:
        kinds = kind.split(",")
        places = integers("grid", grid) if grid else None
        sections: list = [distribute(extents, kind=kinds, grid=places, rank=r, ranks=ranks) for r in range(ranks)]
    else:
        sections = [[Section.paper(text, p=r, nprocs=ranks) for text in section or []] for r in range(ranks)]
    plan = explain_request(extents, dtype, sections, order=order, offset=offset, write=not read, cores=cores,
                           nodes=nodes, measure=not no_measure, path=path, **hints)
    typer.echo(plan["text"], nl=False)


@app.command()
def verify(
    path: list[Path] = typer.Argument(..., help="safetensors files, or folders with a model.safetensors.index.json."),
) -> None:
    """Check checkpoints: headers, sizes, and the tensors that have a CRC-32C.

    `save_tensors` writes the checksums with checksums=True. Damage is reported, with exit status 2.
    """
    from . import verify_tensors

    for one in path:
        found = verify_tensors(one)
        typer.echo(f"{one}: whole. Tensors: {found.tensors}, of {found.bytes} bytes, in files: {found.files}; compared "
                   f"with a checksum: {found.checksums}")


benches = typer.Typer(cls=WithDefault, help="Measure in a folder of yours. Default: mpi-io.")
benches.command("mpi-io")(bench)
benches.command()(checkpoint)
benches.command()(formats)
app.add_typer(benches, name="bench")


def main() -> None:
    try:
        app()
    except (Error, TypeError) as error:
        typer.echo(f"penstock: {error}", err=True)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
