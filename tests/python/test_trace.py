"""Traces: the files of a run, and the readers' results, also for damaged ones."""

import csv
import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from traces import record, write_trace

from penstock import ArgumentError, FormatError
from penstock._launch import environment, find_mpiexec
from penstock._trace.events import KINDS, load
from penstock._trace.merge import rows_of, write_json
from penstock._trace.reading import RECORD
from penstock._trace.summary import FORMATS, summarise
from penstock._trace.view import page_of

RUN = """
import os
os.environ["PENSTOCK_TRACE"] = "traces"
import numpy as np, penstock as ps
from mpi4py import MPI
comm = MPI.COMM_WORLD
with ps.open("a.raw", "w", shape=(64, 1024), dtype="f8", comm=comm, hints={"active_buffer_size": 0}) as f:
    d = ps.distribute(f.shape, comm, kind=("*", "block"))
    mine = np.full((64, 1024 // comm.size), comm.rank, "f8")
    f.write(mine, d.section)
    f.write_begin(mine, d.section).wait()
    f.sync()
    f.read((slice(None), 256))
    f.write(mine, d.section, method="extended", exchange="step4")
"""


def command(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-m", "penstock", "trace", *arguments], capture_output=True, text=True,
                          timeout=120, env=environment())


def test_every_rank_records_what_it_does(mpirun, tmp_path: Path) -> None:
    mpirun(RUN, 2)
    trace = load(tmp_path / "traces")
    assert [process.rank for process in trace.processes] == [0, 1] and trace.problems == []
    for rank in (0, 1):
        mine = trace.events[trace.events["process"] == rank]
        count = {kind: int((mine["kind"] == number).sum()) for number, kind in enumerate(trace.kinds)}
        assert [count[kind] for kind in ("open", "close", "read", "write", "begin write", "end", "sync")] == [
            1, 1, 1, 2, 1, 1, 1]
        assert count["exchange"] > 0 and count["plan"] > 0 and count["in flight"] == 1
    assert trace.of("write")["bytes"].tolist() == [64 * 512 * 8] * 4
    assert trace.of("file write")["bytes"].sum() == 3 * 64 * 1024 * 8
    assert trace.of("read")["offset"].tolist() == [256 * 8] * 2
    sent = trace.of("exchange")["bytes"].sum()
    assert 0 < sent <= 2 * 64 * 1024 * 8
    assert all(name.endswith("a.raw") for name in trace.files[1:])


DATASETS = """
import os
os.environ["PENSTOCK_TRACE"] = "traces"
import numpy as np, penstock as ps
from mpi4py import MPI
comm = MPI.COMM_WORLD
for i in range(2):
    for name in ("u", "v", "w"):
        mode = "w" if name == "u" else "r+"
        with ps.open(f"{i}.h5", mode, shape=(64,), dtype="f8", dataset=name, comm=comm) as f:
            f.write(np.zeros(64), ...)
"""


def test_each_open_of_the_program_counts_once_on_each_rank(mpirun, tmp_path: Path) -> None:
    """Where a dataset is made in a file that is there, Penstock opens the file twice, and rank 0 once more with HDF5;
    400 opens were once shown for 240."""
    pytest.importorskip("h5py")
    mpirun(DATASETS, 2)
    trace = load(tmp_path / "traces")
    assert [len(trace.of(kind)) for kind in ("open", "close", "write", "other call")] == [12, 12, 12, 0]
    metadata, opens = trace.of("metadata"), trace.of("open")
    assert len(metadata) == 2 * (2 * 1 + 4 * 2)  # for each new dataset one look, one making where the file was there
    for part in metadata:
        assert any(part["process"] == whole["process"] and whole["begin"] <= part["begin"]
                   and part["begin"] + part["duration"] <= whole["begin"] + whole["duration"] for whole in opens)
    summary = summarise(trace)
    assert [row.opens for row in summary.files if row.name.endswith(".h5")] == [6, 6]
    assert "opens, all ranks" in FORMATS["text"](summary)


PHASES = """
import os
os.environ["PENSTOCK_TRACE"] = "traces"
import numpy as np, penstock as ps
from mpi4py import MPI
comm = MPI.COMM_WORLD
with ps.open("a.zarr", "w", shape=(None, 64), chunks=(1, 64), dtype="f8", comm=comm) as f:
    f.append(np.zeros(64))
    f.sync()
    f.file_size()
    f.attrs["step"] = 1
"""


def test_calls_that_move_no_data_have_their_own_kinds(mpirun, tmp_path: Path) -> None:
    mpirun(PHASES, 2)
    trace = load(tmp_path / "traces")
    count = {kind: len(trace.of(kind)) // 2 for kind in KINDS}
    # The size is set by append, and asked for.
    assert [count[kind] for kind in ("open", "close", "sync", "size", "write")] == [1, 1, 1, 2, 1]
    assert count["metadata"] >= 4  # zarr.json is looked for, made, made longer, and gets the attribute
    parts = {part.name: part for part in summarise(trace).parts}
    assert {"opening", "closing", "syncs", "metadata", "size and other calls"} <= parts.keys()
    assert sum(part.share for part in parts.values()) == pytest.approx(1)


def test_without_the_variable_there_is_none(mpirun, tmp_path: Path) -> None:
    mpirun(RUN.replace('os.environ["PENSTOCK_TRACE"] = "traces"', 'os.environ.pop("PENSTOCK_TRACE", None)'), 1)
    assert not list(tmp_path.rglob("*.trace"))


def test_a_trace_that_cannot_be_made_is_reported_and_the_program_continues(mpirun) -> None:
    result = mpirun(RUN.replace('"traces"', '"/proc/no/traces"') + "print('done')\n", 1)
    assert "no trace is kept" in result and "/proc/no/traces" in result and "done" in result


def test_programs_that_use_mpi_io_are_traced_too(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "from mpi4py import MPI; import numpy as np\n"
        "comm = MPI.COMM_WORLD\n"
        "f = MPI.File.Open(comm, 'data', MPI.MODE_CREATE | MPI.MODE_RDWR)\n"
        "f.Write_at_all(comm.rank * 8000, np.full(1000, comm.rank, 'f8'))\n"
        "comm.Barrier()\n"
        "for i in range(10): f.Read_at(i * 800, np.empty(100))\n"
        "f.Sync(); f.Close()\n")
    python = [sys.executable, "-m", "mpi4py"]
    done = subprocess.run([sys.executable, "-m", "penstock", "run", "--trace", "traces", find_mpiexec(), "-n", "2",
                           *python, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120,
                          env=environment())
    assert done.returncode == 0, done.stderr
    trace = load(tmp_path / "traces")
    assert len(trace.of("write")) == 2 and len(trace.of("sync")) == 2
    assert trace.of("read")["bytes"].tolist() == [800] * 20
    assert sorted(trace.of("file read")["offset"].tolist()) == sorted([i * 800 for i in range(10)] * 2)


def test_a_killed_run_leaves_what_it_had(mpirun, tmp_path: Path) -> None:
    mpirun(RUN + "os.kill(os.getpid(), 9)\n", 1, expect=None)
    trace = load(tmp_path / "traces")
    assert len(trace.of("write")) == 2 and len(trace.of("close")) == 1
    assert len(trace.problems) == 1 and "was killed" in trace.problems[0]
    result = command("summary", str(tmp_path / "traces"))
    assert result.returncode == 0 and "was killed" in result.stderr and "file write" in result.stdout


def test_a_full_trace_keeps_the_newest_and_says_so(mpirun, tmp_path: Path) -> None:
    result = mpirun(RUN.replace("import numpy", "os.environ['PENSTOCK_TRACE_LIMIT'] = '512K'\nimport numpy")
                  + "with ps.open('a.raw', 'r+', shape=(64, 1024), dtype='f8') as f:\n"
                    "    for i in range(6000): f.read((0, slice(0, 8)))\n", 1)
    assert "new records replace the oldest" in result
    trace = load(tmp_path / "traces")
    assert len(trace.events) >= 8192 and "the oldest" in trace.problems[0]
    assert len(trace.of("close")) == 1 and trace.events["begin"].min() == 0


def small_trace(folder: Path) -> Path:
    return write_trace(folder, [record("open", 0, 1), record("write", 1, 4, bytes=1 << 20, offset=0, operation=1),
                                record("file write", 2, 2, bytes=1 << 20, offset=0, operation=1),
                                record("close", 6, 1)])


def test_what_is_not_a_trace_is_refused_with_what_was_expected(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="not a folder"):
        load(tmp_path / "nowhere")
    with pytest.raises(ArgumentError, match="no traces"):
        load(tmp_path)
    (tmp_path / "x.trace").write_bytes(b"something else")
    with pytest.raises(FormatError, match="is not a trace of Penstock"):
        load(tmp_path)
    result = command("summary", str(tmp_path))
    assert result.returncode == 2 and "is not a trace of Penstock" in result.stderr and "Traceback" not in result.stderr


def test_what_can_be_read_of_a_damaged_trace_is_read(tmp_path: Path) -> None:
    path = small_trace(tmp_path)
    (tmp_path / "other.trace").write_bytes(b"")
    whole = path.read_bytes()
    # A byte of the second record, at offset 64 from the first.
    path.write_bytes(whole[:65536 + 70] + b"\xff" + whole[65536 + 71:])
    trace = load(tmp_path)
    assert len(trace.events) == 3 and len(trace.of("write")) == 0
    assert any("1 of 4 records are damaged" in problem for problem in trace.problems)
    assert any("other.trace" in problem for problem in trace.problems)
    path.write_bytes(whole[:65536 + 2 * 64 + 10])
    trace = load(tmp_path)
    assert len(trace.events) == 2 and any("2 of 4 records are missing" in problem for problem in trace.problems)


def test_damaged_names_leave_numbers(tmp_path: Path) -> None:
    path = small_trace(tmp_path)
    whole = bytearray(path.read_bytes())
    at = whole.index(b"data.raw") - 8
    whole[at:at + 2] = b"\x99\x99"
    path.write_bytes(whole)
    trace = load(tmp_path)
    assert "number 1" in trace.files and "names are damaged" in trace.problems[0]
    whole[4096:4098] = b"\x99\x99"
    path.write_bytes(whole)
    with pytest.raises(FormatError, match="does not say what its records mean"):
        load(tmp_path)


@pytest.mark.parametrize("seed", range(40))
def test_random_damage_never_ends_in_anything_but_words(tmp_path: Path, seed: int) -> None:
    path = small_trace(tmp_path)
    draw = np.random.default_rng(seed)
    raw = bytearray(path.read_bytes())
    for _ in range(int(draw.integers(1, 30))):
        at = int(draw.choice([draw.integers(0, 256), draw.integers(4096, 4800), draw.integers(65536, len(raw))]))
        raw[at] = int(draw.integers(0, 256))
    path.write_bytes(raw[:int(draw.integers(0, len(raw) + 1))] if seed % 3 == 0 else raw)
    try:
        summary = summarise(load(tmp_path))
    except (FormatError, ArgumentError):
        return
    assert all(isinstance(form(summary), str) for form in FORMATS.values())


@pytest.mark.parametrize("what", ("summary", "view", "merge"))
def test_a_header_with_too_many_ranks_is_damage_and_the_rest_is_read(tmp_path: Path, what: str) -> None:
    folder = tmp_path / "traces"
    for rank in (0, 1):
        write_trace(folder, [record("write", rank, 4, bytes=1 << 20, offset=0, operation=1)], rank=rank, ranks=2)
    damaged = folder / "host.1001.trace"
    whole = bytearray(damaged.read_bytes())
    whole[60:64] = (2 + (1 << 28)).to_bytes(4, "little")
    damaged.write_bytes(whole)
    os.mkfifo(folder / "pipe.trace")
    output = [] if what == "summary" else ["-o", str(tmp_path / "output")]
    result = command(what, str(folder), *output)
    assert result.returncode == 0 and result.stdout
    assert f"process 1001 ('{damaged}'): its header is damaged (rank 1 of 268435458" in result.stderr
    assert "pipe.trace' is a pipe, not a regular file" in result.stderr and len(result.stderr.splitlines()) == 3
    assert len(load(folder).of("write")) == 2


def test_the_ranks_of_a_run_are_what_most_traces_say(tmp_path: Path) -> None:
    for rank, ranks in ((0, 3), (1, 3), (2, 1 << 20)):
        write_trace(tmp_path, [record("open", 0, 1)], rank=rank, ranks=ranks)
    problems = load(tmp_path).problems
    assert len(problems) == 1 and "rank 2" in problems[0] and "says that there were 1048576 ranks, and most others say 3" in problems[0]


def test_numbers_that_no_trace_has_are_damage(tmp_path: Path) -> None:
    """Each with a correct check, as the author of a forged trace can compute it."""
    whole = record("file write", 1, 1, bytes=10, offset=0)
    odd = [{"file": 1 << 20}, {"bytes": -1}, {"bytes": 1 << 62}, {"offset": -2}, {"begin": (1 << 63) - 1},
           {"duration": -1}, {"operation": -1}]
    path = write_trace(tmp_path, [whole, *({**whole, **one} for one in odd)])
    trace = load(tmp_path)
    assert len(trace.events) == 1 and f"{len(odd)} of {len(odd) + 1} records are damaged" in trace.problems[0]
    raw = bytearray(path.read_bytes())
    raw[32:40] = (1 << 63).to_bytes(8, "little")
    path.write_bytes(raw)
    with pytest.raises(FormatError, match="its clocks were at"):
        load(tmp_path)


def test_a_trace_of_as_many_threads_and_files_as_there_can_be_is_read_in_seconds(tmp_path: Path) -> None:
    records = np.zeros(300_000, RECORD)
    number = np.arange(len(records))
    records["kind"] = np.where(number % 2, KINDS.index("run queue"), KINDS.index("file write")) + 1
    records["lane"], records["file"], records["begin"] = number % 65536, number % 3841, number * 1000
    records["bytes"], records["offset"], records["index"] = (1 << 60) - 1, 0, number
    write_trace(tmp_path, records)
    begin = time.monotonic()
    trace = load(tmp_path)
    summary = summarise(trace)
    assert summary.transfers[0].bytes == 150_000 * ((1 << 60) - 1) and len(summary.files) == 3841
    assert page_of(trace)[1] == 150_000
    with open(tmp_path / "merged", "w") as file:
        write_json(trace, file)
    assert time.monotonic() - begin < 60  # 4 s; each file and thread by itself took minutes


def test_text_of_a_trace_is_shown_in_one_line(tmp_path: Path) -> None:
    path = write_trace(tmp_path, [record("file write", 0, 1, bytes=1, offset=0)])
    path.write_bytes(path.read_bytes().replace(b"data.raw", b"\x1b[2J\n\xe2\x80\xa8"))
    assert load(tmp_path).files == ["", "\\x1b[2J\\n\\u2028"]


def test_traces_of_two_runs_are_not_mixed(tmp_path: Path) -> None:
    path = small_trace(tmp_path)
    (tmp_path / "again.trace").write_bytes(path.read_bytes())
    with pytest.raises(ArgumentError, match="several runs.*rank 0"):
        load(tmp_path)


def test_missing_ranks_are_reported(tmp_path: Path) -> None:
    write_trace(tmp_path, [record("open", 0, 1)], rank=1, ranks=3)
    assert "traces of 2 of 3 ranks are missing: 0, 2" in load(tmp_path).problems[0]


def test_the_tables_are_those_of_the_papers(tmp_path: Path) -> None:
    for rank in (0, 1):
        write_trace(tmp_path, [record("open", 0, 10), record("write", 20, 50, bytes=3 << 20, offset=0, operation=1),
                               record("file write", 30, 20, bytes=1 << 20, offset=0, operation=1),
                               record("file write", 50, 20, bytes=2 << 20, offset=1 << 20, operation=1),
                               record("close", 80, 5 + 10 * rank)], rank=rank, ranks=2)
    summary = summarise(load(tmp_path))
    operations = {row.name: row for row in summary.operations}
    assert (operations["open"].count, operations["open"].total, operations["open"].average) == (2, 0.02, 0.01)
    assert operations["close"].total == pytest.approx(0.02) and operations["close"].longest == pytest.approx(0.015)
    written = next(row for row in summary.transfers if row.name == "file write")
    assert written.sizes == {"1 MiB": 2, "2 MiB": 2} and written.bytes == 6 << 20
    assert written.bandwidth == pytest.approx((6 << 20) / 0.04)  # all bytes by the time of a rank
    assert summary.seconds == pytest.approx(0.095)
    text = FORMATS["text"](summary)
    assert "file write: 6 MiB at 150 MiB/s" in text and "data.raw" in text
    assert json.loads(FORMATS["json"](summary))["operations"][0]["name"] == "open"
    rows = list(csv.reader(io.StringIO(FORMATS["csv"](summary))))
    assert ["operations", "open", "count", "2"] in rows and all(len(row) == 4 for row in rows)


def test_many_sizes_are_put_together(tmp_path: Path) -> None:
    write_trace(tmp_path, [record("file write", i, 1, bytes=i + 1, offset=0) for i in range(100)])
    sizes = summarise(load(tmp_path)).transfers[0].sizes
    assert sizes["< 2 B"] == 1 and sizes["< 128 B"] == 37 and sum(sizes.values()) == 100


def test_the_merged_file_nests_and_has_everything(mpirun, tmp_path: Path) -> None:
    mpirun(RUN, 4)
    output = tmp_path / "trace.json"
    done = command("merge", str(tmp_path / "traces"), "-o", str(output))
    assert done.returncode == 0, done.stderr
    merged = json.loads(output.read_text())["traceEvents"]
    trace = load(tmp_path / "traces")
    spans = [event for event in merged if event["ph"] == "X"]
    assert len(spans) == len(trace.events) - len(trace.of("in flight", "run queue"))
    assert {event["args"]["name"].split(" (")[0] for event in merged if event["name"] == "process_name"} == {
        "rank 0", "rank 1", "rank 2", "rank 3"}
    assert sum(event["ph"] == "b" for event in merged) == sum(event["ph"] == "e" for event in merged) == 4
    rows: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for event in spans:
        rows.setdefault((event["pid"], event["tid"]), []).append((event["ts"], -event["dur"]))
    for row in rows.values():
        ends: list[float] = []
        for begin, negative in sorted(row):
            while ends and ends[-1] <= begin + 0.001:
                ends.pop()
            assert not ends or begin - negative <= ends[-1] + 0.002
            ends.append(begin - negative)


def test_spans_that_overlap_go_in_rows_of_their_own(tmp_path: Path) -> None:
    write_trace(tmp_path, [record("wait", 0, 10), record("wait", 5, 10), record("copy", 6, 2), record("wait", 20, 1)])
    assert rows_of(load(tmp_path).events).tolist() == [0, 1, 0, 0]


def test_a_thread_that_waits_for_a_core_is_a_counter(tmp_path: Path) -> None:
    write_trace(tmp_path, [record("open", 0, 1), record("run queue", 0, 100, bytes=25_000_000, offset=50_000_000, file=0)])
    output = io.StringIO()
    write_json(load(tmp_path), output)
    counters = [event for event in json.loads(output.getvalue())["traceEvents"] if event["ph"] == "C"]
    assert counters[0]["args"] == {"running": 50.0, "waiting for a core": 25.0}
    assert "main thread" in counters[0]["name"]
