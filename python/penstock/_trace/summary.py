"""The tables of a trace, as Thakur, Gropp and Lusk print them for theirs: operations, sizes, bandwidth."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from .advice import Finding, findings
from .events import ACCESSES, CALLS, PHASES, RUN_QUEUE, Trace, seconds_of, total_of
from .parts import Part, parts_of
from .reading import Records

#: So many sizes have a column each; more are put together by powers of two.
COLUMNS = 8


@dataclass
class Operation:
    """All events of one kind. Times are seconds."""

    name: str
    group: str  #: "call" of the program, "file": single accesses, "phase"
    count: int
    total: float  #: over all ranks
    average: float  #: per rank
    longest: float


@dataclass
class Transfer:
    """Reads or writes: which sizes, how much, and how quickly."""

    name: str
    sizes: dict[str, int]  #: how many of each
    bytes: int
    bandwidth: float | None  #: bytes a second: all bytes by the average time per rank; None: no time


@dataclass
class File:
    name: str
    opens: int  #: one for each rank that opens it, each time
    bytes_read: int
    bytes_written: int
    seconds: float  #: in calls, over all ranks


@dataclass
class Threads:
    """What the threads of one name got of the processors. Seconds, over all ranks."""

    name: str
    running: float
    waiting: float  #: for a core


@dataclass
class Summary:
    ranks: int
    seconds: float  #: from the first event to the end of the last
    operations: list[Operation]
    parts: list[Part]  #: of the run, each moment of a rank in one of them
    transfers: list[Transfer]
    files: list[File]
    threads: list[Threads]
    findings: list[Finding]
    problems: list[str] = field(default_factory=list)


def summarise(trace: Trace) -> Summary:
    ranks, parts = len(trace.processes), parts_of(trace)
    return Summary(ranks, trace.seconds, operations_of(trace, ranks), parts, transfers_of(trace, ranks),
                   files_of(trace), threads_of(trace), findings(trace, parts), trace.problems)


def operations_of(trace: Trace, ranks: int) -> list[Operation]:
    rows = []
    for group, kinds in (("call", CALLS), ("file", ACCESSES), ("phase", PHASES)):
        for kind in kinds:
            events = trace.of(kind)
            if not len(events):
                continue
            total, longest = seconds_of(events), float(events["duration"].max()) / 1e9
            rows.append(Operation(kind, group, len(events), total, total / ranks, longest))
    return rows


def transfers_of(trace: Trace, ranks: int) -> list[Transfer]:
    rows = []
    for kind in ("read", "write", "begin read", "begin write", "file read", "file write"):
        events = trace.of(kind)
        if not len(events):
            continue
        moved, seconds = total_of(events["bytes"]), seconds_of(events) / ranks
        # A call that only begins a transfer has no bandwidth: the bytes move later.
        bandwidth = moved / seconds if seconds > 0 and not kind.startswith("begin") else None
        rows.append(Transfer(kind, size_distribution(events["bytes"]), moved, bandwidth))
    return rows


def size_distribution(sizes: np.ndarray) -> dict[str, int]:
    known, counts = np.unique(sizes, return_counts=True)
    if len(known) <= COLUMNS:
        return {bytes_text(int(size)): int(count) for size, count in zip(known, counts)}
    table: dict[str, int] = {}
    for size, count in zip(known.tolist(), counts.tolist()):
        power = max(size, 1).bit_length()
        label = f"< {bytes_text(1 << power)}"
        table[label] = table.get(label, 0) + count
    return table


def files_of(trace: Trace) -> list[File]:
    calls, reads, writes = trace.of(*CALLS), trace.of("file read"), trace.of("file write")

    def by_file(events: Records, what: str) -> np.ndarray:
        weights = events[what].astype("f8") if what else None
        return np.bincount(events["file"], weights, len(trace.files))

    touched = np.flatnonzero(sum(by_file(events, "") for events in (calls, reads, writes)))
    opens, seconds = by_file(trace.of("open"), ""), by_file(calls, "duration") / 1e9
    read, written = by_file(reads, "bytes"), by_file(writes, "bytes")
    return [File(trace.files[n] or "(files without a name)", int(opens[n]), int(read[n]), int(written[n]),
                 float(seconds[n])) for n in touched.tolist()]


def threads_of(trace: Trace) -> list[Threads]:
    rows: dict[str, Threads] = {}
    samples = trace.of(RUN_QUEUE)
    keys, inverse = np.unique(samples["process"].astype("u8") << np.uint64(32) | samples["lane"], return_inverse=True)
    running = np.bincount(inverse, samples["offset"].astype("f8"), len(keys)) / 1e9
    waiting = np.bincount(inverse, samples["bytes"].astype("f8"), len(keys)) / 1e9
    for i, key in enumerate(keys.tolist()):
        name = trace.lane_name(key >> 32, key & 0xFFFFFFFF).rstrip("0123456789 ")
        row = rows.setdefault(name, Threads(f"{name}s", 0.0, 0.0))
        row.running += float(running[i])
        row.waiting += float(waiting[i])
    return [rows[name] for name in sorted(rows)]


def bytes_text(size: float) -> str:
    units = ("B", "KiB", "MiB", "GiB", "TiB")
    power = min(max(int(size), 1).bit_length() - 1, 10 * len(units) - 1) // 10
    return f"{size / 1024 ** power:.4g} {units[power]}"


def as_json(summary: Summary) -> str:
    return json.dumps(asdict(summary), indent=2) + "\n"


def as_csv(summary: Summary) -> str:
    """One value a line: table, row, column, value."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["table", "row", "column", "value"])
    writer.writerow(["run", "", "ranks", summary.ranks])
    writer.writerow(["run", "", "seconds", summary.seconds])
    tables: dict[str, list[Any]] = {"operations": summary.operations, "parts": summary.parts,
                                    "transfers": summary.transfers, "files": summary.files,
                                    "threads": summary.threads, "findings": summary.findings}
    for table, rows in tables.items():
        for row in rows:
            values = asdict(row)
            name = values.pop("name")
            for label, count in values.pop("sizes", {}).items():
                writer.writerow([table, name, f"of {label}", count])
            for column, value in values.items():
                writer.writerow([table, name, column, "" if value is None else value])
    for problem in summary.problems:
        writer.writerow(["problems", "", "", problem])
    return out.getvalue()


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """Columns of text, the first to the left and numbers to the right."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    lines = ["  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                       for i, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in [head, *rows]]
    return [lines[0], "-" * max(map(len, lines)), *lines[1:], ""]


def part_rows(parts: list[Part]) -> list[list[str]]:
    return [[part.name, f"{part.seconds:.4f}", f"{part.share:.1%}"] for part in parts]


GROUPS = {"call": "Calls of the program", "file": "Accesses to files", "phase": "What calls were made of"}


def as_text(summary: Summary) -> str:
    ranks = "1 rank" if summary.ranks == 1 else f"{summary.ranks} ranks"
    lines = [f"{ranks}, {summary.seconds:.3f} s from the first event to the end of the last", ""]
    for group, title in GROUPS.items():
        rows = [[row.name, f"{row.count:,}", f"{row.total:.4f}", f"{row.average:.4f}", f"{row.longest:.4f}"]
                for row in summary.operations if row.group == group]
        if rows:
            lines += table([title, "count, all ranks", "time (s), all ranks", "per rank", "longest (s)"], rows)
    lines += table(["Where the time of a rank went", "time (s)", "of the run"], part_rows(summary.parts))
    for row in summary.transfers:
        rate = "" if row.bandwidth is None else f" at {bytes_text(row.bandwidth)}/s, all ranks together"
        lines.append(f"{row.name}: {bytes_text(row.bytes)}{rate}; sizes: "
                     + ", ".join(f"{size}: {count:,}" for size, count in row.sizes.items()))
    if summary.transfers:
        lines.append("")
    if summary.files:
        lines += table(["File", "opens, all ranks", "read", "written", "time in calls (s)"],
                       [[row.name, f"{row.opens:,}", bytes_text(row.bytes_read), bytes_text(row.bytes_written),
                         f"{row.seconds:.4f}"] for row in summary.files])
    if summary.threads:
        lines += table(["Threads of all ranks", "on a core (s)", "waiting for a core (s)"],
                       [[row.name, f"{row.running:.3f}", f"{row.waiting:.3f}"] for row in summary.threads])
    lines.append("What held the program up:")
    for finding in summary.findings:
        lines.append(f"  - {finding.text} {finding.advice}")
    if not summary.findings:
        lines.append("  - nothing that stands out.")
    return "\n".join(lines) + "\n"


FORMATS = {"text": as_text, "json": as_json, "csv": as_csv}
