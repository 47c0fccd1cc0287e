"""Growing arrays, and what is left of them after a crash."""

import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import penstock as ps
from scripts import HEAD

pytestmark = pytest.mark.ranks


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("name", ["a.npy", "a.raw"])
@pytest.mark.parametrize("budget", [0, 64 << 20])
def test_steps_are_added_and_seen(tmp_path, order, name, budget):
    shape = (None, 3, 4) if order == "C" else (3, 4, None)
    steps = np.random.default_rng(0).random((5, 3, 4))
    whole = steps if order == "C" else np.moveaxis(steps, 0, -1)
    how = {"shape": shape, "dtype": "f8", "order": order, "hints": {"active_buffer_size": budget}}
    with ps.open(tmp_path / name, "w", **how) as f:
        assert len(f) == (0 if order == "C" else 3) and f.size == 0
        for step in steps[:3]:
            f.append(step)
        assert f.shape == np.shape(whole[:3] if order == "C" else whole[..., :3]) and f.end_offset == f.data_offset + f.nbytes
        assert np.array_equal(f, whole[:3] if order == "C" else whole[..., :3])
    with ps.open(tmp_path / name, "r+", **how) as f:
        f.append(steps[3][:, 1:], (slice(None), slice(1, None)))
        assert np.array_equal(f[-1, :, 0] if order == "C" else f[:, 0, -1], np.zeros(3))
        f[(3, slice(None), 0) if order == "C" else (slice(None), 0, 3)] = steps[3][:, 0]
        f.append(steps[4])
    with ps.open(tmp_path / name, **how) as f:
        assert np.array_equal(f, whole)
    if name == "a.npy":
        assert np.array_equal(np.load(tmp_path / name), whole)


def test_numpy_reads_what_was_there_at_each_sync(tmp_path):
    with ps.open(tmp_path / "s.npy", "w", shape=(None, 2), dtype="i4") as f:
        for step in range(12):
            f.append(np.array([step, -step], "i4"))
            if step % 5 == 0:
                f.sync()
                assert np.array_equal(np.load(tmp_path / "s.npy")[:, 0], np.arange(step + 1))
                assert len(np.load(tmp_path / "s.npy", mmap_mode="r")) == step + 1
    assert len(np.load(tmp_path / "s.npy")) == 12


def test_closing_without_waiting_brings_the_header_up_to_date(tmp_path):
    f = ps.open(tmp_path / "c.npy", "w", shape=(None, 2), dtype="i4")
    f.append(np.array([1, 2], "i4"))
    f.close(wait=False).wait()
    assert np.array_equal(np.load(tmp_path / "c.npy"), [[1, 2]])


def test_files_of_numpy_grow(tmp_path):
    np.save(tmp_path / "n.npy", np.ones((9, 2)))
    with ps.open(tmp_path / "n.npy", "r+", shape=(None, 2)) as f:
        for _ in range(3):
            f.append(np.full(2, 7.0))
    assert np.array_equal(np.load(tmp_path / "n.npy")[8:], [[1, 1], [7, 7], [7, 7], [7, 7]])


def test_a_header_without_room(tmp_path):
    text = b"{'descr': '|u1', 'fortran_order': False, 'shape': (9, 2), }"
    tight = text + b"\n"
    (tmp_path / "t.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(tight).to_bytes(2, "little") + tight + bytes(18))
    with ps.open(tmp_path / "t.npy", "r+", shape=(None, 2)) as f:
        with pytest.raises(ps.StateError, match="no room for the longer shape \\(10, 2\\)"):
            f.append(np.array([1, 2], "u1"))
        assert len(f) == 9
    assert np.load(tmp_path / "t.npy").shape == (9, 2)


@pytest.mark.parametrize(("how", "error", "words"), [
    ({"shape": (3, None)}, ps.ArgumentError, "dimension 1 cannot grow.*dimension 0 can"), ({"shape": (None, 2), "order": "F"}, ps.ArgumentError, "dimension 1 can"),
    ({"shape": (-1, 3)}, ps.ArgumentError, "must not be negative; one that can grow is None"),
])
def test_shapes_that_cannot_grow(tmp_path, how, error, words):
    with pytest.raises(error, match=words):
        ps.open(tmp_path / "x.npy", "w", dtype="f8", **how)
    assert not os.path.exists(tmp_path / "x.npy")


def test_who_may_not_append(tmp_path):
    np.save(tmp_path / "n.npy", np.ones((2, 2)))
    with ps.open(tmp_path / "n.npy", "r+") as f, pytest.raises(ps.StateError, match="not opened to grow.*shape=\\(None"):
        f.append(np.ones(2))
    with ps.open(tmp_path / "n.npy", shape=(None, 2)) as f, pytest.raises(ps.StateError, match="reading only"):
        f.append(np.ones(2))
    with pytest.raises(ps.FormatError, match="has shape"):
        ps.open(tmp_path / "n.npy", shape=(None, 3))
    f.close()
    with pytest.raises(ps.StateError, match="closed"):
        f.append(np.ones(2))


@pytest.mark.parametrize("name", ["f.npy", "f.raw"])
def test_a_failed_append_leaves_the_shape(tmp_path, name):
    first = 2 if name == "f.npy" else 1  # behind the header and a step
    hints = {"device": f"fault:write@{first}=EIO,write@{first + 2}=EIO", "active_buffer_size": 0}
    array = {"shape": (None, 4), "dtype": "f8"}
    with ps.open(tmp_path / name, "w", **array, hints=hints) as f:
        f.append(np.ones(4))
        size = f.file_size()
        with pytest.raises(ps.StorageError):
            f.append(np.full(4, 2.0))
        assert f.shape == (1, 4) and np.array_equal(f, np.ones((1, 4)))
        assert f.file_size() == size
        f.append(np.full(4, 3.0))
        with pytest.raises(ps.StorageError):
            f.append(np.full(4, 4.0))
    with ps.open(tmp_path / name, "r", **array) as f:
        assert np.array_equal(f, [[1] * 4, [3] * 4])


@pytest.mark.parametrize("name", ["f.npy", "f.raw"])
def test_nothing_of_a_failed_append_is_in_the_next_one(tmp_path, name):
    header = 1 if name == "f.npy" else 0
    fault = f"fault:write@{header + 1}=short,write@{header + 2}=EIO"
    hints = {"device": fault, "active_buffer_size": 0}
    with ps.open(tmp_path / name, "w", shape=(None, 4), dtype="f8", hints=hints) as f:
        f.append(np.ones(4))
        with pytest.raises(ps.StorageError):
            f.append(np.full(4, 2.0))
        f.append(np.full(1, 3.0), (slice(3, 4),))
        assert np.array_equal(f, [[1] * 4, [0, 0, 0, 3]])


def test_a_header_that_cannot_be_synced_is_an_error(tmp_path):
    hints = {"device": "fault:sync@1=EIO", "active_buffer_size": 0}  # the first one is that of the elements
    with ps.open(tmp_path / "f.npy", "w", shape=(None, 4), dtype="f8", hints=hints) as f:
        f.append(np.ones(4))
        with pytest.raises(ps.StorageError, match="syncing"):
            f.sync()
        f.sync()


def test_a_header_that_cannot_be_written_is_an_error(tmp_path):
    hints = {"device": "fault:write@2=EIO", "active_buffer_size": 0}
    f = ps.open(tmp_path / "f.npy", "w", shape=(None, 4), dtype="f8", hints=hints)
    f.append(np.ones(4))
    with pytest.raises(ps.StorageError, match="writing the header of"):
        f.sync()
    f.sync()  # once more
    assert len(np.load(tmp_path / "f.npy")) == 1
    f.close()


RANKS = HEAD + """
d = ps.distribute((6, 5), comm, halo=1)
u = d.empty("f8"); u[...] = -1
"""


def test_ranks_append_together(mpirun):
    mpirun(RANKS + """
with ps.open("g.npy", "w", shape=(None, 6, 5), dtype="f8", comm=comm) as f:
    for step in range(4):
        u[d.interior] = 10 * step + rank
        f.append(u, d)
        assert f.shape == (step + 1, 6, 5) and (f[step, 0, 0] == 10 * step)
    same(ps.ArgumentError, "rank 1: 'g.npy', append: array has shape", lambda: f.append(u[1:] if rank == 1 else u, d))
    same(ps.DisagreementError, "the operation", lambda: f.append(u, d) if rank else f.write(u, (0, d)))
    same(ps.DisagreementError, "method", lambda: f.append(u, d, method="direct" if rank else "auto"))
    assert len(f) == 4
    f.append(u, d if rank else None)
    got = f.read((slice(0, 4, 3), d))
    assert (got[0] == rank).all() and (got[1] == 30 + rank).all()
    mine = np.zeros((5, *d.local_shape)); f.read((slice(None), d), out=mine)
    assert (mine[(slice(None), *d.interior)][1] == 10 + rank).all() and mine[1].sum() == (10 + rank) * d.section.size
comm.Barrier()
whole = np.load("g.npy")
assert whole.shape == (5, 6, 5) and (whole[3] >= 30).all() and (whole[4, 0, 0] == 0) and whole[4, -1, -1] == 32
""", 3)


@pytest.mark.parametrize("budget", [0, 64 << 20])
def test_ranks_that_are_killed_while_it_grows(mpirun, tmp_path, budget):
    mpirun(RANKS + f"""
f = ps.open("k.npy", "w", shape=(None, 6, 5), dtype="f8", comm=comm, hints={{"active_buffer_size": {budget}}})
for step in range(9):
    u[d.interior] = step + 1
    f.append(u, d)
    if step == 4:
        f.sync()
comm.Barrier()
os.kill(os.getpid(), signal.SIGKILL)
""", 3, expect=None)
    whole = np.load(tmp_path / "k.npy")
    assert whole.shape == (5, 6, 5) and (whole == np.arange(1, 6)[:, None, None]).all()
    with ps.open(tmp_path / "k.npy", "r+", shape=(None, 6, 5)) as f:
        f.append(np.full(5, 7.0), 0)
        assert (f[5, 0] == 7).all() and (f[5, 1:] == 0).all()  # nothing that the crash has left
    assert np.load(tmp_path / "k.npy").shape == (6, 6, 5)


GROW = """
import sys, numpy as np, penstock as ps
f = ps.open("k.npy", "w", shape=(None, 1000), dtype="i4")
for step in range(10**9):
    f.append(np.full(1000, step, "i4"))
    if step % 3 == 0:
        f.sync()
        print(step + 1, flush=True)
"""


def test_a_program_that_is_killed_at_any_time(tmp_path):
    for _ in range(5):
        program = subprocess.Popen([sys.executable, "-c", GROW], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
        first = program.stdout.readline()
        time.sleep(random.random() / 20)
        program.send_signal(signal.SIGKILL)
        synced = int((first + program.communicate()[0]).split()[-1])
        whole = np.load(tmp_path / "k.npy")
        assert len(whole) >= synced and (whole == np.arange(len(whole))[:, None]).all()
