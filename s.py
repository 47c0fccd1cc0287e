
import errno, gc, os, signal, sys, time, traceback
import numpy as np
import penstock as ps
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
def ended(*what):  # at once, for all ranks: the others may be waiting for this one
    traceback.print_exception(*what)
    sys.stderr.flush()
    comm.Abort(1)
sys.excepthook = ended

import pytest
def same(kind, words, call):
    with pytest.raises(kind, match=words) as caught:
        call()
    texts = comm.allgather(str(caught.value))
    assert len(set(texts)) == 1, texts
    return caught.value

shape = (1024, 4096)
at_open = {"active_buffer_size": '64M', "storage": 'uring', "buffer_size": "1M"}
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
    f.write(local, s, method="extended", exchange='node')
    f.sync()
    into = np.zeros_like(local)
    f.read(s, out=into, method="extended", exchange='node')
    assert (into == local).all()
    writes = comm.allgather(f.statistics.writes)
check(1)
if rank==0: print(writes, file=sys.stderr)
print(rank, f.statistics.reads, file=sys.stderr)
assert max(writes) >= 4, writes  # several windows
failures = 0
for at in (0, 1, max(writes) - 1):
    for what in ("EIO", "short", "EINTR"):
        f = opened(f"fault:write@{at}={what},read@{at}={what},rank={int(np.argmax(writes))}", "r+")
        local[...] = 1000 * rank + 2
        try:
            f.write(local, s, method="extended", exchange='node')
            f.sync()
            error = ""
        except ps.StorageError as failed:
            error = str(failed)
        texts = comm.allgather(error)
        assert len(set(texts)) == 1, texts
        assert (error != "") == (what == "EIO"), (what, error)
        failures += error != ""
        local[...] = 1000 * rank + 3
        f.write(local, s, method="extended", exchange='node')
        f.sync()
        check(3)
        into[...] = 0
        try:
            f.read(s, out=into, method="extended", exchange='node')
            assert (into == local).all()
            error = ""
        except ps.StorageError as failed:
            error = str(failed)
        texts = comm.allgather(error)
        assert len(set(texts)) == 1, texts
        assert what == "EIO" or error == "", error
        f.read(s, out=into, method="extended", exchange='node')
        assert (into == local).all()
        f.close()
assert failures == 3
if rank == 0:
    print("ALL SAID")
