"""Tables of `python -m penstock_evaluation steps`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from penstock._bench.phases import PARTS, REST, share
from penstock._bench.ratios import Record, paired, quartiles

from .findings import print_findings
from .report import COUNT_COLUMNS, SPEED_COLUMNS, Column, console, distinct, ordered, table
from .steps_findings import steps_findings


def _share(part: str) -> Callable[[Record], str]:
    return lambda r: f"{100 * share(r, part):.0f}"


SHARE_COLUMNS: list[Column] = [("ms", lambda r: f"{1e3 * r['seconds']:.1f}"),
                               *((f"{part}\n%", _share(part)) for part in (*PARTS, REST))]
def _stagger_columns(records: list[Record]) -> list[Column]:
    at_once = {(r["ranks"], r["size"]): r["times"] for r in records if r["method"] == "at once"}

    def gain(r: Record) -> str:
        return f"{quartiles(paired(r['times'], at_once[r['ranks'], r['size']]))[1]:.2f}"

    return [("MB/s", lambda r: f"{r['mb_per_s']:.0f}"), ("x at\nonce", gain),
            ("of the\nrod", lambda r: f"{r['of_rod']:.2f}" if "of_rod" in r else "")]


def steps_report(records: list[Record], folder: Path) -> None:
    screen = console()
    for device in distinct(records, "device"):
        for operation in distinct(records, "operation"):
            chosen = ordered([r for r in records if (r["device"], r["operation"], r["experiment"]) == (device, operation, "exchange")])
            if chosen:
                told = [r for r in chosen if "counts" in r]
                screen.print(table(chosen, f"{operation}: speed", SPEED_COLUMNS))
                screen.print(table(told, f"{operation}: where the time goes, means of the ranks", SHARE_COLUMNS))
                screen.print(table(told, f"{operation}: counts, sums over the ranks", COUNT_COLUMNS))
        chosen = ordered([r for r in records if (r["device"], r["experiment"]) == (device, "staggered")])
        if chosen:
            screen.print(table(chosen, "staggered: every rank writes one piece of the file", _stagger_columns(chosen)))
    print_findings(screen, steps_findings(records))
