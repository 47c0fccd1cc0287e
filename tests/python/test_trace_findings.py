"""What a trace says held a program up: programs whose cause is known, with what they find and what they do not."""

from collections.abc import Callable
from pathlib import Path

import pytest
from traces import IO_LANE, record, write_trace

from penstock._trace.advice import Finding, findings
from penstock._trace.events import load
from penstock._trace.summary import FORMATS, summarise

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
with opened(active_buffer_size=0, method="extended", aggregators={count}, device="paced:bandwidth=10M") as f:
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
OPENS = """
for i in range({files}):
    with ps.open(f"{{i}}.raw", "w", shape=(8,), dtype="f8", hints={{"active_buffer_size": 0}}) as f:
        for k in range({writes}): f.write(np.zeros(8), ...)
"""
METADATA = """
with ps.open("a.zarr", "w", shape=(8,), dtype="f8", hints={{"active_buffer_size": 0}}) as f:
    f.write(np.zeros(8), ...)
    for i in range({count}): f.attrs["step"] = i
"""
SYNCS = """
with opened(active_buffer_size=0, device="paced:bandwidth=1G,latency=5ms") as f:
    for i in range(20):
        f.write(np.zeros(512), slice(512 * i, 512 * i + 512))
        if i % {every} == 0: f.sync()
"""


@pytest.mark.parametrize("name, ranks, shows, does_not", [
    ("small requests", 1, SMALL.format(count=512), SMALL.format(count=1 << 17)),
    ("one aggregator", 4, AGGREGATORS.format(count=1), AGGREGATORS.format(count=4)),
    ("no room", 1, ROOM.format(size="2M"), ROOM.format(size="64M")),
    ("too little computation", 1, COMPUTATION.format(seconds=0), COMPUTATION.format(seconds=0.6)),
    ("late ranks", 2, LATE.format(seconds=0.2), LATE.format(seconds=0)),
    ("opening and closing", 1, OPENS.format(files=200, writes=1), OPENS.format(files=1, writes=200)),
    ("metadata", 1, METADATA.format(count=100), METADATA.format(count=1)),
    ("syncs", 1, SYNCS.format(every=1), SYNCS.format(every=20)),
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


def test_ranks_that_share_a_core_are_found(mpirun, tmp_path: Path) -> None:
    if not Path("/proc/self/schedstat").exists():
        pytest.skip("the kernel has no schedstat")
    mpirun(BEGIN + BUSY, 4)
    found = {finding.name: finding for finding in findings(load(tmp_path / "traces"))}
    assert "busy cores" in found, found


# The rules must not guess at these causes, but say where the time is.
COMPUTES = """
with opened(active_buffer_size=0) as f:
    f.write(*block(f))
    time.sleep(1)
"""
SLOW_DEVICE = """
with opened(active_buffer_size=0, device="paced:bandwidth=10M") as f:
    f.write(*block(f))
"""
LOCKED = """
import fcntl, struct, threading
with opened(active_buffer_size=0) as f:
    held = open("a.raw", "r+b")
    fcntl.fcntl(held, fcntl.F_OFD_SETLK, struct.pack("@hhqqi0q", fcntl.F_WRLCK, os.SEEK_SET, 0, 100, 0))
    threading.Timer(1, held.close).start()
    f.write(*block(f))
"""


@pytest.mark.parametrize("text, where", [
    (COMPUTES, "outside of Penstock's calls"), (SLOW_DEVICE, "in accesses to files"), (LOCKED, "in waiting for locks"),
], ids=["computes", "slow device", "another program's lock"])
def test_a_cause_that_no_rule_knows_is_not_guessed(mpirun, tmp_path: Path, text: str, where: str) -> None:
    mpirun(BEGIN + text, 1)
    found = findings(load(tmp_path / "traces"))
    assert found[0].name == "not known" and where in found[0].text.split(",")[0] and found[0].seconds > 0.5, found
    assert {one.name for one in found} <= {"not known", "busy cores"}


def found_in(folder: Path, rows_of: "Callable[[int], list[dict[str, int]]]", ranks: int = 4) -> dict[str, Finding]:
    """Of a trace made up for this: its times do not depend on the machine."""
    for rank in range(ranks):
        write_trace(folder, rows_of(rank), rank=rank, ranks=ranks)
    return {finding.name: finding for finding in findings(load(folder))}


def exchanging(rank: int) -> "list[dict[str, int]]":
    write = record("write", 10, 1000, bytes=1 << 28, offset=0, operation=1)
    access = record("file write", 960, 50, bytes=1 << 28, offset=0, operation=1)
    return [record("open", 0, 10), write, record("exchange", 20, 930, bytes=1 << 28, operation=1), access,
            record("close", 1010, 5)]


def reading_cold(rank: int) -> "list[dict[str, int]]":
    reads = [record("read", 100 * i, 100, bytes=1 << 20, offset=i << 20) for i in range(10)]
    return reads + [record("file read", 100 * i, 98, bytes=1 << 20, offset=i << 20) for i in range(10)]


@pytest.mark.parametrize("rows_of, where", [(exchanging, "92% in exchange"), (reading_cold, "98% in accesses to files")])
def test_nor_is_one_of_several_ranks(tmp_path: Path, rows_of: "Callable[[int], list[dict[str, int]]]",
                                     where: str) -> None:
    found = found_in(tmp_path, rows_of)
    assert list(found) == ["not known"] and where in found["not known"].text and found["not known"].advice
    assert f"  - The cause is not known. Where the time of a rank went: {where}" in FORMATS["text"](summarise(load(tmp_path)))


@pytest.mark.parametrize("collective, size, name", [
    (True, 4096, "small collective calls"), (False, 4096, "small requests"), (True, 1 << 20, "not known"),
    (False, 1 << 20, "not known")])
def test_small_calls_are_collective_or_could_be(tmp_path: Path, collective: bool, size: int, name: str) -> None:
    def rows(rank: int) -> "list[dict[str, int]]":
        several = range(200)
        return [record(kind, 10 * i, 9, bytes=size, offset=i * size, operation=(i + 1) * collective)
                for i in several for kind in ("write", "file write")]

    found = found_in(tmp_path, rows)
    assert list(found) == [name]
    assert ("collective calls, which" in found[name].advice) == (name == "small requests")


def test_many_opens_are_found_though_the_cores_are_busy(tmp_path: Path) -> None:
    """Ranks that wait for each other in opens keep the cores busy: these were once the only finding."""
    def rows(rank: int) -> "list[dict[str, int]]":
        calls = [record(kind, 20 * i + at, 9, file=1) for i in range(60) for kind, at in (("open", 0), ("close", 10))]
        queue = [record("run queue", 20 * i, 19, bytes=8_000_000, offset=5_000_000, file=0) for i in range(60)]
        return calls + queue

    found = found_in(tmp_path, rows)
    assert next(iter(found)) == "opening and closing" and "60 opens by a rank, of 1 file," in found[
        "opening and closing"].text
    assert "Keep a file open" in found["opening and closing"].advice
    assert found["opening and closing"].seconds == pytest.approx(60 * 0.018)
    assert found.get("busy cores", Finding("", 0, "", "")).seconds < 0.1


def test_opens_that_wait_for_a_late_rank_are_not_the_cause(tmp_path: Path) -> None:
    """Rank 1 computes for 90 of each 100 ms; the others wait for it in their opens."""
    def rows(rank: int) -> "list[dict[str, int]]":
        late = 90 * (rank == 1)
        return [row for i in range(20)
                for row in (record("open", 100 * i + late, 95 - late), record("close", 100 * i + 95, 5))]

    found = found_in(tmp_path, rows)
    assert next(iter(found)) == "late ranks" and "most often rank 1" in found["late ranks"].text
    assert found["late ranks"].seconds == pytest.approx(0.75 * 19 * 0.09)
    assert "opening and closing" not in found


def test_a_rank_that_its_own_accesses_delay_does_not_compute(tmp_path: Path) -> None:
    """It reads by itself before each collective call, from a slow device or one that another program has locked."""
    def rows(rank: int) -> "list[dict[str, int]]":
        alone = [record(kind, 100 * i, 90, bytes=1 << 20, offset=0) for i in range(10) if rank == 1
                 for kind in ("read", "file read")]
        begin = 90 * (rank == 1)
        return [record("open", 0, 0)] + alone + [record("write", 100 * i + begin, 100 - begin, bytes=1 << 20, offset=0,
                                                        operation=i + 1) for i in range(10)]

    assert list(found_in(tmp_path, rows)) == ["not known"]


def test_metadata_is_a_part_of_its_own(tmp_path: Path) -> None:
    """Within opens, syncs and other calls; on the ranks that wait for rank 0, too."""
    rows = [row for i in range(20) for row in (record("open", 100 * i, 60), record("metadata", 100 * i + 5, 50),
                                               record("close", 100 * i + 60, 10))]
    found = found_in(tmp_path, lambda rank: rows, 2)
    assert found["metadata"].seconds == pytest.approx(1.0) and "20 times rank 0" in found["metadata"].text
    assert found["opening and closing"].seconds == pytest.approx(0.4)
    parts = {part.name: part.seconds for part in summarise(load(tmp_path)).parts}
    assert {name: pytest.approx(value) for name, value in parts.items()} == {
        "metadata": 1.0, "opening": 0.2, "closing": 0.2, "outside of Penstock's calls": 0.57}


def test_threads_that_ran_when_they_were_ready_did_not_wait(tmp_path: Path) -> None:
    rows = [record("open", 0, 100), record("run queue", 0, 100, bytes=1_000_000, offset=90_000_000, file=0)]
    assert list(found_in(tmp_path, lambda rank: rows, 1)) == ["not known"]


def test_what_costs_next_to_nothing_is_left_out(tmp_path: Path) -> None:
    small = [record("file write", i / 100, 0.01, bytes=100, offset=i) for i in range(200)]
    write_trace(tmp_path, [record("open", 0, 2), *small, record("close", 2, 10)])
    assert [finding.name for finding in findings(load(tmp_path))] == ["not known", "small requests"]
    write_trace(tmp_path, [record("open", 0, 2), *small, record("close", 1000, 10)])
    assert [finding.name for finding in findings(load(tmp_path))] == ["not known"]


def test_calls_of_a_file_that_is_opened_twice_are_told_apart(tmp_path: Path) -> None:
    """Both openings have a call 1; in neither was a rank late."""
    for rank in (0, 1):
        write_trace(tmp_path, [record("write", at, 50, bytes=10, offset=0, operation=1) for at in (0, 500)], rank=rank,
                    ranks=2)
    assert [finding.name for finding in findings(load(tmp_path))] == ["not known"]
    write_trace(tmp_path, [record("write", at, 50, bytes=10, offset=0, operation=1) for at in (40, 540)], rank=1, ranks=2)
    late = [finding for finding in findings(load(tmp_path)) if finding.name != "not known"]
    assert [finding.name for finding in late] == ["late ranks"] and late[0].seconds == pytest.approx(0.04)


def test_the_background_counts_in_io_threads_alone(tmp_path: Path) -> None:
    for lane, wanted in ((0, ["not known"]), (IO_LANE, ["too little computation"])):
        write_trace(tmp_path, [record("write", 0, 10, bytes=1 << 20, offset=0),
                               record("file write", 10, 100, bytes=1 << 20, offset=0, lane=lane),
                               record("close", 11, 100)])
        assert [finding.name for finding in findings(load(tmp_path))] == wanted
