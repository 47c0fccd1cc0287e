"""The end of a program: pending data is written, and the program does not end by a signal."""

import subprocess
import sys

import numpy as np
import pytest

from scripts import HEAD

PACED = "paced:bandwidth=16M,latency=2ms"
BEGIN = f"""
import gc, os, sys, threading, time
import numpy as np, penstock as ps
f = ps.open("a.npy", "w", shape=(64, 1000), dtype="f8", hints={{"device": {PACED!r}}})
def begin(**how):
    return [f.write_begin(np.full((1, 1000), 5.0), slice(i, i + 1), **how) for i in range(64)]
def allocate():  # in the place of what was freed
    return [np.full((1, 1000), 6.0) for _ in range(100)]
"""


def run(folder, script):
    return subprocess.run([sys.executable, "-c", script], cwd=folder, text=True, capture_output=True, timeout=60)


ENDS = {
    "handles kept": "h = begin(HOW)",
    "handles dropped": "begin(HOW); gc.collect(); x = allocate()",
    "file and handles dropped": "begin(HOW); del f; gc.collect(); x = allocate()",
    "in a cycle": "class A: pass\na = A(); a.a = a; a.h = begin(HOW); a.f = f; del f",
    "sys.exit": "h = begin(HOW); sys.exit(0)",
    "sys.exit in a thread": "t = threading.Thread(target=lambda: (begin(HOW), sys.exit(3))); t.start(); t.join()",
    "beside a daemon thread": "h = begin(HOW); threading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
}


@pytest.mark.parametrize("how", ["method='direct'", "method='extended'", "background='all'",
                                 "background='all', method='direct'"])
@pytest.mark.parametrize("end", ENDS)
def test_writes_that_nobody_waited_for_are_written(tmp_path, end, how):
    """Also directly from the program's arrays, to which it has no references any more."""
    done = run(tmp_path, BEGIN + ENDS[end].replace("HOW", how))
    assert done.returncode == 0, done.stderr
    assert (np.load(tmp_path / "a.npy") == 5).all()
    assert done.stderr.count("'a.npy' was never closed") == 1 and "LOST" not in done.stderr, done.stderr


def test_memory_is_given_back_when_its_operation_is_over(tmp_path):
    done = run(tmp_path, BEGIN + """
import weakref
class Noted(np.ndarray): pass
gone = []
def one(**how):
    u = np.full((1, 1000), 5.0).view(Noted)
    weakref.finalize(u, gone.append, 1)
    return f.write_begin(u, slice(0, 1), **how)
h = one(method="direct")
h.wait()
assert len(gone) == 1  # although the handle is there
for how in ({"method": "direct"}, {"background": "all"}, {"background": "none"}):
    one(**how)
f.sync()
gc.collect()
assert len(gone) == 4, gone
one(method="direct")
f.close(wait=False).wait()
assert len(gone) == 5, gone
""")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


@pytest.mark.parametrize("device", ["", PACED])
def test_a_daemon_thread_in_a_call_ends_with_the_program(tmp_path, device):
    """The interpreter ends such a thread when it returns from the call."""
    script = f"""
import threading, time
import numpy as np, penstock as ps
f = ps.open("a.npy", "w", shape=(64, 1000), dtype="f8", hints={{"device": {device!r}}})
began = threading.Event()
def work():
    while True:
        f.write(np.ones((64, 1000)), ..., active_buffer_size=0)
        began.set()
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
began.wait(30)
"""
    for _ in range(4):
        done = run(tmp_path, script)
        assert done.returncode == 0, (done.returncode, done.stderr)


@pytest.mark.parametrize("end", ["raise ValueError('mine')", "sys.exit(1)"])
def test_an_exception_in_a_with_is_all_that_is_said(tmp_path, end):
    done = run(tmp_path, BEGIN + f"with f:\n    h = begin(method='direct')\n    {end}")
    assert done.returncode == 1
    assert "never closed" not in done.stderr and "LOST" not in done.stderr, done.stderr
    assert (np.load(tmp_path / "a.npy") == 5).all()


@pytest.mark.ranks
@pytest.mark.parametrize("background", ["storage", "all"])
def test_ranks_end_with_writes_begun(mpirun, tmp_path, background):
    output = mpirun(HEAD + f"""
n = 50000
f = ps.open("a", "w", shape=(size * n,), dtype="f8", comm=comm, hints={{"device": {PACED!r}}})
for method in ("direct", "extended"):
    f.write_begin(np.full(n, rank + 1.0), slice(rank * n, (rank + 1) * n), method=method, background={background!r})
""", 3)
    assert (np.fromfile(tmp_path / "a").reshape(3, -1) == np.arange(1.0, 4.0)[:, None]).all()
    assert output.count("'a' was never closed") == 3 and "LOST" not in output, output
