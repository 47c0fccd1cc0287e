"""HDF5 datasets on several ranks: written together, opens that fail on some ranks, and killed ranks."""

import os

import numpy as np
import pytest

from conftest import run_ranks, case_outcomes
from scripts import CASES, HEAD

pytestmark = pytest.mark.ranks

h5py = pytest.importorskip("h5py")

TOGETHER = HEAD + """
import h5py
shape = (37, 23)
whole = np.arange(37 * 23, dtype="i4").reshape(shape)
def mine(d): return whole[tuple(slice(low, up, step) for low, up, step, _ in d.section.dimensions)]
for n, name in enumerate(("/u", "/run/1/v", "/run/1/w")):
    with ps.open("t.h5", "r+" if n else "w", dataset=name, shape=shape, dtype="i4", comm=comm,
                 attributes={"units": "m"}) as f:
        d = ps.distribute(shape, comm, kind=("block", "block"))
        f.write(mine(d) + n, d)
        f.attrs["number"] = n
        f.write(np.full((1, 23), -n, "i4") if rank == size - 1 else None, (slice(3, 4), slice(None)) if rank == size - 1 else None)
for n, name in enumerate(("/u", "/run/1/v", "/run/1/w")):
    expected = whole + n
    expected[3] = -n
    with ps.open("t.h5", dataset=name, comm=comm) as f:
        assert np.array_equal(f.read(...), expected) and f.attrs["number"] == n and f.attrs["units"] == "m"
    if rank == 0:
        with h5py.File("t.h5") as file:
            assert np.array_equal(file[name][()], expected)
if rank == 0:
    with h5py.File("t.h5", "r+") as file:
        file.create_dataset("z", data=whole, chunks=(5, 5), compression="gzip")
comm.Barrier()
with ps.open("t.h5", dataset="z", comm=comm, decode=True) as f:
    assert np.array_equal(f.read(d), mine(d))
comm.Barrier()
assert os.listdir() == ["script.py", "t.h5"] or sorted(os.listdir()) == ["script.py", "t.h5"], os.listdir()
"""


@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_ranks_write_datasets_together(mpirun, ranks):
    mpirun(TOGETHER, ranks)


DIFFERENT = CASES + """
import h5py
def make(name="s.h5", **how):
    return ps.open(name, **{"mode": "w", "dataset": "u", "shape": (4, 4), "dtype": "f8", "comm": comm, **how})
def opens(name, /, **by_last):
    cases[name] = lambda: record(lambda: make(**(by_last if last else {})))
opens("dataset", dataset="v")
opens("no dataset", dataset=None)
opens("dataset is no name", dataset=3)
opens("container", container="raw", dataset=None)
opens("path", name="other.h5")
opens("mode", mode="r+")
opens("shape", shape=(4, 5))
opens("dtype", dtype="f4")
opens("dtype of objects", dtype=object)
opens("dims", dims=("a", "b"))
opens("dims twice", dims=("a", "a"))
opens("units", attributes={"units": "m"})
opens("order", order="F")
opens("hint", hints={"method": "direct"})
cases["hint without sense"] = lambda: record(lambda: make(hints={"buffer_size": "3"}))
opens("decode", decode=True)
cases["type that HDF5 has not"] = lambda: record(lambda: make(dtype="M8[s]"))
cases["not there"] = lambda: record(lambda: make(mode="r"))
@case
def nothing_is_left():
    comm.Barrier()
    record(lambda: " ".join(n for n in sorted(os.listdir()) if ".h5" in n))
@case
def attributes():
    f = make("a.h5")
    def put(name, value):
        f.attrs[name] = value
    def remove(name):
        del f.attrs[name]
    record(lambda: put("a", 1 if last else 2))
    record(lambda: put("b" if last else "a", 1))
    record(lambda: put("a", object() if last else 1))
    record(lambda: remove("a"))
    record(lambda: put("a", 1) if last else f.sync())
    record(lambda: put("a", 1))
    record(lambda: remove("b" if last else "a"))
    record(lambda: str(dict(f.attrs)))
    record(f.close)
    record(lambda: put("b", 1))
@case
def another_call():
    record(lambda: make("a.h5", mode="r") if last else ps.open("x.npy", "w", shape=(4, 4), dtype="f8", comm=comm))
def two(first, name, **how):
    if rank == 0:
        first()
    comm.Barrier()
    record(lambda: make(name, **how))
def text():
    open("text.h5", "w").write("no HDF5")
cases["foreign"] = lambda: two(text, "text.h5", mode="r")
@case
def rights():
    if rank == 0:
        with h5py.File("old.h5", "w") as file:
            file["old"] = np.full(5, 7.0)
        os.chmod(".", 0o755)
        os.chmod("old.h5", 0o600)
    comm.Barrier()
    if last:
        os.seteuid(65534)
    for mode in ("w", "r+"):
        record(lambda: make("old.h5", mode=mode))
    os.seteuid(0)
    comm.Barrier()
    record(lambda: h5py.File("old.h5")["old"][()].tolist() == [7] * 5 and "u" not in h5py.File("old.h5"))
"""

EXPECTED = {
    "dataset": "DisagreementError", "no dataset": "ArgumentError", "dataset is no name": "ArgumentError",
    "container": "DisagreementError", "path": "DisagreementError", "mode": "DisagreementError",
    "shape": "DisagreementError", "dtype": "DisagreementError", "dtype of objects": "ArgumentError",
    "dims": "DisagreementError", "dims twice": "ArgumentError", "units": "DisagreementError", "order": "ArgumentError",
    "hint": "DisagreementError", "hint without sense": "ArgumentError", "decode": "ArgumentError",
    "type that HDF5 has not": "ArgumentError", "foreign": "FormatError",
    "another_call": "DisagreementError",
}


@pytest.fixture(scope="module")
def different(tmp_path_factory):
    return case_outcomes(tmp_path_factory.mktemp("different"), DIFFERENT)[0]


@pytest.mark.parametrize("name", EXPECTED)
def test_an_open_that_fails(different, name):
    outcomes = different[name]
    assert [rank[0][0] for rank in outcomes] == [EXPECTED[name]] * 3, outcomes
    assert len({rank[0][1] for rank in outcomes}) == 1, outcomes


def test_a_file_that_is_not_there(different):
    outcomes = different["not there"]
    assert outcomes[0] == outcomes[1] == outcomes[2] and outcomes[0][0][0] in ("StorageError", "FileNotFoundError"), outcomes
    assert "s.h5" in outcomes[0][0][1] and "No such file" in outcomes[0][0][1]


def test_opens_that_fail_make_no_file(different):
    assert different["nothing_is_left"] == [[["", ""]]] * 3


def test_attributes_are_set_by_all_ranks_or_none(different):
    outcomes = different["attributes"]
    assert outcomes[0] == outcomes[1] == outcomes[2], outcomes
    assert [kind for kind, _ in outcomes[0]] == ["DisagreementError", "DisagreementError", "ArgumentError", "ArgumentError",
                                             "DisagreementError", "", "ArgumentError", "", "", "StateError"], outcomes[0]
    assert outcomes[0][7][1] == "{'a': np.int64(1)}" or outcomes[0][7][1] == "{'a': 1}"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to take a right away from a rank")
def test_a_rank_without_rights(different):
    outcomes = different["rights"]
    assert outcomes[0] == outcomes[1] == outcomes[2] and [kind for kind, _ in outcomes[0]][2] == "", outcomes
    assert all("Permission denied" in words for _, words in outcomes[0][:2]), outcomes
    assert outcomes[0][2] == ["", True]


KILLED = HEAD + """
with ps.open("k.h5", "w", dataset="g/u", shape=(400, 400), dtype="f8", comm=comm,
             attributes={"units": "K"}) as f:
    d = ps.distribute(f.shape, comm)
    f.write(np.full(d.section.shape, rank + 1.0), d)
    f.attrs["step"] = 1
    f.sync()
    f.write(np.full(d.section.shape, -1.0), d)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_was_synced_survives_a_kill(tmp_path):
    run_ranks(tmp_path, KILLED, 3, expect=None)
    with h5py.File(tmp_path / "k.h5") as file:
        u = file["g/u"]
        assert u.attrs["units"] == "K" and u.attrs["step"] == 1
        rows = np.repeat([1.0, 2, 3], [134, 133, 133])
        assert ((u[()] == rows[:, None]) | (u[()] == -1)).all() and u.chunks is None and u.id.get_offset() is not None
