"""Findings of a trace about what delayed a program: runs with and without the delay."""

from pathlib import Path

import pytest
from traces import IO_LANE, record, write_trace

from penstock._trace.advice import findings
from penstock._trace.events import load

BEGIN = """
import os, time
os.environ["PENSTOCK_TRACE"] = "traces"
import numpy as np, penstock as ps
from mpi4py import MPI
comm = MPI.COMM_WORLD
def opened(**hints):
    return ps.open("a.raw", "w", shape=(1 << 20,), dtype="f8", comm=comm, hints=hints)
def block(f):
    d = ps.distribute(f.shape, comm)
    return np.zeros(f.shape[0] // comm.size), d.section
"""
SMALL = """
with opened(active_buffer_size=0) as f:
    for i in range(0, 1 << 20, {count}): f.write(np.zeros({count}), slice(i, i + {count}))
"""
AGGREGATORS = """
with opened(active_buffer_size=0, method="extended", aggregators={count}, device="paced:bandwidth=40M") as f:
    f.write(*block(f))
"""
ROOM = """
with opened(active_buffer_size={size!r}, buffer_size="1M", device="paced:bandwidth=40M") as f:
    for i in range(2): f.write(*block(f))
    time.sleep(0.6)
"""
COMPUTATION = """
with opened(active_buffer_size="64M", device="paced:bandwidth=40M") as f:
    f.write(*block(f))
    time.sleep({seconds})
"""
# Calls that take their time: a few milliseconds, by which a rank is late on a busy machine, are nothing beside it.
LATE = """
with opened(active_buffer_size=0, device="paced:bandwidth=80M") as f:
    for i in range(4):
        if comm.rank == 1: time.sleep({seconds})
        f.write(*block(f))
"""
BUSY = """
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
with opened() as f:
    end = time.monotonic() + 0.5
    while time.monotonic() < end: pass
    f.write(*block(f))
"""


@pytest.mark.parametrize("name, ranks, shows, does_not", [
    ("small requests", 1, SMALL.format(count=512), SMALL.format(count=1 << 17)),
    ("one aggregator", 4, AGGREGATORS.format(count=1), AGGREGATORS.format(count=4)),
    ("no room", 1, ROOM.format(size="2M"), ROOM.format(size="64M")),
    ("too little computation", 1, COMPUTATION.format(seconds=0), COMPUTATION.format(seconds=0.6)),
    ("late ranks", 2, LATE.format(seconds=0.2), LATE.format(seconds=0)),
], ids=lambda value: value if isinstance(value, str) and "\n" not in value else "")
def test_a_run_that_shows_it_and_one_that_does_not(mpirun, tmp_path: Path, name: str, ranks: int, shows: str,
                                                  does_not: str) -> None:
    for text, wanted in ((shows, True), (does_not, False)):
        mpirun(BEGIN + text, ranks)
        found = {finding.name: finding for finding in findings(load(tmp_path / "traces"))}
        assert (name in found) == wanted, found
        if wanted:
            assert found[name].seconds > 0 and found[name].advice
        (tmp_path / "traces").rename(tmp_path / f"traces {wanted}")


def test_ranks_that_share_a_core_are_told(mpirun, tmp_path: Path) -> None:
    if not Path("/proc/self/schedstat").exists():
        pytest.skip("the kernel has no schedstat")
    mpirun(BEGIN + BUSY, 4)
    found = {finding.name: finding for finding in findings(load(tmp_path / "traces"))}
    assert "busy cores" in found, found


def test_threads_that_ran_when_they_were_ready_are_not(tmp_path: Path) -> None:
    rows = [record("open", 0, 100), record("run queue", 0, 100, bytes=1_000_000, offset=90_000_000, file=0)]
    write_trace(tmp_path, rows)
    assert findings(load(tmp_path)) == []


def test_what_costs_next_to_nothing_is_not_told(tmp_path: Path) -> None:
    small = [record("file write", i / 100, 0.01, bytes=100, offset=i) for i in range(200)]
    write_trace(tmp_path, [record("open", 0, 2), *small, record("close", 2, 10)])
    assert [finding.name for finding in findings(load(tmp_path))] == ["small requests"]
    write_trace(tmp_path, [record("open", 0, 2), *small, record("close", 1000, 10)])
    assert findings(load(tmp_path)) == []


def test_calls_of_a_file_that_is_opened_twice_are_told_apart(tmp_path: Path) -> None:
    """Both openings have a call 1; in neither was a rank late."""
    for rank in (0, 1):
        write_trace(tmp_path, [record("write", at, 50, bytes=10, offset=0, operation=1) for at in (0, 500)], rank=rank,
                    ranks=2)
    assert findings(load(tmp_path)) == []
    write_trace(tmp_path, [record("write", at, 50, bytes=10, offset=0, operation=1) for at in (40, 540)], rank=1, ranks=2)
    late = findings(load(tmp_path))
    assert [finding.name for finding in late] == ["late ranks"] and late[0].seconds == pytest.approx(0.04)


def test_the_background_counts_in_io_threads_alone(tmp_path: Path) -> None:
    for lane, wanted in ((0, []), (IO_LANE, ["too little computation"])):
        write_trace(tmp_path, [record("write", 0, 10, bytes=1 << 20, offset=0),
                               record("file write", 10, 100, bytes=1 << 20, offset=0, lane=lane),
                               record("close", 11, 100)])
        assert [finding.name for finding in findings(load(tmp_path))] == wanted
