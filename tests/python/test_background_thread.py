"""The active buffer's budget, its I/O thread, and processes that fork."""

import os
import subprocess
import sys

import numpy as np
import pytest

import penstock as ps
from scripts import HEAD

pytestmark = pytest.mark.ranks


# ---- the budget

@pytest.mark.parametrize("ranks", [pytest.param(1, marks=pytest.mark.slow), 3])
@pytest.mark.parametrize("budget", ["1M", "8M", "64M"])
def test_the_budget_is_kept(mpirun, ranks, budget):
    """A slow device and more data than the budget: never more than one unit beyond it."""
    mpirun(HEAD + f"budget = {int(budget[:-1]) << 20}" + """
n = min(3 * budget, 80 << 20) // size
data = np.random.default_rng(rank).integers(0, 256, n, "u1")
mine = slice(rank * n, (rank + 1) * n)
# What is pending takes long enough that the next write meets it, however late its rank is.
rate = {1: "50M", 8: "200M", 64: "400M"}[budget >> 20]
hints = {"device": f"paced:bandwidth={rate}", "active_buffer_size": budget}
for method in ("direct", "sieved", "extended"):
    with ps.open("a", "w", shape=(size * n,), dtype="u1", comm=comm, hints={**hints, "method": method}) as f:
        for turn in range(2):
            f.write(data, mine)
            assert f.last_call.buffer_peak <= budget + (4 << 20), (method, f.last_call)
        f.sync()
        s = f.statistics
        assert s.buffer_peak <= budget + (4 << 20), (method, s)
        assert comm.allreduce(s.bytes_buffered) == 2 * n * size
        assert 2 * n <= budget or comm.allreduce(s.buffer_waits) > 0, (method, s)
    assert np.array_equal(np.fromfile("a", "u1", n, offset=rank * n), data)
    comm.Barrier()
""", ranks)


def test_the_budget_may_change_from_call_to_call(mpirun):
    mpirun(HEAD + """
n = 6 << 20
mine = slice(rank * n, (rank + 1) * n)
with ps.open("a", "w", shape=(size * n,), dtype="u1", comm=comm, hints={"device": "paced:bandwidth=200M"}) as f:
    largest = 0
    for turn, budget in enumerate([64 << 20, 1 << 20, 0, 100, 8 << 20, 0, 16 << 20, 1000]):
        for method in ("extended", "direct"):
            f.write(np.full(n, 10 * turn + rank, "u1"), mine, method=method, active_buffer_size=budget)
            # What earlier calls left there counts too.
            largest = max(budget, 0 if budget == 0 else largest)
            assert f.last_call.buffer_peak <= largest + (4 << 20), (turn, budget, f.last_call)
            if budget == 0:
                assert f.last_call.bytes_buffered == f.last_call.buffer_peak == 0
        assert (f.read(mine) == 10 * turn + rank).all()
        largest = 0  # a read leaves nothing there
""", 3)


def test_without_a_buffer_all_is_done_on_return(mpirun):
    mpirun(HEAD + """
n = 1 << 20
mine = slice(rank * n, (rank + 1) * n)
for method in ("direct", "sieved", "gather", "extended"):
    with ps.open("a", "w", shape=(size * n,), dtype="u1", comm=comm, hints={"active_buffer_size": 0}) as f:
        for turn in range(1, 4):
            f.write(np.full(n, turn * 10 + rank, "u1"), mine, method=method)
            c = f.last_call
            assert comm.allreduce(c.bytes_written) == n * size, c
            assert c.bytes_buffered == c.buffer_peak == c.buffer_waits == 0 and c.time_room == 0, c
            assert (np.fromfile("a", "u1", n, offset=rank * n) == turn * 10 + rank).all()
            comm.Barrier()
        assert f.statistics.writes == 3 * c.writes
""", 3)


# ---- the I/O thread

THREADS = """
import os
import numpy as np
import penstock as ps
def threads():
    return {int(t): open(f"/proc/self/task/{t}/stat").read().rpartition(")")[2].split() for t in os.listdir("/proc/self/task")}
before = set(threads())
def io_thread(**hints):
    with ps.open("a", "w", shape=(9,), dtype="u1", hints=hints) as f:
        f.write(np.ones(9, "u1"), ...)
        f.sync()
        new = set(threads()) - before
        assert len(new) == 1, new
        return new.pop()
"""


def alone(script, folder, **options):
    return subprocess.run([sys.executable, "-c", script], cwd=folder, text=True, capture_output=True, timeout=60,
                          **options)


def test_the_io_thread_runs_as_wished(tmp_path):
    core = max(os.sched_getaffinity(0))
    done = alone(THREADS + f"core = {core}" + """
allowed = os.sched_getaffinity(0)
def nice(t): return int(threads()[t][16])
plain = io_thread()
own = nice(os.getpid())
assert nice(plain) == own and os.sched_getaffinity(plain) == allowed
assert nice(io_thread(io_thread="nice=7")) == min(19, own + 7)
t = io_thread(io_thread=f"core={core}")
assert t == plain and os.sched_getaffinity(t) == {core} and nice(t) == own
t = io_thread(io_thread="batch")
assert os.sched_getscheduler(t) == os.SCHED_BATCH and os.sched_getaffinity(t) == allowed
t = io_thread(io_thread="other")
assert os.sched_getscheduler(t) == os.SCHED_OTHER
assert os.sched_getaffinity(0) == allowed and nice(os.getpid()) == own and os.sched_getscheduler(0) == os.SCHED_OTHER
""", tmp_path)
    # Back to a lower nice value is for those who have the right to it; that it does not work is said.
    assert done.returncode == 0 or "that io_thread asks for" in done.stderr, done.stderr


def test_the_threads_of_background_all_run_as_wished(tmp_path):
    """Without a buffer: one does the exchange, and one that it starts writes. With a buffer the I/O thread does."""
    core = max(os.sched_getaffinity(0))
    done = alone(THREADS + f"core = {core}" + """
own, allowed = int(threads()[os.getpid()][16]), os.sched_getaffinity(0)
def new_threads(background, **hints):
    with ps.open("b", "w", shape=(9000,), dtype="u1", hints={"method": "extended", "pipeline": "always"}) as f:
        f.write_begin(np.ones(9000, "u1"), ..., background=background, **hints).wait()
        return [(int(stat[16]) - own, os.sched_getaffinity(t), os.sched_getscheduler(t))
                for t, stat in threads().items() if t not in before]
wished = {"io_thread": f"batch,nice=7,core={core}", "active_buffer_size": 0}
assert new_threads("all", **wished) == [(min(7, 19 - own), {core}, os.SCHED_BATCH)] * 2
assert new_threads("all", active_buffer_size=0) == [(0, allowed, os.SCHED_OTHER)] * 2  # others wait for these
assert new_threads("none", **wished) == [(min(7, 19 - own), {core}, os.SCHED_BATCH)]
with ps.open("b", "r+", shape=(9000,), dtype="u1", hints={"method": "extended", "pipeline": "always"}) as f:
    f.read_begin(..., background="all", io_thread="nice=3").wait()
    assert {int(s[16]) - own for t, s in threads().items() if t not in before} == {min(3, 19 - own)}
    f.write(np.ones(9000, "u1"), ..., active_buffer_size=0, io_thread="nice=7")  # the second thread writes for this one, too
    assert {int(s[16]) - own for t, s in threads().items() if t not in before} == {min(3, 19 - own), min(7, 19 - own)}
assert os.sched_getaffinity(0) == allowed and os.sched_getscheduler(0) == os.SCHED_OTHER
""", tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("hint", ["io_thread=nice=-1", "io_thread=nice=20", "io_thread=idle", "io_thread=core=1024",
                                  "active_buffer_size=-1", "active_buffer_size=much"])
def test_bad_settings_of_the_io_thread_are_refused(tmp_path, hint):
    name, value = hint.split("=", 1)
    with pytest.raises(ps.ArgumentError, match=name):
        ps.open(tmp_path / "a", "w", shape=(9,), dtype="u1", hints={name: value})
    with ps.open(tmp_path / "a", "w", shape=(9,), dtype="u1") as f:
        with pytest.raises(ps.ArgumentError, match=name):
            f.write(np.ones(9, "u1"), ..., **{name: value})


def test_placement_may_differ_between_ranks_and_a_missing_core_is_no_error(mpirun):
    output = mpirun(HEAD + """
hints = {"io_thread": ["auto", "batch,nice=1", "other,nice=2,core=1023"][rank]}
with ps.open("a", "w", shape=(size,), dtype="u1", comm=comm, hints=hints) as f:
    f.write(np.array([rank], "u1"), slice(rank, rank + 1))
    assert list(f.read(slice(0, size))) == [0, 1, 2]
""", 3)
    assert output.count("without the core that io_thread asks for") == 1


# ---- fork

FORK = """
import os, sys, time
import numpy as np
import penstock as ps
n = 4 << 20
f = ps.open("a", "w", shape=(n,), dtype="u1", hints={"device": "paced:bandwidth=8M", "method": "direct"})
f.write(np.ones(n, "u1"), ...)
HANDLE
child = os.fork()
if child == 0:
    LEAVE
deadline = time.monotonic() + 20
while os.waitpid(child, os.WNOHANG) == (0, 0):
    if time.monotonic() > deadline:
        os.kill(child, 9)
        os.waitpid(child, 0)
        f.close()
        sys.exit("the child hangs")
    time.sleep(0.02)
f.write(np.full(n, 2, "u1"), ...)
f.close()
assert f.statistics.bytes_written % n == 0 and f.statistics.bytes_written <= 3 * n
assert (np.fromfile("a", "u1") == 2).all()
"""


@pytest.mark.parametrize("handle", ["", "h = f.read_begin(slice(0, 10))", "h = f.write_begin(np.ones(n, 'u1'), ...)"])
@pytest.mark.parametrize("leave", ["os._exit(0)", "sys.exit(0)", "del f; sys.exit(0)"])
def test_a_forked_child_leaves_the_data_to_its_parent(tmp_path, leave, handle):
    done = alone(FORK.replace("LEAVE", leave).replace("HANDLE", handle), tmp_path)
    assert done.returncode == 0, done.stderr
    assert "never closed" not in done.stderr and "LOST" not in done.stderr, done.stderr


def test_a_forked_child_may_use_files_of_its_own(tmp_path):
    done = alone("""
import os, sys
import numpy as np
import penstock as ps
def use(name):
    with ps.open(name, "w", shape=(1000,), dtype="u1") as f:
        f.write(np.ones(1000, "u1"), ...)
        f.read_begin(...).wait()
use("parent")
child = os.fork()
if child == 0:
    import signal
    signal.alarm(20)
    use("child")
    os._exit(0)
sys.exit("the child hangs" if os.waitpid(child, 0)[1] else 0)
""", tmp_path)
    assert done.returncode == 0, done.stderr
    assert (np.fromfile(tmp_path / "child", "u1") == 1).all()


RANKS_FORK = """
import multiprocessing
n = 1000
mine = slice(rank * n, (rank + 1) * n)
f = ps.open("a", "w", shape=(size * n,), dtype="u1", comm=comm)
f.write(np.ones(n, "u1"), mine)
h = f.write_begin(np.ones(n, "u1"), mine)
owner = os.getpid()
def drop():
    global f, h
    del f, h
    gc.collect()
def leave():
    f._inner.abandon()
    sys.exit(0)
def use():
    for call in (lambda: f.write(np.ones(n, "u1"), mine), f.sync, f.close, h.wait, h.test, lambda: f.statistics,
                 lambda: f.read(...)):
        try:
            call()
        except ps.StateError as error:
            assert f"this file was opened by process {owner}; this is process {os.getpid()}" in str(error), error
        else:
            raise AssertionError("a child used the file")
    try:
        ps.open("b", "w", shape=(n,), dtype="u1", comm=MPI.COMM_SELF)
    except ps.StateError as error:
        assert "fork" in str(error)
    else:
        raise AssertionError("a child used MPI")
    with ps.open(f"own{rank}", "w", shape=(n,), dtype="u1") as own:
        own.write(np.ones(n, "u1"), ...)
child = multiprocessing.get_context("fork").Process(target=CHILD)
if rank in FORKING:
    child.start()
    child.join(30)
    assert child.exitcode == 0, child.exitcode
comm.Barrier()
h.wait()
f.write(np.full(n, 2, "u1"), mine)
f.sync()
assert (f.read(...) == 2).all()
f.close()
assert "CHILD" != "use" or (np.fromfile(f"own{rank}", "u1") == 1).all()
"""


@pytest.mark.parametrize("forking", ["(0, 1)", "(1,)"])
@pytest.mark.parametrize("child", ["drop", "leave"])
def test_a_child_that_drops_a_file_takes_it_from_no_rank(mpirun, child, forking):
    output = mpirun(HEAD + RANKS_FORK.replace("CHILD", child).replace("FORKING", forking), 2)
    assert "never closed" not in output and "LOST" not in output, output


def test_a_child_that_uses_a_file_is_told_whose_it_is(mpirun):
    mpirun(HEAD + RANKS_FORK.replace("CHILD", "use").replace("FORKING", "(0, 1)"), 2)
