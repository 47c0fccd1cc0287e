"""Exact counts on any machine, however noisy: these protect performance."""

import json
import os

import pytest

pytestmark = pytest.mark.ranks

SCRIPT = """
import json
import os
import numpy as np
from mpi4py import MPI
import penstock as ps

comm = MPI.COMM_WORLD
operation, kind, hints = WHAT
at_open = {name: hints.pop(name) for name in ("ranks_per_node", "storage") if name in hints}
share = ps.distribute((256, 256), comm, kind.split(","))
with ps.open("a.bin", "w", shape=(256, 256), dtype="i4", comm=comm, container="raw", hints=at_open) as f:
    local = np.full(share.local_shape, comm.rank + 1, "i4")
    calls = []
    for _ in range(3):
        if operation == "write":
            f.write(local, share, **hints)
        else:
            f.read(share, out=local, **hints)
        calls.append(comm.gather(vars(f.last_call)))
    if comm.rank == 0:
        print(json.dumps(calls))
"""
BYTES = 256 * 256 * 4
# The request descriptor of a block of two dimensions: its place, and a repetition (count, step) of a run (length), each
# after a word with its kind. A node proxy puts two words before each of its ranks.
TOLD = (1 + 3 + 2) * 8
JOINED = TOLD + 2 * 8
STEPS = ["step1", "step2", "step3", "step4", "step5", "alltoallw"]


@pytest.fixture
def count(mpirun):
    """count(ranks, operation, hints...): totals over the ranks, and each rank's, of three like calls."""

    def run(ranks, operation, *hints, kind="block,block"):
        # A call's counts exclude the I/O thread: without one, they include everything.
        settings = dict(word.split("=") for word in ("method=extended", "active_buffer_size=0", *hints))
        output = mpirun(SCRIPT.replace("WHAT", repr((operation, kind, settings))), ranks)
        calls = json.loads(next(line for line in output.splitlines() if line.startswith("[[")))
        return [{name: sum(rank[name] for rank in call) for name in call[0]} for call in calls], calls

    return run


@pytest.mark.parametrize("operation", ["write", "read"])
@pytest.mark.parametrize("exchange", ["node", "sparse", *STEPS])
def test_each_byte_moves_once(count, operation, exchange):
    totals, _ = count(4, operation, f"exchange={exchange}", "aggregators=2", "buffer_size=64K")
    last = totals[-1]
    assert last["bytes_read" if operation == "read" else "bytes_written"] == BYTES
    assert last["bytes_written" if operation == "read" else "bytes_read"] == 0
    if exchange == "node":
        assert last["messages"] == last["bytes_sent"] == 0
    else:  # two of the four ranks are aggregators and own half of what they stage
        assert last["bytes_sent"] == BYTES // 2 + 2 * TOLD
    assert last["sieved_windows"] == 0


@pytest.mark.parametrize("exchange", ["node", "step5"])
def test_nothing_is_allocated_after_the_first_call(count, exchange):
    totals, _ = count(4, "write", f"exchange={exchange}", "buffer_size=64K")
    assert totals[0]["allocations"] > 0
    assert totals[1]["allocations"] == totals[2]["allocations"] == 0


def test_ranks_of_a_node_meet_twice_a_call(count):
    _, calls = count(4, "write", "exchange=node", "buffer_size=64K")
    assert {rank["synchronisations"] for rank in calls[-1]} == {2}


def test_messages_grow_with_nodes_and_not_with_ranks(count):
    """Cyclic by element: every rank has bytes in every window."""
    hints = ("aggregators=1", "buffer_size=64K")
    bundled, _ = count(4, "write", "exchange=node", "ranks_per_node=2", *hints, kind="*,cyclic")
    single, _ = count(4, "write", "exchange=sparse", *hints, kind="*,cyclic")
    # One other node, whose two ranks have half of the bytes: a descriptor, and a message per window.
    assert bundled[-1]["bytes_sent"] == BYTES // 2 + 2 * JOINED
    assert bundled[-1]["messages"] == 1 + BYTES // (64 * 1024 // 4) // 2 * 2
    assert single[-1]["bytes_sent"] == BYTES * 3 // 4 + 3 * TOLD
    assert single[-1]["messages"] > bundled[-1]["messages"]


@pytest.mark.parametrize("exchange", ["node", "sparse", *STEPS])
def test_telling_aggregators_counts_with_every_exchange(count, exchange):
    """One aggregator, one round: each other rank sends it a descriptor and one message. Ranks that share no memory
    with others do the same, whatever exchange was asked for."""
    hints = (f"exchange={exchange}", "aggregators=1", "buffer_size=1M", "pipeline=never", "ranks_per_node=1")
    totals, calls = count(4, "write", *hints, kind="*,cyclic")
    assert [rank["messages"] for rank in calls[-1]] == [0, 2, 2, 2]
    assert [rank["bytes_sent"] for rank in calls[-1]] == [0] + [BYTES // 4 + TOLD] * 3


def test_a_proxy_tells_for_its_node(count):
    """Three ranks on two nodes: the second rank's descriptor is in memory shared with the aggregator."""
    hints = ("exchange=node", "aggregators=1", "buffer_size=1M", "pipeline=never", "ranks_per_node=2")
    _, calls = count(3, "write", *hints, kind="cyclic,*")
    assert [rank["messages"] for rank in calls[-1]] == [0, 0, 2]
    assert [rank["bytes_sent"] for rank in calls[-1]] == [0, 0, 85 * 256 * 4 + JOINED]


@pytest.mark.parametrize("operation", ["write", "read"])
def test_two_nodes_of_two(count, operation):
    totals, calls = count(4, operation, "exchange=node", "ranks_per_node=2", "aggregators=2", "buffer_size=64K",
                          kind="*,cyclic")
    assert totals[-1]["bytes_sent"] == BYTES // 2 + 2 * 2 * JOINED
    assert all(rank["staging_peak"] <= 2 * 64 * 1024 for rank in calls[-1])


def test_system_calls_are_few_and_large(count):
    totals, _ = count(4, "write", "exchange=node", "aggregators=2", "buffer_size=64K", "pipeline=never")
    assert totals[-1]["writes"] == BYTES // (64 * 1024)
    totals, _ = count(4, "read", "exchange=node", "aggregators=2", "buffer_size=64K", "pipeline=never")
    assert totals[-1]["reads"] == BYTES // (64 * 1024)


def test_memory_of_a_rank_does_not_grow_with_ranks(count):
    for ranks in (4, 16):
        _, calls = count(ranks, "write", "exchange=node", "buffer_size=64K")
        assert max(rank["staging_peak"] for rank in calls[-1]) <= 2 * 64 * 1024
        # A rank that aggregates nothing holds no staging memory.
        assert min(rank["staging_peak"] for rank in calls[-1]) == 0


SEVERAL_FILES = """
import numpy as np
from mpi4py import MPI
import penstock as ps

comm = MPI.COMM_WORLD
share = ps.distribute((256, 256), comm, ("*", "block"))

def write(name, buffer_size):
    with ps.open(name, "w", shape=(256, 256), dtype="i4", comm=comm, container="raw", hints={"active_buffer_size": 0}) as f:
        f.write(np.full(share.local_shape, comm.rank + 1, "i4"), share, exchange="node", buffer_size=buffer_size)
    comm.Barrier()
    with open("/proc/self/maps") as maps:
        return {line.split()[0] for line in maps if "/memfd:penstock-common" in line}

write("a.bin", "64K")  # makes what the communicator's files share, too
first = write("a.bin", "64K")
assert first and write("b.bin", "64K") == first and write("b.bin", "32K") == first
assert write("c.bin", "128K") != first  # a larger one in place of it
larger = write("c.bin", "128K")
assert len(larger) == len(first) and write("d.bin", "64K") == larger
assert len(write("e.bin", 64 << 20)) == len(first)  # as large as is needed, not as the buffer may be
for name in "abcde":
    assert (np.fromfile(name + ".bin", "i4").reshape(256, 2, 128) == [[1], [2]]).all()
"""


def test_the_next_file_of_a_communicator_has_the_staging_memory_of_the_one_before(mpirun):
    mpirun(SEVERAL_FILES, 2)


KILLED = """
import os, signal
import numpy as np
from mpi4py import MPI
import penstock as ps

comm = MPI.COMM_WORLD
f = ps.open("a.bin", "w", shape=(256, 256), dtype="i4", comm=comm, container="raw")
share = ps.distribute((256, 256), comm, ("block", "block"))
f.write(np.zeros(share.local_shape, "i4"), share, exchange="node")
comm.Barrier()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_run_leaves_nothing_in_shared_memory(mpirun):
    before = set(os.listdir("/dev/shm"))
    mpirun(KILLED, 2, expect=None)
    assert not [name for name in set(os.listdir("/dev/shm")) - before if "penstock" in name]
