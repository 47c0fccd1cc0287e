"""Reads the trace of one process: a header, names and records (docs/traces.md)."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from .. import FormatError
from .._regular import open_regular

MAGIC = b"PTRACE01"
HEADER = struct.Struct("=8sIIQQqqqiiiIi4x64s64s")
NAMES_AT = 4096
NAME = struct.Struct("=HHI")
KIND, FILE, LANE = 1, 2, 3
RECORD = np.dtype([("index", "u8"), ("begin", "i8"), ("duration", "i8"), ("offset", "i8"), ("bytes", "i8"),
                   ("operation", "i8"), ("kind", "u2"), ("lane", "u2"), ("file", "u4"), ("check", "u4"),
                   ("unused", "u4")])
#: The names end where the records begin, and take 16 bytes at least: a higher number has none.
MOST_NAMES = (65536 - NAMES_AT) // 16
#: What is beyond is damage. Times in nanoseconds, offsets and bytes: sums of a few stay below 2**63.
MOST, MOST_REALTIME, MOST_RANKS = 1 << 60, 1 << 62, 1 << 24

Records = npt.NDArray[np.void]


@dataclass
class ProcessTrace:
    """What one process recorded. Times are nanoseconds of its monotonic clock."""

    path: Path
    rank: int  #: in MPI_COMM_WORLD; -1: MPI was not there
    ranks: int
    host: str
    program: str
    pid: int
    monotonic: int  #: the same moment by two clocks: this one and
    realtime: int
    records: Records  #: in the order in which they were made; all within the limits above
    kinds: dict[int, str] = field(default_factory=dict)
    files: dict[int, str] = field(default_factory=dict)
    lanes: dict[int, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)  #: what is missing, in words

    @property
    def who(self) -> str:
        return f"rank {self.rank}" if self.rank >= 0 else f"process {self.pid}"


def checks_of(records: Records) -> npt.NDArray[np.uint32]:
    """What `check` must be: see check_of() in src/trace/trace_file.cpp."""
    words = records.view("u8").reshape(-1, RECORD.itemsize // 8)
    factor = 0x9E3779B97F4A7C15
    total = np.full(len(records), factor, "u8")
    for i in range(7):
        total += (words[:, i] ^ (words[:, i] >> np.uint64(29))) * np.uint64((factor + 2 * i) % (1 << 64))
    checks: npt.NDArray[np.uint32] = (total >> np.uint64(32)).astype("u4") | np.uint32(1)
    return checks


def read_process(path: Path) -> ProcessTrace:
    """Raises FormatError where nothing can be read. What can be read of a damaged trace comes with its problems."""
    with open_regular(path, "a trace") as file:
        return read_opened(path, file)


def read_opened(path: Path, file: BinaryIO) -> ProcessTrace:
    head = file.read(65536)
    if len(head) < HEADER.size or head[:8] != MAGIC:
        what = f"begins with {head[:8]!r}, not {MAGIC!r}" if head[:8] != MAGIC else f"a trace has {HEADER.size} or more"
        raise FormatError(f"'{path}' is not a trace of Penstock: it has {len(head)} bytes and {what}")
    (_, header_bytes, record_bytes, capacity, recorded, monotonic, realtime, ended, rank, ranks, pid, when_full,
     stopped, host, program) = HEADER.unpack_from(head)
    if record_bytes != RECORD.itemsize or header_bytes != 65536:
        raise FormatError(f"'{path}' has a header of {header_bytes} bytes and records of {record_bytes}; this version "
                          f"of Penstock reads 65536 and {RECORD.itemsize}: the file is damaged, or of another version")
    if not (0 <= monotonic < MOST and 0 <= realtime < MOST_REALTIME):
        raise FormatError(f"'{path}' has a damaged header: its clocks were at {monotonic} and {realtime} ns, so that "
                          "its records have no place in time")
    found = ProcessTrace(path, rank, ranks, text_of(host), text_of(program), pid, monotonic, realtime,
                         np.empty(0, RECORD))
    if not (-1 <= rank < max(ranks, 1) and 0 <= ranks <= MOST_RANKS and when_full in (0, 1)):
        found.problems.append(f"its header is damaged (rank {rank} of {ranks}, and {when_full} where 0 or 1 says "
                              "which records a full trace keeps), so its rank is not known")
        found.rank, found.ranks = -1, 0
    read_names(head, found)
    read_records(found, file, capacity, recorded)
    if not ended:
        found.problems.append("it does not end: the program is still running, or was killed")
    if stopped:
        found.problems.append(f"it ends early, since there was no space for more: {os.strerror(stopped)}")
    if recorded > capacity:
        lost = f"{recorded - capacity:,} of {recorded:,} records are missing"
        which = "the newest" if when_full else "the oldest"
        found.problems.append(f"{lost}, {which}: it was full; PENSTOCK_TRACE_LIMIT=BYTES makes it larger")
    return found


def text_of(raw: bytes) -> str:
    """Text that can be shown: what moves a terminal's cursor or ends a line is written as an escape."""
    text = raw.split(b"\0")[0].decode(errors="replace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def read_names(head: bytes, found: ProcessTrace) -> None:
    at = NAMES_AT
    tables = {KIND: found.kinds, FILE: found.files, LANE: found.lanes}
    while at + NAME.size <= len(head):
        what, length, number = NAME.unpack_from(head, at)
        if length == 0:
            break
        if what not in tables or at + NAME.size + length > len(head):
            found.problems.append(f"its names are damaged at byte {at}: some files or threads have no names")
            break
        tables[what][number] = text_of(head[at + NAME.size:at + NAME.size + length])
        at += (NAME.size + length + 7) // 8 * 8
    if not found.kinds:
        raise FormatError(f"'{found.path}' does not say what its records mean: its names (bytes {NAMES_AT} to 65536) "
                          "are damaged, and the records cannot be used")


def within_limits(records: Records) -> npt.NDArray[np.bool_]:
    inside: npt.NDArray[np.bool_] = (records["file"] <= MOST_NAMES) & (records["offset"] >= -1)
    for name in ("begin", "duration", "bytes", "operation"):
        inside &= (records[name] >= 0) & (records[name] < MOST)
    return inside & (records["offset"] < MOST)


def read_records(found: ProcessTrace, file: BinaryIO, capacity: int, recorded: int) -> None:
    whole = max(0, os.fstat(file.fileno()).st_size - 65536) // RECORD.itemsize
    file.seek(65536)
    slots = np.fromfile(file, RECORD, min(whole, capacity))
    missing = min(recorded, capacity) - len(slots)
    if missing > 0:
        found.problems.append(f"it was cut off: {missing:,} of {min(recorded, capacity):,} records are missing")
    slots = slots[:min(recorded, capacity)]
    there = slots[slots["check"] != 0]
    good = there[(checks_of(there) == there["check"]) & within_limits(there)]
    known = good[np.isin(good["kind"], list(found.kinds))]
    if bad := len(slots) - len(known):
        found.problems.append(f"{bad:,} of {len(slots):,} records are damaged or incomplete, and left out")
    found.records = known[np.argsort(known["index"])]
