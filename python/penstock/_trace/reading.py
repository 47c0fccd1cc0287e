"""Reads the trace of one process: a header, names and records (docs/traces.md)."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from .. import FormatError

MAGIC = b"PTRACE01"
HEADER = struct.Struct("=8sIIQQqqqiiiIi4x64s64s")
NAMES_AT = 4096
NAME = struct.Struct("=HHI")
KIND, FILE, LANE = 1, 2, 3
RECORD = np.dtype([("index", "u8"), ("begin", "i8"), ("duration", "i8"), ("offset", "i8"), ("bytes", "i8"),
                   ("operation", "i8"), ("kind", "u2"), ("lane", "u2"), ("file", "u4"), ("check", "u4"),
                   ("unused", "u4")])
#: Longest time that a record may take, and most bytes: what is beyond is damage.
MOST = 1 << 62

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
    records: Records  #: in the order in which they were made
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
    with open(path, "rb") as file:
        head = file.read(65536)
    if len(head) < HEADER.size or head[:8] != MAGIC:
        what = f"begins with {head[:8]!r}, not {MAGIC!r}" if head[:8] != MAGIC else f"a trace has {HEADER.size} or more"
        raise FormatError(f"'{path}' is no trace of Penstock: it has {len(head)} bytes and {what}")
    (_, header_bytes, record_bytes, capacity, recorded, monotonic, realtime, ended, rank, ranks, pid, when_full,
     stopped, host, program) = HEADER.unpack_from(head)
    if record_bytes != RECORD.itemsize or header_bytes != 65536:
        raise FormatError(f"'{path}' has a header of {header_bytes} bytes and records of {record_bytes}; this version "
                          f"of Penstock reads 65536 and {RECORD.itemsize}: the file is damaged, or of another version")
    found = ProcessTrace(path, rank, ranks, text_of(host), text_of(program), pid, monotonic, realtime,
                         np.empty(0, RECORD))
    read_names(head, found)
    read_records(found, capacity, recorded)
    if not ended:
        found.problems.append("it has no end: the program is running, or was killed")
    if stopped:
        found.problems.append(f"it ends early, since there was no space for more: {os.strerror(stopped)}")
    if recorded > capacity:
        lost = f"{recorded - capacity:,} of {recorded:,} records are missing"
        which = "the newest" if when_full else "the oldest"
        found.problems.append(f"{lost}, {which}: it was full; PENSTOCK_TRACE_LIMIT=BYTES makes it larger")
    return found


def text_of(raw: bytes) -> str:
    return raw.split(b"\0")[0].decode(errors="replace")


def read_names(head: bytes, found: ProcessTrace) -> None:
    at = NAMES_AT
    tables = {KIND: found.kinds, FILE: found.files, LANE: found.lanes}
    while at + NAME.size <= len(head):
        what, length, number = NAME.unpack_from(head, at)
        if length == 0:
            break
        if what not in tables or at + NAME.size + length > len(head):
            found.problems.append(f"its names are damaged at byte {at}: some files or threads have numbers for names")
            break
        tables[what][number] = head[at + NAME.size:at + NAME.size + length].decode(errors="replace")
        at += (NAME.size + length + 7) // 8 * 8
    if not found.kinds:
        raise FormatError(f"'{found.path}' does not say what its records mean: its names (bytes {NAMES_AT} to 65536) "
                          "are damaged, and the records cannot be used")


def read_records(found: ProcessTrace, capacity: int, recorded: int) -> None:
    whole = max(0, os.path.getsize(found.path) - 65536) // RECORD.itemsize
    slots = np.fromfile(found.path, RECORD, min(whole, capacity), offset=65536)
    missing = min(recorded, capacity) - len(slots)
    if missing > 0:
        found.problems.append(f"it was cut off: {missing:,} of {min(recorded, capacity):,} records are not there")
    slots = slots[:min(recorded, capacity)]
    there = slots[slots["check"] != 0]
    good = there[(checks_of(there) == there["check"]) & (there["duration"] >= 0) & (there["duration"] < MOST)]
    known = good[np.isin(good["kind"], list(found.kinds))]
    if bad := len(slots) - len(known):
        found.problems.append(f"{bad:,} of {len(slots):,} records are damaged, or were not written to their end: they "
                              "are left out")
    found.records = known[np.argsort(known["index"])]
