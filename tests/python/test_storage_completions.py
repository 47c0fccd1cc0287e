"""Windows in flight together (io_uring): the same bytes as in sequence, and the errors of each."""

import pytest

from scripts import HEAD

SCRIPT = HEAD + """
shape = (1024, 4096)
at_open = {"active_buffer_size": BUDGET, "storage": STORAGE, "buffer_size": "1M"}
share = ps.distribute(shape, comm, kind=("block", "block"))
s = share.section
local = np.empty(share.local_shape, "i4")
def opened(device, mode="w"):
    return ps.open("a", mode, shape=shape, dtype="i4", comm=comm, container="raw", hints={**at_open, "device": device})
def check(value):
    comm.Barrier()
    whole = np.fromfile("a", "i4").reshape(shape)
    assert (whole % 1000 == value).all(), np.unique(whole % 1000)
    comm.Barrier()
local[...] = 1000 * rank + 1
with opened("") as f:
    f.write(local, s, method="extended", exchange=EXCHANGE)
    f.sync()
    into = np.zeros_like(local)
    f.read(s, out=into, method="extended", exchange=EXCHANGE)
    assert (into == local).all()
    writes = comm.allgather(f.statistics.writes)
    reads = comm.allgather(f.statistics.reads)
check(1)
assert max(writes) >= 4, writes  # several windows
failures = 0
ill = next(r for r in range(size) if min(writes[r], reads[r]) >= 4)
for written, got in (0, 0), (1, 1), (writes[ill] - 1, reads[ill] - 1):
    for what in ("EIO", "short", "EINTR"):
        f = opened(f"fault:write@{written}={what},read@{got}={what},rank={ill}", "r+")
        local[...] = 1000 * rank + 2
        try:
            f.write(local, s, method="extended", exchange=EXCHANGE)
            f.sync()
            error = ""
        except ps.StorageError as failed:
            error = str(failed)
        texts = comm.allgather(error)
        assert len(set(texts)) == 1, texts
        assert (error != "") == (what == "EIO"), (what, error)
        failures += error != ""
        local[...] = 1000 * rank + 3
        f.write(local, s, method="extended", exchange=EXCHANGE)
        f.sync()
        check(3)
        into[...] = 0
        try:
            f.read(s, out=into, method="extended", exchange=EXCHANGE)
            assert (into == local).all()
            error = ""
        except ps.StorageError as failed:
            error = str(failed)
        texts = comm.allgather(error)
        assert len(set(texts)) == 1, texts
        assert what == "EIO" or error == "", error
        f.read(s, out=into, method="extended", exchange=EXCHANGE)
        assert (into == local).all()
        f.close()
assert failures == 3
if rank == 0:
    print("ALL SAID")
"""


@pytest.mark.parametrize("storage", ["uring", "uring-direct"])
@pytest.mark.parametrize("exchange, budget", [("node", "0"), ("sparse", "0"), ("step3", "0"), ("node", "64M"), *(
    pytest.param(exchange, "64M", marks=pytest.mark.slow) for exchange in ("sparse", "step3"))])
def test_windows_under_way_together(mpirun, storage, exchange, budget):
    script = (SCRIPT.replace("STORAGE", repr(storage)).replace("EXCHANGE", repr(exchange))
              .replace("BUDGET", repr(budget)))
    assert "ALL SAID" in mpirun(script, 3)


HOLES = HEAD + """
shape = (256, 4096)
content = np.arange(256 * 4096, dtype="i4").reshape(shape)
if rank == 0:
    content.tofile("a")
comm.Barrier()
hints = {"active_buffer_size": BUDGET, "storage": STORAGE, "buffer_size": "1M", "sieve_writes": SIEVE}
columns = slice(rank * 600, 4096, 2000)  # runs of one element with holes, in all windows
with ps.open("a", "r+", shape=shape, dtype="i4", comm=comm, container="raw", hints=hints) as f:
    f.write(-content[:, columns].copy(), (slice(None), columns), method="extended", exchange="node")
comm.Barrier()
for r in range(size):
    content[:, r * 600:4096:2000] *= -1
assert (np.fromfile("a", "i4").reshape(shape) == content).all()
if rank == 0:
    print("KEPT")
"""


@pytest.mark.parametrize("storage", ["uring", "uring-direct"])
@pytest.mark.parametrize("sieve", ["always", "never"])
@pytest.mark.parametrize("budget", ["0", "64M"])
def test_holes_are_kept(mpirun, storage, sieve, budget):
    script = HOLES.replace("STORAGE", repr(storage)).replace("SIEVE", repr(sieve)).replace("BUDGET", repr(budget))
    assert "KEPT" in mpirun(script, 3)
