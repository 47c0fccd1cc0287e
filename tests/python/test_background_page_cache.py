"""Through the page cache: buffering if the call returns sooner, none if it would only add a copy."""

import numpy as np
import pytest

from scripts import HEAD

SLOW = "paced:bandwidth=8M,page_cache=1"


@pytest.mark.parametrize("ranks, method", [(1, "direct"), (1, "extended"), (3, "direct"), (3, "extended"), (3, "sieved")])
def test_a_blocking_write_is_buffered_if_there_is_room_for_all_of_it(mpirun, ranks, method):
    mpirun(HEAD + f"method = {method!r}" + """
n = 1 << 20
mine, data = slice(rank * n, (rank + 1) * n), np.full(n, rank + 1, "u1")
def buffered(budget, count=1, **how):
    with ps.open("a", "w", shape=(size * n,), dtype="u1", comm=comm, hints={"method": method}) as f:
        for _ in range(count):
            f.write(data, mine, active_buffer_size=budget) if not how else f.write_begin(data, mine, **how).wait()
        f.sync()
        total = comm.allreduce(f.statistics.bytes_buffered)
    if rank == 0:
        assert (np.fromfile("a", "u1").reshape(size, n) == np.arange(1, size + 1)[:, None]).all()
    comm.Barrier()
    return total
assert buffered(4 * n) == size * n
assert buffered(n // 2) == 0  # half of it would wait for the other half
assert buffered(0) == 0
assert buffered(None, background="storage") == buffered(None, background="all") == 0
""", ranks)


@pytest.mark.parametrize("ranks, method", [(1, "extended"), (3, "direct"), (3, "extended")])
def test_a_page_cache_as_slow_as_the_disk_is_buffered_from_then_on(mpirun, ranks, method):
    mpirun(HEAD + f"method, SLOW = {method!r}, {SLOW!r}" + """
n = (4 << 20) // size
mine = slice(rank * n, (rank + 1) * n)
hints = {"device": SLOW, "method": method}
# In a second handle, too: the record is that of the device.
for turn, quick in ((1, False), (2, True)):
    with ps.open("a", "w", shape=(size * n,), dtype="u1", comm=comm, hints=hints) as f:
        for small in (True, False):  # with room for less than all of it, and for all
            comm.Barrier()
            begin = time.perf_counter()
            h = f.write_begin(np.full(n, 10 * turn + rank, "u1"), mine, active_buffer_size=n // 2 if small else 2 * n)
            seconds = comm.allreduce(time.perf_counter() - begin, MPI.MAX)
            if not quick:
                assert seconds > 0.4  # all of it takes 0.5 s
                quick = True
            elif not small:
                assert seconds < 0.25 and not comm.allreduce(h.test(), MPI.LAND)
            h.wait()
        if method != "direct":  # whose bytes go from the array to the file
            assert comm.allreduce(f.statistics.bytes_buffered) > 0
    assert (np.fromfile("a", "u1").reshape(size, n) == 10 * turn + np.arange(size)[:, None]).all()
    comm.Barrier()
""", ranks, timeout=60)


@pytest.mark.parametrize("method", ["direct", "extended"])
def test_an_error_waits_for_wait_all_the_same(mpirun, method):
    mpirun(HEAD + f"method = {method!r}" + """
n = 1 << 16
mine, data = slice(rank * n, (rank + 1) * n), np.ones(n, "u1")
hints = {"device": f"fault:write@0=ENOSPC,rank={size - 1}", "method": method, "aggregators": size}
for follow in ("wait", "write", "close"):
    f = ps.open("a", "w", shape=(size * n,), dtype="u1", comm=comm, hints=hints)
    h = f.write_begin(data, mine)  # written at once, and reported like later writes
    calls = {"wait": h.wait, "write": lambda: f.write(data, mine), "close": f.close}
    error = same(ps.StorageError, "No space left", calls[follow])
    assert error.errno == errno.ENOSPC and error.rank == size - 1, error
    if follow != "wait":  # its bytes are not in the file, whoever got the error first
        same(ps.StorageError, "No space left", h.wait)
    h.wait()
    f.close()
""", 3)


# Drops clean pages; false where they stay (tmpfs has nowhere to bring them), or that cannot be seen.
DROP = """
import os, time
def drop(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        for _ in range(50):
            os.fsync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            try:
                os.preadv(fd, [bytearray(1)], os.fstat(fd).st_size // 2, os.RWF_NOWAIT)
            except BlockingIOError:
                return True
            except OSError:
                return False
            time.sleep(0.02)  # another core may not have put its newest pages on the list yet
        return False
    finally:
        os.close(fd)
"""


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_begun_read_of_what_is_cached_is_done_at_once(mpirun, tmp_path, ranks):
    np.arange(3 << 20, dtype="i4").tofile(tmp_path / "a")
    output = mpirun(HEAD + DROP + """
n = 3 << 20
mine = slice(rank * n // size, (rank + 1) * n // size)
def begun():
    with ps.open("a", shape=(n,), dtype="i4", comm=comm, hints={"method": "extended"}) as f:
        h = f.read_begin(mine)
        done = comm.allreduce(f.statistics.bytes_read)
        assert np.array_equal(h.wait(), np.arange(n, dtype="i4")[mine])
    comm.Barrier()
    return done
assert begun() == 4 * n
# The kernel may keep pages, or bring them back while they are looked for: then once more.
for _ in range(10):
    if not comm.bcast(drop("a") if rank == 0 else None):
        print("keeps its pages")
        break
    if begun() == 0:
        break
else:
    raise AssertionError("what was not cached was never left to wait()")
assert begun() == 4 * n
""", ranks)
    if "keeps its pages" in output:
        pytest.skip("this file system keeps its pages")
