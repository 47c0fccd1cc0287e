"""Damaged and forged traces: whatever the bytes are, readers end soon, with an error or with what is intact."""

import io
import json
import random
import struct
import time
from pathlib import Path

import numpy as np
import pytest
from traces import IO_LANE, record, write_trace

from penstock import ArgumentError, FormatError
from penstock._trace.events import load
from penstock._trace.merge import write_json
from penstock._trace.reading import RECORD, checks_of
from penstock._trace.summary import FORMATS, summarise
from penstock._trace.view import page_of

RECORDS_AT = 65536


def whole(folder: Path) -> bytes:
    return write_trace(folder, [record("open", 0, 1), record("write", 1, 8, bytes=1 << 20, offset=0, operation=1),
                                record("file write", 2, 5, bytes=1 << 20, offset=0, lane=IO_LANE),
                                record("in flight", 1, 9), record("exchange", 3, 1, bytes=99),
                                record("run queue", 0, 9, bytes=1000, offset=2000), record("close", 9, 1)]).read_bytes()


def mutated(raw: bytes, number: int) -> bytes:
    """The same for the same number."""
    draw = random.Random(number)
    changed = bytearray(raw)
    for _ in range(draw.randint(1, 12)):
        at = draw.choice([draw.randrange(8, 208), draw.randrange(4096, 4800), draw.randrange(RECORDS_AT, len(changed))])
        value = draw.choice([draw.randrange(1 << 64), (1 << draw.randrange(64)) + draw.randint(-2, 2), draw.randrange(256)])
        width = draw.choice([1, 2, 4, 8])
        changed[at:at + width] = struct.pack("<Q", value % (1 << 64))[:width]
    if draw.random() < 0.7:  # with checks that are right, as whoever makes one up has them
        count = (len(changed) - RECORDS_AT) // RECORD.itemsize
        records = np.frombuffer(bytes(changed[RECORDS_AT:]), RECORD, count).copy()
        records["check"] = checks_of(records)
        changed[RECORDS_AT:RECORDS_AT + records.nbytes] = records.tobytes()
    if draw.random() < 0.1:
        del changed[draw.randrange(len(changed)):]
    return bytes(changed)


def fuzz_one(path: Path) -> None:
    try:
        trace = load(path.parent)
    except (ArgumentError, FormatError) as error:
        assert len(str(error)) < 2000
        return
    summary = summarise(trace)
    for form in FORMATS.values():
        form(summary)
    page, _ = page_of(trace)
    assert page.count("<script") == page.count("</script") == 3
    merged = io.StringIO()
    write_json(trace, merged)
    json.loads(merged.getvalue())


def run(folder: Path, numbers: range, seconds: float) -> int:
    raw, path, done = whole(folder), folder / "host.1000.trace", 0
    begin = time.monotonic()
    for number in numbers:
        if time.monotonic() - begin > seconds:
            break
        path.write_bytes(mutated(raw, number))
        before = time.process_time()
        try:
            fuzz_one(path)
        except Exception as error:
            raise AssertionError(f"mutated(..., {number})") from error
        assert time.process_time() - before < 1, f"mutated(..., {number}) takes longer than a second"
        done += 1
    return done


def test_random_traces(tmp_path: Path) -> None:
    assert run(tmp_path, range(1_000_000), 5) > 20


@pytest.mark.slow
def test_many_random_traces(tmp_path: Path) -> None:
    assert run(tmp_path, range(1_000_000, 1_020_000), 1500) == 20_000
