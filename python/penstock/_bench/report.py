"""The output of `penstock bench`: a table for each kind of access, and which settings pay."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .ratios import DEFAULT, IN_A_BUFFER, Record, is_mpi_io, is_penstock, paired, quartiles

SERIES = {("write", "new"): "write, new file", ("write", "existing"): "write, existing file", ("read", "existing"): "read"}
WORTH = 1.05  #: a setting pays from here on, for three quarters of the repetitions
CORE = ("pattern", "ranks", "operation", "file")


def report(records: list[Record], folder: Path) -> None:
    from rich.console import Console

    screen = Console(width=max(Console().width, 120))
    for ranks in dict.fromkeys(r["ranks"] for r in records):
        mine = [r for r in records if r["ranks"] == ranks]
        for (operation, file), title in SERIES.items():
            series = [r for r in mine if (r["operation"], r["file"]) == (operation, file)]
            if series:
                screen.print(_table(series, f"{title}, {ranks} ranks"))
        screen.print("buffered, which is the default: until the call returns; all others: until the bytes are in the file",
                     highlight=False)
        for line in advice(mine):
            screen.print(line, highlight=False)
    screen.print(f"all measurements: {folder / 'bench.jsonl'}", highlight=False)


def _table(series: list[Record], title: str) -> Any:
    from rich.table import Table

    table = Table(title=f"{title} ({series[0]['mpi']}; median of {series[0]['repeat']})")
    for name, right in (("pattern", False), ("method", False), ("MB/s", True), ("of a contiguous\nbaseline", True),
                        ("times as fast\nas MPI-IO", True), ("times as fast\nas the default", True)):
        table.add_column(name, justify="right" if right else "left", no_wrap=True)
    for pattern in dict.fromkeys(r["pattern"] for r in series):
        for r in (r for r in series if r["pattern"] == pattern):
            default = _default(r, series)
            table.add_row(pattern, _name(r), f"{r['mb_per_s']:.0f}", _number(r.get("of_rod")), _number(r.get("of_mpi_io")),
                          _number(quartiles(paired(r["times"], default["times"]))[1]) if default and default is not r else "")
        table.add_section()
    return table


def _name(record: Record) -> str:
    if record["kind"] == "rod":
        return "contiguous baseline" + (", O_DIRECT" if record["on"] == "o-direct" else "")
    if is_mpi_io(record):
        return f"MPI-IO ({record['method']})" if record["method"] != "MPI-IO" else "MPI-IO"
    return "storage=direct" if record["on"] == "o-direct" else record["method"]


def _number(value: Any) -> str:
    return "" if value is None else f"{value:.2f}"


def _default(record: Record, records: Iterable[Record]) -> Any:
    """Penstock's default of the same measurement: of the same run, where pairs are of one repetition, if that has it."""
    if not is_penstock(record):
        return None
    same = [r for r in records if r["method"] == DEFAULT and r["on"] == "page-cache" and all(r[key] == record[key] for key in CORE)]
    return next((r for r in same if r["run"] == record["run"]), same[0] if same else None)


def advice(records: list[Record]) -> list[str]:
    """One sentence for each setting that pays in some kind of access; or that none does."""
    lines = []
    tried = [r for r in records if is_penstock(r) and _name(r) not in (DEFAULT, IN_A_BUFFER)]
    for name in dict.fromkeys(map(_name, tried)):
        for (operation, file), title in SERIES.items():
            pairs = []
            for r in tried:
                default = _default(r, records) if _name(r) == name and (r["operation"], r["file"]) == (operation, file) else None
                pairs += paired(r["times"], default["times"]) if default else []
            if pairs and quartiles(pairs)[0] >= WORTH:
                low, middle, high = quartiles(pairs)
                lines.append(f"{name} pays for {title}: {middle:.2f} times as fast as the default "
                             f"(half of the repetitions: {low:.2f} to {high:.2f})")
    return lines or [f"No setting pays here: none is {WORTH - 1:.0%} faster than the default in three quarters of the repetitions."]
