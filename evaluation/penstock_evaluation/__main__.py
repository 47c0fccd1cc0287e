import typer
from penstock import Error

from . import programs  # noqa: F401  its command
from .everything import app

try:
    app(prog_name="python -m penstock_evaluation")
except (Error, TypeError) as error:
    typer.echo(f"evaluation: {error}", err=True)
    raise SystemExit(2) from None
