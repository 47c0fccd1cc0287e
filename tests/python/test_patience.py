"""Waiting for a rank that does not come: the message, its time, and the cost."""

import fcntl
import os
import re
import struct
import subprocess
import sys

import numpy as np
import pytest
from conftest import run_once

from penstock._core import mpi_library_version
from penstock._launch import environment, find_mpiexec
from scripts import CASES

pytestmark = pytest.mark.ranks

LATE = CASES + """
def late(seconds, call, who):  # the core's share that waiting took
    if rank in who:
        time.sleep(seconds)
        call()
        return 0
    begin, used = time.monotonic(), time.process_time()
    call()
    return int(100 * (time.process_time() - used) / (time.monotonic() - begin))
def stage(name):
    sys.stdout.flush()
    comm.Barrier()
    if rank == 0:
        os.write(2, f"stage {name}\\n".encode())
    comm.Barrier()
"""

PATIENT = LATE + """
shares = []
stage("write")
f = opened("p.npy")
u, d = own(f)
f.file_size()
shares.append(late(2.2, lambda: f.write(u, d), (2,)))
stage("sync")
late(1.4, f.sync, (0,))
stage("soon")
late(0.5, f.sync, (1,))
stage("wait")
h = f.write_begin(u, d, background="all")
h.wait()
g = opened("q.npy", hints={"device": "paced:bandwidth=1M"})
h = g.write_begin(u, d)
late(1.4, h.wait, (1, 2))
g.close()
stage("close")
f.close()
f = opened("p.npy", "r", hints={"ranks_per_node": 2})
late(1.4, f.close, (1,))
stage("open")
f = None
def open_it():
    global f
    f = opened("p.npy", "r+")
shares.append(late(2.2, open_it, (2,)))
stage("twice")  # f lies where the file before it lay
late(1.4, f.sync, (2,))
late(1.4, f.sync, (2,))
f.close()
stage("first")
other = comm.Dup()
shares.append(late(2.2, lambda: ps.open("n.npy", "w", shape=(12, 12), dtype="f8", comm=other).close(), (2,)))
stage("end")
assert is_right("p.npy")
assert max(shares) <= 15, ("per cent of a core", shares)
"""


def stages(output):
    """{name: lines that penstock said in it}"""
    found = {}
    for line in output.splitlines():
        if line.startswith("stage "):
            lines = found.setdefault(line.split()[1], [])
        elif line.startswith("penstock"):
            lines.append(line)
    return found


@pytest.fixture
def patience(monkeypatch):
    return lambda text: monkeypatch.setenv("PENSTOCK_PATIENCE", text)


def test_one_line_for_a_wait_says_who_is_missing(mpirun, patience):
    patience("1")
    said = stages(mpirun(PATIENT, 3))
    line, = said["write"]
    assert re.search(r"rank 0 has waited for 1 s in write \(call 2\) of 'p.npy'; in the same call: ranks 0, 1; "
                     r"not there yet: rank 2 \(is in no call of this file; its last was file_size \(call 1\)\)", line), line
    line, = said["sync"]
    assert re.search(r"rank 1 has waited for 1 s in sync \(call 3\) of 'p.npy'; in the same call: ranks 1, 2; "
                     r"not there yet: rank 0 \(is in no call of this file; its last was write \(call 2\)\)", line), line
    assert said["soon"] == [] and said["end"] == []
    line, = said["wait"]
    assert re.search(r"rank 0 has waited for 1 s in wait for call 1 of 'q.npy'; in the same call: rank 0; "
                     r"not there yet: rank 1 \(is in no call.*, rank 2 \(is in no call", line), line
    of_rank = {rank: line for line in said["close"] for rank in re.findall(r"rank (\d) has waited", line)}
    assert len(said["close"]) == 2 and set(of_rank) == {"0", "2"}, said["close"]
    assert "not there yet: rank 1 (is in no call" in of_rank["0"]
    assert "some of the other nodes' ranks 0, 1" in of_rank["2"]
    line, = said["open"]
    assert re.search(r"rank 0 has waited for 1 s in open of 'p.npy'; in the same call: ranks 0, 1; "
                     r"not there yet: rank 2 \(opens no file of this communicator\)", line), line
    first, second = said["twice"]
    assert re.search(r"in sync \(call 1\) of 'p.npy'.*not there yet: rank 2 \(is in no call of this file; its last was open\)",
                     first), first
    assert "in sync (call 2) of 'p.npy'" in second and "its last was sync (call 1)" in second, second
    # At the first open of a communicator the ranks do not share memory yet.
    line, = said["first"]
    assert re.search(r"rank 0 has waited for 1 s in open of 'n.npy'; in the same call: ranks 0, 1; "
                     r"not seen in it: rank 2 \(opens no file of this communicator\)\. It keeps waiting", line), line


GIVEN_UP = LATE + """
def lost(call):
    if not last:
        begin = time.monotonic()
        error = pytest.raises(ps.StateError, call).value
        assert 0.9 < time.monotonic() - begin < 6, error
        return str(error)
import pytest
f = opened("g.npy")
u, d = own(f)
f.write(u, d)
f.sync()
words = lost(lambda: f.write(u, d))
if not last:
    assert "waited for 1 s in write (call 3) of 'g.npy'" in words and "cannot be used any more" in words, words
    pytest.raises(ps.StateError, f.sync)
comm.Barrier()
words = lost(lambda: opened("h.npy"))
if not last:
    assert "in open of 'h.npy'" in words, words
comm.Barrier()
# The first open of a communicator, to which the last rank comes when the others have given up.
other = comm.Dup()
def open_other():
    ps.open("o.npy", "w", shape=(12, 12), dtype="f8", comm=other)
words = lost(open_other)
comm.Barrier()
if last:
    words = str(pytest.raises(ps.StateError, open_other).value)
assert "waited for 1 s in open of 'o.npy'" in words, words
comm.Barrier()
# Alone, for writing, beside those who open it together.
words = None
try:
    ps.open("k.npy", "w", shape=(12, 12), dtype="f8", comm=None if last else comm)
except ps.Error as error:
    words = [type(error).__name__, str(error)]
every = comm.allgather(words)
assert [kind for kind, _ in every] == ["StateError", "StateError", "ArgumentError"], every
assert "an earlier open with this communicator was given up" in every[0][1], every
assert not os.path.exists("k.npy") and is_right("g.npy")
with ps.open("again.npy", "w", shape=(12, 12), dtype="f8", comm=comm.Dup()) as f:
    f.write(u, d)
assert is_right("again.npy")
if rank == 0:
    os.write(2, b"all done\\n")
comm.Barrier()
os._exit(0)
"""


def test_out_of_patience_is_an_error_where_that_is_asked_for(mpirun, patience):
    patience("1,error")
    output = mpirun(GIVEN_UP, 3, expect=None)
    assert "all done" in output, output


def test_a_patience_of_zero_is_silent(mpirun, patience):
    patience("0")
    said = stages(mpirun(LATE + """
stage("write")
f = opened("z.npy")
u, d = own(f)
late(1.2, lambda: f.write(u, d), (1,))
f.close()
""", 2))
    assert said == {"write": []}


def test_a_patience_that_is_not_understood_is_told(mpirun, patience):
    patience("soon")
    said = stages(mpirun(LATE + """
stage("write")
f = opened("z.npy")
late(0.7, f.sync, (1,))
f.close()
""", 2))
    assert "PENSTOCK_PATIENCE='soon' is not understood" in said["write"][0], said
    assert len(said["write"]) <= 2 and all(line == said["write"][0] for line in said["write"])


# Each rank has a parent, which the launcher takes for the rank: otherwise it would end all ranks after a kill.
WITH_PARENT = """
import os, time
if os.fork():
    os.wait()
    for _ in range(600):
        time.sleep(0.1 if not os.path.exists("done") else 0)
    os._exit(0)
"""


@pytest.mark.skipif("MPICH" not in mpi_library_version(), reason="other launchers notice the kill all the same")
def test_a_rank_that_was_killed_is_named(mpirun, patience, tmp_path):
    patience("1")
    output = mpirun(WITH_PARENT + CASES + """
f = opened("k.npy")
u, d = own(f)
f.write(u, d)
comm.Barrier()
if last:
    os.kill(os.getpid(), signal.SIGKILL)
import threading
def end():
    open("done", "w")
    os._exit(0)
threading.Timer(2.5, end).start()
f.sync()
""", 3, expect=None, timeout=60)
    lines = [line for line in output.splitlines() if line.startswith("penstock:")]
    assert len(lines) == 1 and re.search(r"not there yet: rank 2 \(its process \d+ has ended\)", lines[0]), output


LOCKED = """
import numpy as np
import penstock as ps
with ps.open("l.npy", "r+") as f:
    f.write(np.ones(4), slice(0, 8, 2), method="sieved", active_buffer_size=0)
    print("has", np.asarray(f[...]).tolist())
"""


def hold_lock(path, kind):
    """Of an open file of this process, until it is closed."""
    file = open(path, "r+b")
    fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack("@hhqqi0q", kind, os.SEEK_SET, 100, 100, 0))
    return file


@pytest.mark.parametrize("patience_text", ["1", "1,error"])
def test_who_has_a_lock_is_named(patience, tmp_path, patience_text):
    patience(patience_text)
    np.save(tmp_path / "l.npy", np.zeros(8))
    with hold_lock(tmp_path / "l.npy", fcntl.F_RDLCK) as held:
        run = subprocess.Popen([sys.executable, "-c", LOCKED], cwd=tmp_path, env=environment(), text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        line = run.stderr.readline()
        held.close()
        # Not communicate(): what readline() has read ahead would be lost.
        errors, output = run.stderr.read(), run.stdout.read()
        run.wait(60)
    assert re.search(rf"'l.npy': waited for 1 s for a lock on bytes 128 to \d+; process {os.getpid()} has bytes 100 to 200 "
                     r"of it locked", line), line
    if patience_text == "1":
        assert run.returncode == 0 and "has [1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0]" in output, errors
    else:
        assert "StorageError" in errors and "locking 'l.npy'" in errors and "timed out" in errors, errors


# With MPI-IO, at a thread level without a progress thread.
WITHOUT_THREADS = """
import os, sys
import mpi4py
mpi4py.rc.thread_level = "single"
from mpi4py import MPI
import numpy as np
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
f = MPI.File.Open(comm, "w", MPI.MODE_CREATE | MPI.MODE_RDWR)
mine = np.full(5000, rank, "u1")
one = MPI.BYTE.Create_vector(5000, 1, size).Create_resized(0, 5000 * size)
one.Commit()
f.Set_view(0 + rank, MPI.BYTE, one)
if rank == 0:  # begins last: what others do in the call that begins is not enough then
    for other in range(1, size):
        comm.recv(source=other)
request = f.Iwrite_at_all(0, mine)
if rank > 0:
    comm.send("begun", 0)
if sys.argv[1] == "message":
    if rank == 0:
        request.Wait()
        for other in range(1, size):
            comm.send("go on", other)
    else:
        assert comm.recv(source=0) == "go on"
        request.Wait()
else:
    if rank > 0:
        comm.Barrier()
    request.Wait()
    if rank == 0:
        comm.Barrier()
f.Close()
if rank == 0:
    assert (np.fromfile("w", "u1").reshape(-1, size) == np.arange(size)).all()
    print("right")
"""


def drop_in(tmp_path, script, ranks, *words, options=()):
    (tmp_path / "script.py").write_text(script)
    command = [sys.executable, "-m", "penstock", "run", *options, find_mpiexec(), "-n", str(ranks), sys.executable,
               "script.py", *words]
    return run_once(tmp_path, command, 60)


def test_what_has_begun_and_does_not_go_on_is_told(patience, tmp_path):
    patience("1,error")
    status, output = drop_in(tmp_path, WITHOUT_THREADS, 2, "message")
    assert status == 0 and "right" in output, output
    status, output = drop_in(tmp_path, WITHOUT_THREADS, 2, "barrier")  # within a node that needs no MPI
    assert status == 0 and "right" in output, output
    between_nodes = ["--hint", "ranks_per_node=1"]
    status, output = drop_in(tmp_path, WITHOUT_THREADS, 2, "barrier", options=["--progress-thread", *between_nodes])
    assert status == 0 and "right" in output, output
    status, output = drop_in(tmp_path, WITHOUT_THREADS, 2, "barrier", options=between_nodes)
    assert status != 0, output
    assert re.search(r"rank 0 has waited for 1 s in wait for call 3 of 'w'; in the same call: rank 0; not there yet: .*rank 1.*"
                     r"MPI runs with MPI_THREAD_SINGLE, where .*--progress-thread", output), output


# Rank 1 has bytes in its active buffer that are not written for long, and is killed.
PENDING = WITH_PARENT + """
import signal, threading
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
info = MPI.Info.Create({"penstock_device": "paced:latency=60s", "penstock_active_buffer_size": "1M"})
f = MPI.File.Open(comm, "p", MPI.MODE_CREATE | MPI.MODE_RDWR, info)
if comm.rank == 1:
    f.Write_at(1000, np.ones(1000, "u1"))
comm.Barrier()
if comm.rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
def end():
    open("done", "w")
    os._exit(0)
threading.Timer(2.5, end).start()
f.Read_at(1500, np.zeros(1000, "u1"))
"""


@pytest.mark.skipif("MPICH" not in mpi_library_version(), reason="other launchers notice the kill all the same")
def test_whose_pending_writes_a_rank_waits_for_alone_is_told(patience, tmp_path):
    patience("1")
    _, output = drop_in(tmp_path, PENDING, 2)
    lines = [line for line in output.splitlines() if line.startswith("penstock:")]
    assert len(lines) == 1 and re.search(
        r"rank 0 has waited for 1 s in read of 'p' for rank 1 \(process \d+, which has ended\), which has bytes 1000 to 2000 "
        r"in its active buffer\. It keeps waiting", lines[0]), output


SLOW_STORAGE = LATE + """
def slow(background=None):
    f = opened("s.npy", hints={"device": "paced:latency=2500ms", "active_buffer_size": 0 if background is None else "1M"})
    u, d = own(f)
    stage("write" if background is None else background)
    if background is None:
        f.write(u, d, method="gather")
    else:
        f.write_begin(u, d, method="gather", background=background).wait()
    stage("end")
    f.close()
    assert is_right("s.npy")
slow()
slow("storage")
"""


@pytest.mark.parametrize("patience_text", ["1", "1,error"])
def test_slow_storage_is_said_to_be_that_and_nobody_is_blamed(mpirun, patience, patience_text):
    patience(patience_text)
    said = stages(mpirun(SLOW_STORAGE, 3))
    for stage in ("write", "storage"):
        assert said[stage], said
        for line in said[stage]:
            assert re.search(r"has waited for \d s in .*in the same call: ranks 0-2; "
                             r"rank 0 is in one access to storage for \d s \(offset \d+\)\. It keeps waiting", line), line


# Nothing has been opened before: the ranks do not share memory.
FIRST_OPEN = LATE + """
stage("first")
def open_first():
    ps.open("n.npy", "w", shape=(12, 12), dtype="f8", comm=comm).close()
if rank == 1:
    try:
        ps.open("n.npy", "w", shape=(12, 12), dtype="f8", comm=None)
    except ps.ArgumentError:
        pass
late(2.5, open_first, (1, 3))
stage("end")
"""


def test_at_the_first_open_the_ranks_that_have_not_come_are_named(mpirun, patience):
    patience("1")
    line, = stages(mpirun(FIRST_OPEN, 4))["first"]
    assert re.search(r"rank 0 has waited for 1 s in open of 'n.npy'; in the same call: ranks 0, 2; not seen in it: "
                     r"rank 1 \(was refused to open a file without a communicator\), "
                     r"rank 3 \(it has opened no file yet, or cannot be seen from this node\)", line), line
