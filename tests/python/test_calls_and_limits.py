"""Calls with other hints than the call before, without locks, under limits, and values at theirs."""

import numpy as np
import pytest

import penstock as ps
from scripts import HEAD

SMALL_THEN_LARGE = HEAD + """
n = 2000
m = np.arange(n) * 1.0
how = dict(method="two-phase", exchange="node", aggregators=2, pipeline="never")
with ps.open("s", "w", shape=(n,), dtype="f8", comm=comm, container="raw") as f:
    f.write(m if rank == 0 else None, ... if rank == 0 else None, method="direct", active_buffer_size=0)
    for small in "16K", "32K", "48K":
        f.read(slice(rank, 100, 2), buffer_size=small, **how)
        for i in range(0, n - 100, 7):
            w = slice(i + rank, i + 100, size)
            assert (f.read(w, **how) == m[w]).all(), i
            f.write(m[w] + 1, w, active_buffer_size=0, **how)
            f.write(m[w], w, active_buffer_size=0, buffer_size=small, **how)
    assert (f.read(...) == m).all()
"""


@pytest.mark.parametrize("ranks", [2, 4])
def test_a_larger_buffer_after_a_small_one(mpirun, ranks):
    mpirun(SMALL_THEN_LARGE, ranks)


WITHOUT_LOCKS = HEAD + """
n = 4000
for i in range(30):
    with ps.open("l", "w", shape=(n,), dtype="f8", comm=comm, container="raw") as f:
        f.write(np.full(n, -1.0) if rank == 0 else None, ... if rank == 0 else None)
        mine = slice(rank, None, size + 1)
        f.write(np.full(len(range(n)[mine]), float(rank)), mine, method="sieved", locks="never",
                sieve_writes=SIEVE, active_buffer_size=0)
        expected = np.arange(n) % (size + 1)
        assert (f.read(...) == np.where(expected == size, -1, expected)).all()
"""


@pytest.mark.parametrize("sieve_writes", ["auto", "always"])
def test_ranks_of_a_call_do_not_sieve_over_each_other(mpirun, sieve_writes):
    mpirun(WITHOUT_LOCKS.replace("SIEVE", repr(sieve_writes)), 3)


FILE_LIMIT = HEAD + """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
for budget in "64M", "0":
    for shape in (100,), (100_000,):
        with ps.open("small.npy", "w", shape=shape, dtype="f8", comm=comm, hints={"active_buffer_size": budget}) as f:
            d = ps.distribute(shape, comm)
            f.write(np.full(d.local_shape, rank + 1.0), d)
            f.sync()
            assert (f.read(d) == rank + 1).all()
    error = ""
    try:
        with ps.open("large.npy", "w", shape=(1 << 20,), dtype="f8", comm=comm,
                     hints={"active_buffer_size": budget}) as f:
            d = ps.distribute(f.shape, comm)
            f.write(np.full(d.local_shape, rank + 1.0), d)
            f.sync()
    except ps.StorageError as failed:
        error = str(failed)
    assert "File too large" in error and "ulimit -f" in error, error
"""


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_limit_of_file_sizes_is_none_of_memory(mpirun, ranks):
    mpirun(FILE_LIMIT, ranks)


ZERO_IN_PATH = HEAD + """
for name in "a\\0b.npy", "a\\0b", "a\\0.h5":
    for mode in "w", "r":
        for replace in (False, True) if mode == "w" else (False,):
            try:
                ps.open(name, mode, shape=(3,), dtype="f8", comm=comm, replace=replace,
                        **({"dataset": "u"} if name.endswith("h5") else {}))
            except ps.ArgumentError as error:
                assert "byte 0" in str(error), error
            else:
                assert False, name
comm.Barrier()
assert os.listdir() == ["script.py"], os.listdir()
"""


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_byte_0_ends_no_path(mpirun, ranks):
    mpirun(ZERO_IN_PATH, ranks)


def test_a_byte_0_on_one_rank(mpirun):
    mpirun(ZERO_IN_PATH.replace('for name in "a', 'for name in "b.npy" if rank == 0 else "a'), 2)


def test_a_byte_0_in_a_path_of_one_process(tmp_path):
    with pytest.raises(ps.ArgumentError, match="byte 0"):
        ps.save(str(tmp_path / "a\0b.npy"), np.zeros(3))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("number", [1 << 64, -(1 << 63) - 1])
def test_integers_that_zarr_would_round_are_refused(tmp_path, number):
    how = {"shape": (4,), "dtype": "f8"}
    with ps.open(tmp_path / "z.zarr", "w", **how) as f:
        f.attrs.update(largest=(1 << 64) - 1, least=-(1 << 63))
        with pytest.raises(ps.ArgumentError, match="'seed'.*64 bits"):
            f.attrs["seed"] = number
        with pytest.raises(ps.ArgumentError, match=r"'list'\[1\]"):
            f.attrs["list"] = [1, number]
    with ps.open(tmp_path / "z.zarr") as f:
        assert dict(f.attrs) == {"largest": (1 << 64) - 1, "least": -(1 << 63)}
    with pytest.raises(ps.ArgumentError, match="64 bits"):
        ps.open(tmp_path / "y.zarr", "w", attributes={"seed": number}, **how)
    with ps.open(tmp_path / "n.npy", "w", **how) as f:
        f.attrs["seed"] = number
    with ps.open(tmp_path / "n.npy") as f:
        assert f.attrs["seed"] == number
