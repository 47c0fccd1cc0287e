"""Threads of the program: different files concurrently, one file one call at a time."""

import subprocess
import sys
import threading

import numpy as np
import pytest

import penstock as ps
from scripts import HEAD

# Threads that open, write, read and close. They change at every few steps.
USE = """
import sys, threading
sys.setswitchinterval(1e-5)
failures = []
def use(path, thread, turns, comm=None):
    rank, size = (0, 1) if comm is None else (comm.rank, comm.size)
    mine = slice(8 * rank, 8 * rank + 8)
    for turn in range(turns):
        u = np.full((8, 100), 1000 * thread + turn + rank / 2)
        f = ps.open(path, "w", shape=(8 * size, 100), dtype="f8", comm=comm)
        if turn % 3 == 0:
            f.write(u, mine)
            f.close(wait=False)
        elif turn % 3 == 1:
            h, other = f.write_begin(u, mine), f.write_begin(u, mine)
            h.copied(); other.wait(); h.wait()
            f.close()
        else:
            f.write_begin(u, mine)
            f.close(wait=False).wait()
        with ps.open(path, comm=comm) as f:
            if not (f.read_begin(mine).wait() == u).all():
                raise AssertionError(f"thread {thread}, turn {turn}: wrong values")
def in_threads(count, work):
    def one(i):
        try:
            work(i)
        except BaseException as error:
            failures.append(f"{type(error).__name__}: {error}")
    threads = [threading.Thread(target=one, args=(i,)) for i in range(count)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    assert not failures, failures
"""


def alone(folder, script, **options):
    """A program of its own: what goes wrong with threads ends it by a signal."""
    return subprocess.run([sys.executable, "-c", "import numpy as np, penstock as ps\n" + script], cwd=folder,
                          text=True, capture_output=True, timeout=100, **options)


@pytest.mark.parametrize("count", [2, 8])
def test_threads_have_files_of_their_own(tmp_path, count):
    done = alone(tmp_path, USE + f"in_threads({count}, lambda i: use(f'{{i}}.npy', i, {240 // count}))")
    assert done.returncode == 0, done.stderr
    assert "never closed" not in done.stderr and "LOST" not in done.stderr, done.stderr


@pytest.mark.ranks
@pytest.mark.parametrize("kind", ["dup", "self"])
def test_threads_of_ranks_have_communicators_of_their_own(mpirun, kind):
    mpirun(HEAD + USE + f"""
comms = [comm.Dup() if {kind == 'dup'} else MPI.COMM_SELF for _ in range(3)]
in_threads(3, lambda i: use(f"{{i}}-{{rank if comms[i].size == 1 else 'all'}}.npy", i, 30, comms[i]))
""", 2)


def test_threads_share_a_file(tmp_path):
    done = alone(tmp_path, USE + """
f = ps.open("a.npy", "w", shape=(8, 1000), dtype="f8")
def work(i):
    for turn in range(30):
        u = np.full((1, 1000), 100.0 * i + turn)
        h = f.write_begin(u, slice(i, i + 1), background=("storage", "all", "none")[turn % 3])
        h.test()
        f.write(u, slice(i, i + 1))
        h.wait()
        assert (f[i : i + 1] == u).all() and f.statistics.bytes_written >= 0 and not f.closed
in_threads(8, work)
f.close()
""")
    assert done.returncode == 0, done.stderr


def test_steps_that_threads_append_are_steps_of_their_own(tmp_path):
    done = alone(tmp_path, USE + """
with ps.open("a.npy", "w", shape=(None, 10), dtype="i8") as f:
    def work(i):
        for turn in range(20):
            f.append(np.full(10, 100 * i + turn))
    in_threads(4, work)
""")
    assert done.returncode == 0, done.stderr
    steps = np.load(tmp_path / "a.npy")
    assert sorted(steps[:, 0]) == sorted(100 * i + turn for i in range(4) for turn in range(20))
    assert (steps == steps[:, :1]).all()


def test_threads_that_wait_for_one_handle_get_the_same(tmp_path):
    values = np.arange(1000.0)
    np.save(tmp_path / "a.npy", values)
    with ps.open(tmp_path / "a.npy") as f:
        handle, got = f.read_begin(...), []
        threads = [threading.Thread(target=lambda: got.append(handle.wait())) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(got) == 4 and all(one is got[0] for one in got) and (got[0] == values).all()


@pytest.mark.ranks
def test_below_the_level_that_it_needs_a_second_thread_is_refused(mpirun):
    """Rank 0 is in a call to which rank 1 comes only when a thread of rank 0 has tried another file."""
    mpirun("import mpi4py\nmpi4py.rc.thread_level = 'serialized'\n" + HEAD + """
import threading
if MPI.Query_thread() != MPI.THREAD_MULTIPLE:
    first, second = (ps.open(name, "w", shape=(size,), dtype="u1", comm=comm) for name in ("first", "second"))
    deadline = time.monotonic() + 60
    def sync_when_allowed():
        while time.monotonic() < deadline:
            try:  # refused, too, while the other thread is in its call
                return first.sync()
            except ps.StateError:
                time.sleep(0.001)
    if rank == 0:
        thread = threading.Thread(target=sync_when_allowed)
        thread.start()
        said = ""
        while not said and time.monotonic() < deadline:
            try:  # refused as soon as the thread is in its call; before, there is no such file
                ps.open("third", "r", comm=MPI.COMM_SELF)
            except ps.StateError as error:
                said = str(error)
            except ps.Error:
                time.sleep(0.001)
        assert "MPI_THREAD_SERIALIZED" in said and "MPI_THREAD_MULTIPLE" in said and "another thread" in said, said
        open("go", "w").close()
        thread.join()
    else:
        while not os.path.exists("go"):
            time.sleep(0.001)
        first.sync()
    second.write(np.array([rank], "u1"), slice(rank, rank + 1))
    assert list(second.read(...)) == [0, 1]
    first.close(); second.close()
""", 2)
