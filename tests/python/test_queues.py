"""Each device has a queue of its own in the background; all share the process's active buffer."""

import subprocess
import sys

import pytest

from scripts import HEAD

# A file whose queue is full for seconds, and one that is as fast as memory.
TWO = HEAD + """
n = 3 << 17
mine = slice(rank * n // size, (rank + 1) * n // size)
data = np.full(n // size, rank + 1, "u1")
def opened(name, device, method):
    return ps.open(name, "w", shape=(n,), dtype="u1", comm=comm, hints={"device": device, "method": method})
def check(name):
    comm.Barrier()
    assert (np.fromfile(name, "u1").reshape(size, -1) == np.arange(1, size + 1)[:, None]).all()
"""


@pytest.mark.parametrize("ranks, method", [(1, "direct"), (3, "extended")])
@pytest.mark.parametrize("device", ["", "paced:bandwidth=10G"])
def test_a_slow_file_does_not_stall_a_quick_one(mpirun, ranks, method, device):
    mpirun(TWO + f"device, method = {device!r}, {method!r}" + """
slow, quick = opened("slow", "paced:bandwidth=100K", method), opened("quick", device, method)
behind = slow.write_begin(data, mine)  # 4 s
comm.Barrier()
handle = quick.write_begin(data, mine)
deadline = time.perf_counter() + 1.5
while not handle.test() and time.perf_counter() < deadline:
    time.sleep(0.001)
assert handle.test()
handle.wait()
quick.write(data, mine)
quick.sync()
assert (quick.read(mine) == rank + 1).all()
quick.close()
assert not all(comm.allgather(behind.test()))
check("quick")
behind.wait()
slow.close()
check("slow")
""", ranks, timeout=60)


def test_a_slow_file_may_have_all_of_the_budget_but_not_of_a_larger_one(mpirun):
    mpirun(TWO + """
slow, quick = opened("slow", "paced:bandwidth=200K", "direct"), opened("quick", "paced:bandwidth=10G", "direct")
slow.write(data, mine, active_buffer_size=n)
quick.write(data, mine, active_buffer_size=4 * n)
assert quick.last_call.buffer_waits == 0
quick.sync()
quick.write(data, mine, active_buffer_size=n)
assert quick.last_call.buffer_waits > 0 and quick.last_call.time_room > 0.3
for f in slow, quick:
    f.close()
""", 1, timeout=60)


def test_threads_end_where_there_is_nothing_to_do(tmp_path):
    script = """
import os, time
import numpy as np
import penstock as ps
count, n = 50, 5000
before = len(os.listdir("/proc/self/task"))
def threads(): return len(os.listdir("/proc/self/task")) - before
files = [ps.open(f"{i}", "w", shape=(n,), dtype="u1", hints={"device": "paced:bandwidth=50K"}) for i in range(count)]
for f in files:
    f.write(np.ones(n, "u1"), ...)  # 0.1 s each, all at a time
assert 2 <= threads() <= count, threads()
start = time.perf_counter()
for f in files:
    f.sync()
assert time.perf_counter() - start < count * 0.1 / 2
deadline = time.perf_counter() + 20
while threads() > 0 and time.perf_counter() < deadline:
    time.sleep(0.05)
assert threads() == 0, threads()  # files are open, and idle
for f in files[:3]:
    f.write(np.full(n, 2, "u1"), ...)
assert threads() == 3
for f in files:
    f.close()
assert threads() == 0
assert all((np.fromfile(f"{i}", "u1") == (2 if i < 3 else 1)).all() for i in range(count))
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, text=True, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
