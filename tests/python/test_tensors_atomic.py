"""Checkpoints are complete or absent: killed programs, failing devices, saves in the background."""

import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import penstock as ps
import pytest

from conftest import environment, find_mpiexec, kill_session
from scripts import HEAD

pytest.importorskip("safetensors")

#: Saves generation after generation of 2 MiB in 60 tensors, and prints which are in place.
ENDLESS = HEAD + """
import itertools
kind, where = sys.argv[1:]
processes = comm.gather(os.getpid())
if rank == 0:
    print(*processes, flush=True)
folder = ps.Checkpoints(where, comm=comm, keep=2, checksums=True, stage="ssd" if kind == "staged" else None)
rows = slice(64 * rank, 64 * (rank + 1))
for generation in itertools.count():
    shape = (64 * size, 70)
    mine = {f"t{i}": ps.Shard(np.full((64, 70), generation, "f4"), (rows, slice(None)), shape) for i in range(60)}
    mine["generation"] = np.array(generation)
    wait = generation % 3 != 2
    if kind in ("folder", "staged"):
        handle = folder.save(generation, mine, wait=wait)
    else:
        handle = ps.save_tensors(where, mine, comm=comm, checksums=True, wait=wait, max_file_size=kind == "index" and "500K" or None)
    if not wait:
        handle.wait()
    if rank == 0:
        print(generation, flush=True)
"""


def whole_generation(path):
    """The generation, the same in all tensors of a checkpoint."""
    ps.verify_tensors(path)
    found = ps.load_tensors(path)
    values = {value for array in found.values() for value in np.unique(array)}
    assert len(found) == 61 and len(values) == 1, values
    return int(values.pop())


def kill_one_while_it_saves(folder, kind, where, seconds):
    """Kills a random rank after that time; the last generation that was in place before."""
    (folder / "script.py").write_text(ENDLESS)
    process = subprocess.Popen([find_mpiexec(), "-n", "2", sys.executable, "script.py", kind, where], cwd=folder, env=environment(),
                               text=True, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        ranks = [int(word) for word in process.stdout.readline().split()]
        last = int(process.stdout.readline())
        time.sleep(seconds)
        os.kill(random.choice(ranks), signal.SIGKILL)
        for line in process.stdout:  # the launcher has its say, too
            last = int(line) if line.strip().isdigit() else last
    finally:
        kill_session(process.pid)
        process.wait()
    return last


def check_kills(folder, kinds):
    for number, kind in enumerate(kinds):
        where = kind if kind in ("file", "index") else f"{number} {kind}"
        last = kill_one_while_it_saves(folder, kind, where, random.uniform(0, 0.3))
        if kind in ("file", "index"):
            # The one that was printed last, or one that was in place and not printed yet.
            assert last <= whole_generation(folder / where) <= last + 1, (number, kind)
            continue
        steps = ps.Checkpoints(folder / where, keep=2, stage=folder / "ssd" if kind == "staged" else None)
        latest = steps.latest()
        steps.load()  # brings it to its place
        assert last <= latest <= last + 1 and whole_generation(steps.path(latest)) == latest, (number, kind)
        assert 1 <= len(steps.steps()) <= 3
        steps.save(latest + 1, {"generation": np.array(1)})  # what was left over goes
        assert sorted(os.listdir(folder / where)) == sorted(os.path.basename(steps.path(at)) for at in (latest, latest + 1))


def test_a_killed_rank_leaves_a_whole_checkpoint(tmp_path):
    check_kills(tmp_path, ["file", "file", "folder", "index", "staged", "staged"])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["file", "folder", "index", "staged"])
def test_ranks_killed_at_a_hundred_moments(tmp_path, kind):
    check_kills(tmp_path, [kind] * 34)


@pytest.mark.parametrize("ranks", (1, 3))
def test_saves_that_go_on_in_the_background(mpirun, ranks):
    mpirun(HEAD + """
rows = slice(50 * rank, 50 * (rank + 1))
local = np.full((50, 1000), 1, "f4")
def tensors():
    return {"a": ps.Shard(local, rows, (50 * size, 1000)), "b": np.ones(3)}
def value():
    found = ps.load_tensors("x", comm=comm)
    assert len(set(found["a"].flat)) == 1
    return found["a"][0, 0]
total = 200_000 * size
slow = {"device": f"paced:bandwidth={total}"}
ps.save_tensors("x", tensors(), comm=comm)
local[:] = 2
begin = time.perf_counter()
handle = ps.save_tensors("x", tensors(), comm=comm, hints=slow, wait=False)
local[:] = 3  # the arrays are free
assert not handle.test() and handle.progress < 1 and time.perf_counter() - begin < 0.9
comm.Barrier()
if rank == 0:
    assert ps.load_tensors("x", ["a"])["a"][0, 0] == 1  # the old one is there
comm.Barrier()
while not handle.test():
    assert 0 <= handle.progress <= 1
    time.sleep(0.01)
assert handle.progress == 1
handle.wait()
handle.wait()
assert value() == 2 and time.perf_counter() - begin > 0.9
# The next call with the communicator makes up for a wait; a bound on the buffer is kept.
ps.save_tensors("x", tensors(), comm=comm, wait=False)
assert value() == 3
local[:] = 4
handle = ps.save_tensors("x", tensors(), comm=comm, hints={**slow, "active_buffer_size": 50_000, "buffer_size": 20_000}, wait=False)
assert handle._files[0][0].statistics.buffer_peak <= 70_000, handle._files[0][0].statistics
local[:] = 5
ps.save_tensors("x", tensors(), comm=comm, wait=False).wait()
assert value() == 5
# What goes wrong is raised by wait, or by the next call, and the old one stays.
lates = [lambda handle: handle.wait(), lambda handle: value(), lambda handle: ps.save_tensors("x", tensors(), comm=comm)]
for late, fault in [(late, "write@0=ENOSPC") for late in lates] + [(late, "sync@0=EIO") for late in lates[:1]]:
    handle = ps.save_tensors("x", tensors(), comm=comm, hints={"device": f"fault:{fault},rank={size - 1}"}, wait=False)
    error = same(ps.StorageError, "'x' is left as it was", lambda: late(handle))
    assert error.errno == (28 if "write" in fault else 5) and value() == 5
    handle.wait()  # reported once
assert os.listdir(".").count("x") == 1 and not [name for name in os.listdir(".") if ".penstock-" in name]
""", ranks)
