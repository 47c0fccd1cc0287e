"""What the ranks of test_hosts.py run:  program.py TASK FOLDER"""

import os
import socket
import sys
import time
from pathlib import Path

import numpy as np
import penstock as ps
from mpi4py import MPI

SHAPE = (64, 96)
comm = MPI.COMM_WORLD
# A node exchange in windows of the same bytes, however many ranks a host has: aggregators times rounds.
AGGREGATORS, ROUNDS, WINDOW = 2, 3, 8192


def part(rank: int):
    """Every rank has some elements of every row, so that all hosts have something in every window."""
    return slice(None), slice(rank, None, comm.size)


def arrays(folder: Path) -> None:
    """Writes and reads by every exchange, with and without the background; each rank checks others' parts."""
    whole = np.arange(np.prod(SHAPE), dtype="f8").reshape(SHAPE)
    mine, other = part(comm.rank), part((comm.rank + 1) % comm.size)
    for exchange in ("auto", "node", "sparse", "step1", "step3", "step5", "alltoallw"):
        for size in ("auto", "4K"):
            path = folder / f"{exchange}-{size}.npy"
            hints = {"exchange": exchange, "buffer_size": size, "method": "extended"}
            with ps.open(path, "w", shape=SHAPE, dtype="f8", comm=comm, hints=hints) as f:
                f.write(whole[mine], mine)
                assert np.array_equal(f.read(other), whole[other])
                f.write_begin(-whole[mine], mine).wait()
                reading = f.read_begin(other)
                assert np.array_equal(reading.wait(), -whole[other])
                assert np.array_equal(f.read((slice(None), 5)), -whole[:, 5])
            assert np.array_equal(np.load(path), -whole)


def messages(folder: Path) -> None:
    """Prints what all ranks together send in a write and in a read, in one round and in several."""
    mine = part(comm.rank)
    for rounds, buffer_size in ((1, "1M"), (ROUNDS, 2 * WINDOW)):  # of which half is for a window
        shape = (AGGREGATORS * rounds, WINDOW // 8)
        with ps.open(folder / f"{rounds}.bin", "w", shape=shape, dtype="f8", comm=comm) as f:
            hints = {"method": "extended", "exchange": "node", "aggregators": AGGREGATORS, "pipeline": "never",
                     "buffer_size": buffer_size, "active_buffer_size": 0}
            local = np.full((shape[0], len(range(*mine[1].indices(shape[1])))), comm.rank, "f8")
            f.write(local, mine, **hints)
            sent = comm.allreduce(f.last_call.messages)
            assert np.array_equal(f.read(mine, **hints), local)
            fetched = comm.allreduce(f.last_call.messages)
        if comm.rank == 0:
            print(f"{rounds} rounds: {sent} and {fetched} messages")


def steps(folder: Path) -> None:
    """Writes and reads until a file `stop` exists; the file `step` has the number of the current step."""
    mine, other = part(comm.rank), part((comm.rank + 1) % comm.size)
    with ps.open(folder / "steps.npy", "w", shape=SHAPE, dtype="f8", comm=comm) as f:
        step = 0
        while not comm.bcast((folder / "stop").exists()):
            step += 1
            f.write(np.full((SHAPE[0], len(range(*mine[1].indices(SHAPE[1])))), step + comm.rank / 100), mine)
            back = f.read(other)
            assert (back == step + (comm.rank + 1) % comm.size / 100).all()
            if comm.rank == 0:
                (folder / "new").write_text(str(step))
                os.replace(folder / "new", folder / "step")
    whole = np.load(folder / "steps.npy")
    assert all((whole[part(rank)] == step + rank / 100).all() for rank in range(comm.size))
    if comm.rank == 0:
        print("right after", step, "steps")


def waiting(folder: Path) -> None:
    """The ranks of host2 never come to write 3."""
    with ps.open(folder / "x.npy", "w", shape=SHAPE, dtype="f8", comm=comm) as f:
        local = np.zeros((SHAPE[0], len(range(*part(comm.rank)[1].indices(SHAPE[1])))))
        for write in (1, 2, 3):
            if write == 3 and socket.gethostname() == "host2":
                (folder / f"new-{comm.rank}").write_text(str(os.getpid()))
                os.replace(folder / f"new-{comm.rank}", folder / f"absent-{comm.rank}")
                time.sleep(600)
            f.write(local, part(comm.rank))


def private(_: Path) -> None:
    """The same path is a different file on every host: one that does not exist yet, and one that exists on all."""
    path = "/dev/shm/there.npy"
    np.save(f"{path}-{comm.rank}.npy", np.zeros(SHAPE))
    os.replace(f"{path}-{comm.rank}.npy", path)  # by all ranks of a host: one is the last
    comm.Barrier()
    for mode, name in (("w", "/dev/shm/new.npy"), ("r", path)):
        try:
            ps.open(name, mode, comm=comm, **({"shape": SHAPE, "dtype": "f8"} if mode == "w" else {})).close()
            refused = False
        except ps.DisagreementError:
            refused = True
        everywhere = comm.allgather(refused)
        if comm.rank == 0:
            print(mode, "refused" if all(everywhere) else f"taken on {everywhere.count(False)} ranks")


if __name__ == "__main__":
    {task.__name__: task for task in (arrays, messages, steps, waiting, private)}[sys.argv[1]](Path(sys.argv[2]))
