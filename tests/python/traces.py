"""Generated traces: files as src/trace writes them, with the records that a test needs."""

from pathlib import Path

import numpy as np

from penstock._trace.events import KINDS
from penstock._trace.reading import FILE, HEADER, KIND, LANE, NAME, RECORD, checks_of

MS = 1_000_000
IO_LANE = 1
CAPACITY = 1 << 22


def names(entries: list[tuple[int, int, str]]) -> bytes:
    table = b""
    for what, number, text in entries:
        raw = text.encode()
        table += (NAME.pack(what, len(raw), number) + raw).ljust((NAME.size + len(raw) + 7) // 8 * 8, b"\0")
    return table


def record(kind: str, begin: float, duration: float, **more: int) -> dict[str, int]:
    """Times are milliseconds."""
    return {"kind": KINDS.index(kind) + 1, "begin": int(begin * MS), "duration": int(duration * MS), "offset": -1,
            "file": 1, **more}


def records_of(rows: list[dict[str, int]]) -> np.ndarray:
    records = np.zeros(len(rows), RECORD)
    for i, row in enumerate(rows):
        for name, value in row.items():
            records[name][i] = value
    records["index"] = np.arange(len(rows))
    return records


def write_trace(folder: Path, records: "np.ndarray | list[dict[str, int]]", rank: int = 0, ranks: int = 1,
                ended: int = 1, recorded: "int | None" = None) -> Path:
    """The trace of one rank; its clock starts at 0."""
    if isinstance(records, list):
        records = records_of(records)
    records["check"] = checks_of(records)
    folder.mkdir(exist_ok=True)
    path = folder / f"host.{1000 + rank}.trace"
    count = len(records) if recorded is None else recorded
    head = HEADER.pack(b"PTRACE01", 65536, RECORD.itemsize, CAPACITY if recorded is None else len(records), count, 0, 0,
                       ended, rank, ranks, 1000 + rank, 0, 0, b"host", b"program")
    table = names([(KIND, i + 1, name) for i, name in enumerate(KINDS)]
                  + [(FILE, 1, "data.raw"), (LANE, 0, "main thread"), (LANE, IO_LANE, "I/O thread 77")])
    path.write_bytes((head.ljust(4096, b"\0") + table).ljust(65536, b"\0") + records.tobytes())
    return path
