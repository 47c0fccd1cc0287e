"""The tables of a command, and after them its pictures."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path

from penstock._bench.ratios import Record

from .application_report import fastest
from .report import console

Report = Callable[[list[Record], Path], None]


def illustrated(report: Report) -> Report:
    """The report, and then where its pictures and all measurements are."""

    @wraps(report)
    def shown(records: list[Record], folder: Path) -> None:
        report(records, folder)
        screen = console()
        for picture in pictures(records, folder):
            screen.print(f"plot: {picture}", highlight=False)
        screen.print(f"all measurements: {folder / records[0]['command']}.jsonl", highlight=False)

    return shown


def pictures(records: list[Record], folder: Path) -> list[Path]:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        print("no plots: matplotlib is not installed (pip install matplotlib)", file=sys.stderr)
        return []
    from . import application_plots, background_plots, plots
    from .abt_plots import abt
    from .outofcore_plots import outofcore
    from .sections_plots import sections
    from .steps_plots import steps

    draw = {"steps": steps, "peers": plots.peers, "split": background_plots.split, "abt": abt, "sections": sections,
            "outofcore": outofcore, "application": lambda records, folder: application_plots.draw(fastest(records), folder)}
    return draw[records[0]["command"]](records, folder)
