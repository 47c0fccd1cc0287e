"""device="paced:...": the modelled speed of a shared file system, for all ranks together."""

import time

import numpy as np
import pytest

import penstock as ps

# Ranks write blocks of rows of one array, and read them back; the times are those of the slowest.
THREE_RANKS = """
import time
import numpy as np
import penstock as ps
from mpi4py import MPI
comm = MPI.COMM_WORLD
total, rate = 3 << 20, 6 << 20
rows = slice(256 * comm.rank, 256 * (comm.rank + 1))
u = np.arange(768 * 512, dtype="f8").reshape(768, 512)[rows]
def timed(work):
    comm.Barrier()
    begin = time.perf_counter()
    work()
    return comm.allreduce(time.perf_counter() - begin, MPI.MAX)
with ps.open("a.npy", "w", shape=(768, 512), dtype="f8", comm=comm, hints=HINTS) as f:
    assert f.hints["device"] == HINTS["device"] and f.device == "paced: 6 MiB/s shared (page cache)", f.device
    wrote = timed(lambda: f.write(u, (rows, ...)))
    got = np.zeros_like(u)
    read = timed(lambda: f.read((rows, ...), out=got))
    assert np.array_equal(got, u)
if comm.rank == 0:
    assert np.array_equal(np.load("a.npy"), np.arange(768 * 512, dtype="f8").reshape(768, 512))
    for name, seconds in ("write", wrote), ("read", read):
        assert 0.95 * total / rate <= seconds <= 2 * total / rate, (name, seconds)
    print("as modelled")
"""


@pytest.mark.parametrize("hints", [
    {"method": "direct"},
    {"method": "extended", "aggregators": 3, "exchange": "sparse"},
    {"method": "direct", "ranks_per_node": 1},  # several nodes of one machine: still one disk
])
def test_ranks_share_the_bandwidth(mpirun, hints):
    # A write should take as long as its accesses.
    hints = {**hints, "device": "paced:bandwidth=6M", "active_buffer_size": 0}
    script = THREE_RANKS.replace("HINTS", repr(hints))
    assert "as modelled" in mpirun(script, 3)


def test_every_open_has_its_own_clock(tmp_path):
    hints = {"device": "paced:bandwidth=10M,latency=1ms", "active_buffer_size": 0}
    with ps.open(tmp_path / "a", "w", shape=(1 << 20,), dtype="u1", hints=hints) as f:
        begin = time.perf_counter()
        f.write(np.ones(1 << 20, "u1"), ...)
        assert time.perf_counter() - begin >= 0.1
        assert f.device == "paced: 10 MiB/s shared, 1 ms a request (page cache)"
    with ps.open(tmp_path / "a", "r", shape=(1 << 20,), dtype="u1") as f:
        assert f.device == "page cache" and np.all(f.read(...) == 1)


def test_direct_io_is_told_where_it_is_used(tmp_path):
    with ps.open(tmp_path / "a", "w", shape=(9,), dtype="u1", hints={"storage": "direct"}) as f:
        assert f.device == ("O_DIRECT" if f.file_system["direct_alignment"] else "page cache")


@pytest.mark.parametrize("device, words", [
    ("paced:speed=1", "'speed' is not known; known are bandwidth"),
    ("paced:bandwidth=1M+paced:latency=1ms", "paced twice"),
    ("paced:bandwidth=1M+nonsense", "'nonsense'.*is not known; known are paced:... and fault:"),
    ("paced:+", "device ''"), ("slow", "device 'slow' is not known"),
    ("paced:+fault:write@0", "'write@0' is not understood"),
])
def test_bad_specifications_are_refused(tmp_path, device, words):
    with pytest.raises(ps.ArgumentError, match=words):
        ps.open(tmp_path / "a", "w", shape=(9,), dtype="u1", hints={"device": device})
    assert not (tmp_path / "a").exists()


def test_ranks_fail_together(mpirun):
    output = mpirun("""
import penstock as ps
from mpi4py import MPI
comm = MPI.COMM_WORLD
def fails(kind, words, *devices):
    try:
        ps.open("a", "w", shape=(9,), dtype="u1", comm=comm, hints={"device": devices[comm.rank]})
    except kind as error:
        assert words in str(error), error
    else:
        raise AssertionError(devices)
fails(ps.ArgumentError, "paced", *3 * ["paced:latency=fast"])
fails(ps.ArgumentError, "latency", "paced:", "paced:latency=fast", "paced:")
fails(ps.DisagreementError, "device", "paced:", "paced:", "")
fails(ps.DisagreementError, "device", "paced:latency=1ms", "paced:", "paced:")
print("all failed")
""", 3)
    assert output.count("all failed") == 3


def test_faults_lie_below_the_pace(mpirun):
    output = mpirun("""
import time
import numpy as np
import penstock as ps
from mpi4py import MPI
comm = MPI.COMM_WORLD
for device in ("paced:bandwidth=5M+fault:write@0+=ENOSPC,rank=1", "fault:write@0+=ENOSPC,rank=1+paced:bandwidth=5M"):
    with ps.open("a", "w", shape=(2, 1 << 20), dtype="u1", comm=comm, hints={"device": device, "method": "direct", "active_buffer_size": 0}) as f:
        assert f.device == "paced: 5 MiB/s shared (page cache), with faults on purpose"
        begin = time.perf_counter()
        try:
            f.write(np.ones((1, 1 << 20), "u1"), (slice(comm.rank, comm.rank + 1), slice(None)))
        except ps.StorageError as error:
            assert error.errno == 28 and error.rank == 1, error
            assert time.perf_counter() - begin >= 0.95 * 0.4  # that which failed took its time too
            print("disk full")
""", 2)
    assert output.count("disk full") == 4
