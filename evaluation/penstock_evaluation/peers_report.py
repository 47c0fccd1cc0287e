"""Tables of `python -m penstock_evaluation peers`: each measurement, and a summary of Penstock, also as Markdown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Optional

from penstock._bench.ratios import Record, is_penstock, quartiles

from .report import COUNT_COLUMNS, KEYS, OF_PAIRS, PHASE_COLUMNS, Column, console, distinct, in_words, ordered, table

SERIES = {("write", "new"): "write, new file", ("write", "existing"): "write, existing file",
          ("read", "existing"): "read"}
NONE = "-"


def spread(values: list[float]) -> str:
    """The median, and half of what lies between the quartiles."""
    low, middle, high = quartiles(values)
    return f"{middle:.2f} ±{(high - low) / 2:.2f}"


def peers_report(records: list[Record], folder: Path) -> None:
    screen, records = console(), ordered(records)
    for operation in distinct(records, "operation"):
        chosen = [r for r in records if r["operation"] == operation]
        screen.print(table(side_by_side(chosen), f"{operation}: speed, ± half between the quartiles", speed_columns(chosen)))
        told, keys = [r for r in chosen if "counts" in r], (*KEYS, "file")
        screen.print(table(told, f"{operation}: phases", PHASE_COLUMNS, keys))
        screen.print(table(told, f"{operation}: counts, sums over the ranks", COUNT_COLUMNS, keys))
    text = []
    for n in distinct(records, "ranks"):
        for size in distinct(records, "size"):
            chosen = [r for r in records if r["ranks"] == n and r["size"] == size]
            if chosen:
                title = f"{chosen[0]['mpi']}, {in_words('ranks', n)}, {in_words('size', size)} ({OF_PAIRS})"
                names, rows = summary(chosen)
                screen.print(_rich(title, names, rows))
                text.append(_markdown(title, names, rows))
    (folder / "peers.md").write_text("\n".join(text))
    screen.print(f"the last tables as Markdown: {folder / 'peers.md'}", highlight=False)


def side_by_side(records: list[Record]) -> list[Record]:
    """One record for each method, with those of its files in it."""
    rows: dict[tuple, Record] = {}
    for r in records:
        key = tuple(r[k] for k in (*KEYS, "run", "method"))
        rows.setdefault(key, {**{k: v for k, v in r.items() if k not in ("file", "of_rod", "of_mpi_io")}})[r["file"]] = r
    return list(rows.values())


def speed_columns(records: list[Record]) -> list[Column]:
    def of(file: str, text: Callable[[Record], str]) -> Callable[[Record], str]:
        return lambda row: text(row[file]) if file in row else ""

    columns: list[Column] = []
    for file in distinct(records, "file"):
        columns += [(f"{file}:\nMB/s", of(file, lambda r: f"{r['mb_per_s']:.0f}")),
                    ("of the\nrod", of(file, lambda r: spread(r["of_rod_pairs"]))),
                    ("x its\nMPI-IO", of(file, lambda r: f"{r['of_mpi_io']:.2f}" if "of_mpi_io" in r else ""))]
        if file == "new":
            columns.append(("open +\nclose ms", of(file, _around)))
    return columns


def _around(r: Record) -> str:
    """Milliseconds of opening and closing."""
    _, middle, _ = quartiles([sum(both) for both in zip(r["open_times"], r["close_times"])])
    return f"{middle * 1e3:.1f}"


def summary(records: list[Record]) -> tuple[list[str], list[list[str]]]:
    """Penstock's ratios for each pattern: to the baseline of all runs, and to the fastest MPI-IO."""
    records = [r for r in records if is_penstock(r)]
    series = [s for s in SERIES if any((r["operation"], r["file"]) == s for r in records)]
    names, rows = ["pattern"], []
    for s in series:
        names += [f"{SERIES[s]}: of the baseline", "x best MPI-IO"]
        names += ["with open and close: x best MPI-IO"] if s[1] == "new" else []
    for pattern in distinct(records, "pattern"):
        for method in distinct(records, "method"):
            chosen = [r for r in records if r["pattern"] == pattern and r["method"] == method]
            cells = [_cells([r for r in chosen if (r["operation"], r["file"]) == s], s[1] == "new") for s in series]
            rows.append([pattern + method[len("penstock"):], *(cell for some in cells for cell in some)])
    return names, [row for row in rows if any(cell != NONE for cell in row[1:])]


def _cells(runs: list[Record], new: bool) -> list[str]:
    if not runs:
        return [NONE] * (3 if new else 2)
    cells = [spread([pair for r in runs for pair in r["of_rod_pairs"]]), _least(runs, "of_mpi_io")]
    return cells + ([_least(runs, "snapshot_of_mpi_io")] if new else [])


def _least(runs: list[Record], name: str) -> str:
    found: Optional[float] = min((r[name] for r in runs if name in r), default=None)
    return NONE if found is None else f"{found:.1f}"


def _rich(title: str, names: list[str], rows: list[list[str]]) -> Any:
    from rich.table import Table

    result = Table(title=f"Penstock: {title}")
    for i, name in enumerate(names):
        result.add_column(name, justify="right" if i else "left")
    for row in rows:
        result.add_row(*row)
    return result


def _markdown(title: str, names: list[str], rows: list[list[str]]) -> str:
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join([f"{title}:", "", *("| " + " | ".join(line) + " |" for line in lines), ""])
