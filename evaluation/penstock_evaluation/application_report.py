"""Tables of `python -m penstock_evaluation application`: those of Thakur, Gropp & Lusk (1996), and the study of ways to write."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock._bench.patterns import size_text

from .report import Record, console, distinct

MIB = 1 << 20
WAYS = ("two-phase, as in the paper", "all to rank 0", "auto")
OPERATIONS = {"open": "Open", "close": "Close", "read": "Read", "write": "Write", "seek": "Seek",
              "communication": "Communication (for I/O)"}
# Counts of the paper for both cases, the same on both of its machines (Tables 2 and 5): open, close, read, write, seek.
PAPER = {"small": {"open": 200, "close": 200, "read": 49, "write": 536, "seek": 1225, "communication": 5608},
         "large": {"open": 448, "close": 448, "read": 385, "write": 1030, "seek": 3235, "communication": 109888}}
# Tables of a case, by device: the paper's first machine and its second one.
NUMBERS = {"small": ((2, 3), (7, 8)), "large": ((5, 6), (10, 11))}
SIZES = {"small": 1, "large": 4}
COMPARISONS = {"small": 9, "large": 12}


@dataclass(frozen=True)
class Table:
    title: str
    head: list[str]
    rows: list[list[str]]

    def markdown(self) -> str:
        lines = [self.head, ["---"] * len(self.head), *self.rows]
        return f"{self.title}\n\n" + "".join("| " + " | ".join(line) + " |\n" for line in lines)

    def show(self, screen: Any) -> None:
        from rich.table import Table as Rich

        table = Rich(title=self.title)
        for i, name in enumerate(self.head):
            table.add_column(name, justify="left" if i == 0 else "right")
        for row in self.rows:
            table.add_row(*row)
        screen.print(table)


def application_report(records: list[Record], folder: Path) -> None:
    screen, best = console(), fastest(records)
    made = [*tables_of_the_paper(best), *tables_of_ways(best), *study_tables(best)]
    for table in made:
        table.show(screen)
    (folder / "application.md").write_text("\n".join(table.markdown() for table in made))
    screen.print(f"tables: {folder / 'application.md'}", highlight=False)


def fastest(records: Iterable[Record]) -> list[Record]:
    """The fastest repetition of each kind."""
    found: dict[tuple[str, str, str], Record] = {}
    for r in records:
        key = (r["case"], r["device"], r["way"])
        if key not in found or r["seconds"] < found[key]["seconds"]:
            found[key] = r
    return list(found.values())


def _of(records: list[Record], **wanted: Any) -> list[Record]:
    return [r for r in records if all(r.get(key) == value for key, value in wanted.items())]


def about(r: Record) -> str:
    return f"{'x'.join(map(str, r['cells']))} mesh on {r['ranks']} ranks, {r['iterations']} iterations"


def is_the_papers_size(r: Record) -> bool:
    sizes = {"small": ([128, 128, 64], 8, 20), "large": ([256, 256, 128], 64, 5)}
    return (r["cells"], r["ranks"], r["iterations"]) == sizes.get(r["case"])


def tables_of_the_paper(records: list[Record]) -> list[Table]:
    """In the order of their numbers. The first two devices are the paper's machines."""
    found: dict[int, Table] = {}
    for case in ("small", "large"):
        runs = _of(records, case=case, way=WAYS[0])
        if runs:
            found[SIZES[case]] = file_sizes(runs[0], SIZES[case])
        for r, (operations, details) in zip(runs, NUMBERS[case]):
            found[operations] = operations_table(r, operations)
            found[details] = details_table(r, details)
        if len(runs) > 1:
            found[COMPARISONS[case]] = comparison(runs[:2], COMPARISONS[case])
    return [found[number] for number in sorted(found)]


def file_sizes(r: Record, number: int) -> Table:
    def size(name: str) -> str:
        return size_text(next(n for file, n in r["files"].items() if file.startswith(name)) - 24) + " + 24 B"

    rows = [["Data Analysis", "1 per dump", size("analysis")], ["Restart", "1", size("restart")],
            ["Visualization", "4 per dump", size("density")]]
    return Table(f"Table {number}: file sizes, {about(r)}", ["Type", "No. of Files", "Size"], rows)


def operations_table(r: Record, number: int) -> Table:
    compared = is_the_papers_size(r)
    rows = []
    for name, words in OPERATIONS.items():
        tally = r.get(name, {"count": 0, "seconds": 0.0})
        row = [words, str(tally["count"]), f"{tally['seconds']:.3f}", f"{tally['seconds'] / r['ranks']:.4f}"]
        rows.append(row + ([str(PAPER[r["case"]][name])] if compared else []))
    head = ["Operation", "Total Count (all procs.)", "Total Time (sec.) (all procs.)", "Average Time (sec.) (per proc.)"]
    return Table(f"Table {number}: I/O operations, {r['device']}, {about(r)}", head + (["Count in the paper"] if compared else []), rows)


def details_table(r: Record, number: int) -> Table:
    sizes = sorted({int(n) for name in ("read", "write") for n in r[name]["sizes"]})
    rows = [[OPERATIONS[name], *(str(r[name]["sizes"].get(str(n), 0)) for n in sizes), f"{r[name]['bytes'] / MIB:.1f}",
             bandwidth(r, name)] for name in ("read", "write")]
    head = ["Operation", *(size_text(n) for n in sizes), "Total Data Transferred (MB)", "Aggregate BW (MB/sec.)"]
    return Table(f"Table {number}: details of read and write operations, {r['device']}, {about(r)}", head, rows)


def bandwidth(r: Record, name: str) -> str:
    """All bytes / average time of a rank, as in the paper."""
    seconds = r[name]["seconds"] / r["ranks"]
    return f"{r[name]['bytes'] / MIB / seconds:.1f}" if seconds > 0 else ""


def comparison(runs: list[Record], number: int) -> Table:
    rows = []
    for name, words in OPERATIONS.items():
        times = [f"{r[name]['seconds'] / r['ranks']:.4f}" if name in r else "0" for r in runs]
        speeds = [bandwidth(r, name) if name in ("read", "write") else "" for r in runs]
        rows.append([words, *times, *speeds])
    head = ["Operation", *(f"Average Time per proc. (sec.), {r['device']}" for r in runs),
            *(f"Aggregate BW (MB/sec.), {r['device']}" for r in runs)]
    return Table(f"Table {number}: comparison of the I/O performance, {about(runs[0])}", head, rows)


def tables_of_ways(records: list[Record]) -> list[Table]:
    """The paper's routines, those that they replaced, and Penstock's default."""
    made = []
    for case in ("small", "large"):
        for device in distinct(_of(records, case=case), "device"):
            runs = [r for way in WAYS for r in _of(records, case=case, device=device, way=way)]
            rows = [[r["way"], f"{r['seconds']:.2f}", f"{visible(r):.3f}", f"{r['communication']['seconds'] / r['ranks']:.4f}",
                     f"{r['write']['seconds'] / r['ranks']:.4f}", str(r["communication"]["count"]), str(r["write"]["count"])]
                    for r in runs]
            head = ["way", "total (sec.)", "reads and writes (sec.)", "communication per proc. (sec.)", "write per proc. (sec.)",
                    "messages", "writes"]
            made.append(Table(f"Ways to write, {device}, {about(runs[0])}", head, rows))
    return made


def visible(r: Record) -> float:
    """Seconds that a rank of the program spends in reads and writes, waiting included."""
    return float(r["visible"]) / int(r["ranks"])


def study_tables(records: list[Record]) -> list[Table]:
    """Methods down; for each room in the buffer and background mode, the program's time in reads and writes, and its total."""
    made = []
    runs = _of(records, case="study")
    for device in distinct(runs, "device"):
        chosen = _of(runs, device=device)
        columns = [(b, m) for b in distinct(chosen, "buffer") for m in distinct(chosen, "background")]
        rows = []
        for method in distinct(chosen, "method"):
            cells = [_of(chosen, method=method, buffer=b, background=m) for b, m in columns]
            rows.append([method, *(f"{visible(c[0]):.2f} / {c[0]['seconds']:.1f}" if c else "" for c in cells)])
        head = ["method", *(f"buffer {b}, {m}" for b, m in columns)]
        made.append(Table(f"Reads and writes / total (sec.), {device}, {about(chosen[0])}", head, rows))
    return made
