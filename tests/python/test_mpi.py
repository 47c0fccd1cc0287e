"""The Python binding under MPI."""

import os

import pytest

from scripts import SAME

pytestmark = pytest.mark.ranks

HEAD = """
import numpy as np, penstock as ps, pytest
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
"""


@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_all_methods_write_the_same_file(mpirun, tmp_path, ranks):
    mpirun(HEAD + """
whole = np.random.default_rng(0).random((31, 17, 9))
for order in "CF":
    for kind in ("block", ("block", "cyclic", "*"), ("block-cyclic(3)", "*", "cyclic")):
        d = ps.distribute(whole.shape, comm, kind=kind)
        mine = whole[np.ix_(*[[i for i in range(lo, up) if (i - lo) % st < bl] for lo, up, st, bl in d.section.dimensions])]
        for method in ("auto", "direct", "sieved", "gather", "two-phase", "extended"):
            with ps.open("m.npy", "w", shape=whole.shape, dtype="f8", order=order, comm=comm) as f:
                f.write(mine, d, method=method, buffer_size=2048)
            assert np.array_equal(np.load("m.npy"), whole), (order, kind, method)
            with ps.open("m.npy", comm=comm) as f:
                assert np.array_equal(f.read(d, method=method, buffer_size=2048), mine)
            comm.Barrier()
""", ranks)


def test_halo_is_written_in_place_and_left_alone(mpirun):
    mpirun(HEAD + """
d = ps.distribute((40, 40), comm, halo=2)
u = d.empty("f8"); u[...] = -1; u[d.interior] = rank
with ps.open("h.npy", "w", shape=(40, 40), dtype="f8", comm=comm) as f:
    f.write(u, d)
    back = d.empty("f8"); back[...] = -7
    assert f.read(d, out=back) is back
    assert (back[d.interior] == rank).all() and (back == -7).sum() == back.size - d.section.size
    wide = f.read(d.with_halo)
    assert wide.shape == d.local_shape
comm.Barrier()
assert (np.load("h.npy") >= 0).all()
""", 4)


def test_errors_are_the_same_everywhere_and_nothing_hangs(mpirun):
    mpirun(HEAD + SAME + """
last = rank == size - 1
with ps.open("e.npy", "w", shape=(8, 8), dtype="f8", comm=comm) as f:
    d = ps.distribute(f.shape, comm)
    f.write(np.ones(d.section.shape), d)
    good, bad = np.zeros(d.section.shape), np.zeros(3)
    same(ps.ArgumentError, "rank 2: 'e.npy', write: array has shape", lambda: f.write(bad if last else good, d))
    same(ps.ArgumentError, "complex128 cannot become float64", lambda: f.write(good.astype("c16") if last else good, d))
    same(ps.SectionError, "out of the array", lambda: f.write(good, (99, 0) if last else d))
    same(ps.SectionError, "rank 2.*stride 0", lambda: f.read((slice(0, 4, 0), 0) if last else d))
    same(ps.ArgumentError, "not writable", lambda: f.read((0, 0), out=np.broadcast_to(0.0, ()) if last else None))
    same(ps.DisagreementError, "method.*rank 2 passed direct", lambda: f.write(good, d, method="direct" if last else "auto"))
    same(ps.DisagreementError, "the operation", lambda: f.read(d) if last else f.write(good, d))
    f.write(None, None)
    assert np.array_equal(f.read((0, slice(None))), np.ones(8))
assert same(ps.StorageError, "No such file", lambda: ps.open("no/such.npy", "w", shape=(2,), dtype="f8", comm=comm)).errno == 2
same(ps.DisagreementError, "shape.*rank 2", lambda: ps.open("e.npy", "w", shape=(2 + last,), dtype="f8", comm=comm))
same(ps.ArgumentError, "known are r, ", lambda: ps.open("e.npy", "rw" if last else "r", comm=comm))
same(ps.ArgumentError, "Python objects", lambda: ps.open("e.npy", "w", shape=(2,), dtype=object if last else "f8", comm=comm))
freed = comm.Dup(); freed.Free()
with pytest.raises(ps.ArgumentError, match="freed"):
    ps.open("e.npy", comm=freed)
assert np.load("e.npy").all()
""", 3)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to take a right away from one rank")
def test_a_path_that_one_rank_cannot_open(mpirun):
    mpirun(HEAD + """
import os
os.makedirs("closed", mode=0o700, exist_ok=True)
np.save("closed/old.npy", np.ones(4)) if rank == 0 else None
comm.Barrier()
if rank == 1: os.seteuid(65534)
for name, mode in (("new.npy", "w"), ("old.npy", "w"), ("old.npy", "r")):
    with pytest.raises(ps.StorageError, match="rank 1: cannot open.*Permission denied.*check the permissions") as caught:
        ps.open("closed/" + name, mode, shape=(4,), dtype="f8", comm=comm)
    assert caught.value.errno == 13 and caught.value.rank == 1
os.seteuid(0)
assert not os.path.exists("closed/new.npy")
assert np.load("closed/old.npy").all()
""", 3)


def test_sub_communicators_work_side_by_side(mpirun):
    mpirun(HEAD + """
color = rank % 2
group = comm.Split(color, rank)
with ps.open(f"g{color}.npy", "w", shape=(20, 6), dtype="i4", comm=group) as f:
    d = ps.distribute(f.shape, group, kind=("cyclic", "*"))
    f.write(np.full(d.section.shape, group.rank, "i4"), d)
comm.Barrier()
assert np.array_equal(np.load(f"g{color}.npy")[:, 0], np.arange(20) % group.size)
if rank == 0:
    with ps.open("self.npy", "w", shape=(3,), dtype="f8", comm=MPI.COMM_SELF) as f:
        f.write(np.arange(3.0), ...)
""", 4)


def test_other_threads_run_during_a_call(mpirun):
    """The GIL is released: a Python thread makes progress while rank 0 waits for rank 1."""
    mpirun(HEAD + """
import threading, time
with ps.open("gil.npy", "w", shape=(4,), dtype="f8", comm=comm) as f:
    if rank == 0:
        ticks = []
        stop = threading.Event()
        def tick():
            while not stop.wait(0.01): ticks.append(1)
        thread = threading.Thread(target=tick); thread.start()
        before = len(ticks)
        f.write(np.ones(2), (slice(0, 2),))
        during = len(ticks) - before
        stop.set(); thread.join()
        assert during >= 5, during
    else:
        time.sleep(0.5)
        f.write(np.ones(2), (slice(2, 4),))
""", 2)
