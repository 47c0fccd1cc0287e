"""`penstock.h5`: h5py's files, groups and datasets on several ranks, as plain h5py sees what they wrote."""

import numpy as np
import pytest

from conftest import run_ranks
from scripts import DOOR

pytestmark = pytest.mark.ranks

h5py = pytest.importorskip("h5py")


WRITTEN = DOOR + """
whole = np.arange(15 * 8.0).reshape(15, 8)
rows = slice(15 * rank // size, 15 * (rank + 1) // size)
with opened() as f:
    assert f and f.id.valid and f.driver == "mpio" and f.mode == "r+" and f.filename == "t.h5" and f.name == "/"
    x = f.create_dataset("run/x", whole.shape, dtype="f8")            # each rank alone
    x[rows] = whole[rows]
    y = f.create_dataset("run/y", whole.shape, "f4", chunks=(4, 3), compression="gzip", compression_opts=2, shuffle=True)
    with y.collective:                                                # all together
        y[rows] = whole[rows]
    z = f["run"].create_dataset("z", data=whole, fillvalue=3)
    f.create_dataset("filled", (size, 3), "i2", fillvalue=-7)[rank, 0] = rank
    one = f.create_dataset("one", data=3.5)
    text = f.create_dataset("text", data="h\\xe9llo")
    f["names"] = ["a", "bcd"]
    comm.Barrier()
    assert np.array_equal(x[:], whole) and x[rank, 2] == whole[rank, 2] and isinstance(x[0, 0], np.float64)
    with x.collective:
        assert np.array_equal(x[:, rank], whole[:, rank])
        x[rank : rank + 1, :2] = -whole[rank, :2]
    assert np.array_equal(x[size - 1, :2], -whole[size - 1, :2])      # seen by each rank at once
    if rank == size - 1:
        one[()] = 4.5
    comm.Barrier()
    assert one[()] == 4.5 and one.shape == () and text[()] == "h\\xe9llo".encode() and text.asstr()[()] == "h\\xe9llo"
    assert list(f["names"].asstr()[:]) == ["a", "bcd"]
    f["run"].attrs["units"] = ["K", "m"]
    x.attrs["scale"] = np.float32(2)
    f.attrs.create("n", 3, dtype="i2")
    f.attrs.modify("n", 5)
    f.attrs["gone"] = 1
    del f.attrs["gone"]
    assert list(f.attrs) == ["n"] and f.attrs["n"].dtype == "i2" and x.attrs.get("scale") == 2 and "q" not in x.attrs
    g = f.create_group("empty/inner")
    assert f.require_group("empty/inner") == g == f["/empty"]["inner"] and g.parent.name == "/empty" and g.file is f
    assert f.require_dataset("run/x", (15, 8), "f8") == x
    names = []
    f.visit(names.append)
    assert names == ["empty", "empty/inner", "filled", "names", "one", "run", "run/x", "run/y", "run/z", "text"], names
    assert list(f) == ["empty", "filled", "names", "one", "run", "text"] and len(f["run"]) == 3 and "run/y" in f
    assert f.get("nope") is None and f.get("run/x", getclass=True) is h5py.Dataset
    assert isinstance(f["run"], h5py.Group) and not isinstance(f["run"], h5py.Dataset) and isinstance(x, h5py.Dataset)
    assert (x.ndim, x.size, x.nbytes, len(x), x.chunks, y.chunks) == (2, 120, 960, 15, None, (4, 3))
    assert (y.compression, y.compression_opts, y.shuffle, y.maxshape) == ("gzip", 2, True, (15, 8))
    f.flush()
    assert np.array_equal(y[...], whole.astype("f4"))                 # by this rank alone, once it is in the file
assert not f and repr(f) == "<Closed HDF5 file>"
f.close()
comm.Barrier()
with opened("a") as f:
    f.create_dataset("more", (4,), "i4")
    f["run/x"][rank, 7] = 100 + rank
with opened("r") as f:
    assert f.mode == "r" and sorted(f["run"]) == ["x", "y", "z"] and f["more"].shape == (4,)
    assert np.array_equal(f["run/y"][rows], whole[rows].astype("f4")) and f["run"].attrs["units"][1] == "m"
    y = f["run/y"]
    with y.collective:
        assert np.array_equal(y[:, rank], whole[:, rank].astype("f4"))
"""


@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_what_ranks_write_is_what_h5py_reads(tmp_path, ranks):
    run_ranks(tmp_path, WRITTEN, ranks)
    whole = np.arange(15 * 8.0).reshape(15, 8)
    for rank in range(ranks):
        whole[rank, 7] = 100 + rank
    with h5py.File(tmp_path / "t.h5") as file:
        run = file["run"]
        assert np.array_equal(run["x"][ranks:], whole[ranks:]) and np.array_equal(run["x"][:ranks, 2:], whole[:ranks, 2:])
        whole = np.arange(15 * 8.0).reshape(15, 8)
        assert np.array_equal(run["x"][:ranks, :2], -whole[:ranks, :2])
        assert np.array_equal(run["y"], whole.astype("f4")) and run["y"].compression == "gzip" and run["y"].shuffle
        assert np.array_equal(run["z"], whole) and run["z"].fillvalue == 3 and run["z"].chunks is None
        assert (file["filled"][:, 1:] == -7).all() and list(file["filled"][:, 0]) == list(range(ranks))
        assert file["one"].shape == () and file["one"][()] == 4.5 and file["text"].asstr()[()] == "h\xe9llo"
        assert list(file["names"].asstr()) == ["a", "bcd"] and list(run.attrs["units"]) == ["K", "m"]
        assert run["x"].attrs["scale"] == 2 and dict(file.attrs) == {"n": 5} and isinstance(file["empty/inner"], h5py.Group)


REMOVED = DOOR + """
with opened() as f:
    for name, how in (("a/x", {}), ("a/y", {"chunks": (5,)}), ("a/b/z", {"chunks": (5,), "compression": "gzip"}), ("kept", {})):
        ds = f.create_dataset(name, (20,), "i4", **how)
        if name != "a/b/z":
            ds[rank::size] = 1
        with ds.collective:
            ds[...] = 2                           # chunks of it are pending
    del f["a/y"]
    assert list(f["a"]) == ["b", "x"] and "a/y" not in f
    same(KeyError, "a/y", lambda: f["a/y"])
    del f["a"]["b"], f["a/x"]
    x = f.create_dataset("a/x", (60,), "i2")      # where something else was
    x[rank::size] = rank
    f.create_group("a/y")
    f.flush()
with opened("a") as f:
    if "a/x" in f:
        del f["a/x"]
    f["a/x"] = np.arange(5)
    same(ValueError, "root group", lambda: f.__delitem__("/"))
"""


@pytest.mark.parametrize("ranks", [1, 3])
def test_what_is_removed_is_gone(tmp_path, ranks):
    run_ranks(tmp_path, REMOVED, ranks)
    with h5py.File(tmp_path / "t.h5") as file:
        assert list(file) == ["a", "kept"] and list(file["a"]) == ["x", "y"] and isinstance(file["a/y"], h5py.Group)
        assert np.array_equal(file["a/x"], np.arange(5)) and (file["kept"][:] == 2).all()


INTERLEAVED = DOOR + """
n, rounds = 64, 20
with opened() as f:
    bytes_ = f.create_dataset("bytes", (n * size,), "u1")
    columns = f.create_dataset("columns", (n, size), "i4")
    for round in range(rounds):                   # neighbouring bytes, at the same time
        bytes_[rank::size] = np.full(n, 10 * rank + round)
        columns[:, rank] = np.arange(n) + 1000 * rank + round
        for row in range(rank, n, 7):
            columns[row, rank] = -row
        assert (bytes_[rank::size] == 10 * rank + round).all()
    comm.Barrier()
    assert np.array_equal(bytes_[:size], 10 * np.arange(size) + rounds - 1)
    with columns.collective:
        mine = columns[:, (rank + 1) % size]
    expected = np.arange(n) + 1000 * ((rank + 1) % size) + rounds - 1
    rows = np.arange((rank + 1) % size, n, 7)
    expected[rows] = -rows
    assert np.array_equal(mine, expected)
"""


def test_ranks_write_neighbouring_bytes_alone(tmp_path):
    run_ranks(tmp_path, INTERLEAVED, 4)
    with h5py.File(tmp_path / "t.h5") as file:
        assert np.array_equal(file["bytes"][:].reshape(64, 4), np.tile(10 * np.arange(4) + 19, (64, 1)))


ATOMIC = DOOR + """
with opened() as f:
    x = f.create_dataset("x", (100, 50), "i4")
    assert not f.atomic
    f.atomic = True
    assert f.atomic
    for round in range(30):
        if rank < 2:
            x[:, 7] = round * 2 + rank           # a hundred runs
        else:
            seen = x[:, 7]
            assert (seen == seen[0]).all(), seen
"""


def test_in_atomic_mode_calls_of_a_rank_do_not_mix(tmp_path):
    run_ranks(tmp_path, ATOMIC, 4)


SELECTED = DOOR + """
whole = np.arange(5 * 6 * 4).reshape(5, 6, 4)
mask = whole % 7 == rank
indices = [(), ..., 2, -1, (2, 3, 1), (slice(1, 4), 2), (..., 1), (0, slice(None), [0, 3]), [1, 4], (slice(None), [0, 2, 5]),
           (slice(0, 5, 2), slice(1, None, 3), 0), slice(3, 1), slice(2, 100), mask, np.array([1, 0, 1, 0, 0], bool), (slice(None), 1, [2])]
with opened() as f:
    x = f.create_dataset("x", data=whole)
    c = f.create_dataset("c", data=whole, chunks=(2, 3, 4), compression=4)
    w = f.create_dataset("w", whole.shape, "i8")
    kind = np.dtype([("a", "i4"), ("b", "f8")])
    r = f.create_dataset("r", (4,), kind)
    plain_name = f"plain{rank}.h5"
    with plain.File(plain_name, "w") as p:
        p["x"] = whole
        for index in indices:
            expected = p["x"][index]
            for ds in (x, c):
                with ds.collective:
                    there = ds[index]
                assert type(there) is type(expected) and np.array_equal(there, expected), index
            alone = x[index]
            assert type(alone) is type(expected) and np.array_equal(alone, expected), index
            w[index] = p["x"][index]
            p["x"][index] = expected
        for bad in (5, (0, 0, 0, 0), [2, 0], slice(None, None, -1), None, 1.5, (slice(None), [0, 1], [0, 1]), "a"):
            errors = []
            for ds in (p["x"], x):
                try:
                    ds[bad]
                except Exception as error:
                    errors.append(error)
            assert len(errors) == 2 and isinstance(errors[1], type(errors[0])), (bad, errors)
    comm.Barrier()
    assert np.array_equal(w[:], whole)
    comm.Barrier()
    if rank == 0:
        w[0] = 1.75                              # as HDF5: towards zero
        w[1, :, :] = np.arange(4)
        w[2, :, 0] = np.arange(6).reshape(6, 1)
        r[1:3] = np.array([(1, 2.5), (3, 4.5)], kind)
        for value, words in ((1e30, "cannot be assigned"), (np.arange(3), "broadcast")):
            try:
                w[0] = value
                raise AssertionError(value)
            except (TypeError, ValueError) as error:
                assert words in str(error), error
    comm.Barrier()
    assert (w[0] == 1).all() and np.array_equal(w[1, 5], np.arange(4)) and np.array_equal(w[2, :, 0], np.arange(6))
    assert r["b"].tolist() == [0, 2.5, 4.5, 0] and r.fields("a")[1:] .tolist() == [1, 3, 0] and r[2]["a"] == 3
    out = np.zeros((3, 6, 4))
    x.read_direct(out, np.s_[1:3], np.s_[1:])
    assert np.array_equal(out[1:], whole[1:3]) and not out[0].any()
    into = np.zeros((2, 6, 4), whole.dtype)
    with c.collective:
        c.read_direct(into, np.s_[3:5])
    assert np.array_equal(into, whole[3:]) and x.astype("f4")[0].dtype == "f4" and [len(row) for row in x] == [6] * 5
    comm.Barrier()
    if rank == 0:
        w.write_direct(whole, np.s_[0:1], np.s_[4:5])
    comm.Barrier()
    assert np.array_equal(w[4], whole[0]) and np.array_equal(np.asarray(x), whole) and len(list(c.iter_chunks())) == 6
    # What is wrong on one rank alone, in a call of all:
    for index, kind in ((99, IndexError), ([2, 1], ValueError)):
        with c.collective:
            same(kind, "/c", lambda: c[index if rank == size - 1 else 0]) if size > 1 else None
    if size > 1:
        with c.collective:
            same(ValueError, "broadcast", lambda: c.__setitem__(0, np.zeros(3) if rank == 1 else 0))
            assert np.array_equal(c[0], whole[0])
"""


@pytest.mark.parametrize("ranks", [1, 3])
def test_selections_and_values_are_those_of_h5py(tmp_path, ranks):
    run_ranks(tmp_path, SELECTED, ranks)


GROWING = DOOR + """
with opened() as f:
    x = f.create_dataset("x", (0, size), maxshape=(None, size), dtype="f8", compression="gzip")
    y = f.create_dataset("y", (2, 3), maxshape=(None, None), dtype="i4", fillvalue=9)
    for step in range(4):
        x.resize(step + 1, axis=0)
        with x.collective:
            x[step, rank : rank + 1] = step + rank / 8
        y.resize((step + 2, step + 3))
    y.resize((3, 5))
    with y.collective:
        y[rank : min(rank + 1, 2)] = rank
    same(ValueError, "resize|dimension", lambda: x.resize((4, size + 1)))
    assert x.shape == (4, size) and x.maxshape == (None, size)
    f.flush()
    assert x[3, size - 1] == 3 + (size - 1) / 8
with opened("r+") as f:
    f["x"].resize((6, size))
    x = f["x"]                                    # another object of it is not in the with
    with x.collective:
        x[5] = 5
"""


@pytest.mark.parametrize("ranks", [1, 3])
def test_datasets_are_resized(tmp_path, ranks):
    run_ranks(tmp_path, GROWING, ranks)
    with h5py.File(tmp_path / "t.h5") as file:
        x, y = file["x"][:], file["y"][:]
        assert np.array_equal(x[:4], np.add.outer(np.arange(4), np.arange(ranks) / 8))
        assert (x[4] == 0).all() and (x[5] == 5).all() and file["x"].maxshape == (None, ranks)
        assert y.shape == (3, 5) and y[2].tolist() == [9] * 5 and y[0].tolist() == [0] * 5


JUDGES = DOOR + """
import h5py.tests.test_file as judges
judges.File = h5py.File
tests = [name for name in dir(judges.TestMPI) if name.startswith("test")]
assert len(tests) >= 4, tests
for name in tests:
    getattr(judges.TestMPI(), name)(os.path.abspath(name + ".h5"))
"""


@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_the_mpi_tests_of_h5py_pass(tmp_path, ranks):
    pytest.importorskip("h5py.tests.test_file")
    run_ranks(tmp_path, JUDGES, ranks)


PLAIN_CHUNKS = DOOR + """
whole = np.random.default_rng(5).random((23, 17))
rows = slice(23 * rank // size, 23 * (rank + 1) // size)
with opened(libver="latest") as f:
    x = f.create_dataset("x", whole.shape, "f8", chunks=(4, 5))       # ranks share chunks
    y = f.create_dataset("y", data=-whole, chunks=(6, 17))
    z = f.create_dataset("z", (0, 17), "f8", maxshape=(None, 17), chunks=(2, 8), fillvalue=6)
    other = f.create_dataset("other", (50,), "f8", chunks=(10,), compression="gzip")
    with other.collective:
        other[:] = rank                                               # is pending meanwhile
    x[rows] = whole[rows]
    x[rows, 2::3] = whole[rows, 2::3]
    for row in range(rank, 23, size):
        y[row, [1, 5, 16]] = whole[row, [1, 5, 16]]
        y[row, 3] = row
    comm.Barrier()
    assert np.array_equal(x[:], whole) and np.array_equal(y[:, 5], whole[:, 5])
    z.resize(5, axis=0)
    z[rank : 5 : size] = rank
    comm.Barrier()
    assert np.array_equal(z[:, 0], np.arange(5) % size)
    with x.collective:
        x[:1] = 1
    if size > 1:
        same(NotImplementedError, "written by a rank alone.*flush", lambda: x.__setitem__((0, 0), 2))
        f.flush()
    if rank == 0:
        x[0, 0] = 2
    z.resize(7, axis=0)
    z[5, rank::size] = 5
with opened("r+") as f:
    f["x"][22, rank] = rank
"""


@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_chunks_without_filters_are_written_by_ranks_alone(tmp_path, ranks):
    run_ranks(tmp_path, PLAIN_CHUNKS, ranks)
    whole = np.random.default_rng(5).random((23, 17))
    with h5py.File(tmp_path / "t.h5") as file:
        x, y, z = file["x"][:], file["y"][:], file["z"][:]
        assert np.array_equal(x[1:22], whole[1:22]) and x[0].tolist() == [2] + [1] * 16 and file["x"].chunks == (4, 5)
        assert x[22, :ranks].tolist() == list(range(ranks)) and np.array_equal(x[22, ranks:], whole[22, ranks:])
        assert np.array_equal(y[:, [1, 5, 16]], whole[:, [1, 5, 16]]) and np.array_equal(y[:, 3], np.arange(23))
        assert np.array_equal(y[:, 6:16], -whole[:, 6:16])
        assert np.array_equal(z[:5], np.tile(np.arange(5)[:, None] % ranks, 17)) and (z[5] == 5).all() and (z[6] == 6).all()


MODEL = DOOR + """
shape, turns = (19, 13), 60
rng = np.random.default_rng(SEED)                # the same on all ranks
with opened() as f:
    sets = [f.create_dataset("flat", shape, "i4"), f.create_dataset("plain", shape, "i4", chunks=(4, 5)),
            f.create_dataset("packed", shape, "i4", chunks=(6, 4), compression="gzip")]
    models = [np.zeros(shape, int) for _ in sets]
    for turn in range(turns):
        which = int(rng.integers(3))
        ds, model = sets[which], models[which]
        owner = rng.integers(size, size=shape[0])  # of each row
        columns = sorted(rng.choice(shape[1], int(rng.integers(1, shape[1])), replace=False).tolist())
        columns = slice(columns[0], columns[-1] + 1, int(rng.integers(1, 4))) if rng.integers(2) else columns
        if which != 2 and rng.integers(2):         # each rank alone, row by row
            for row in np.flatnonzero(owner == rank).tolist():
                ds[row, columns] = np.full(len(np.arange(shape[1])[columns]), 1000 * turn + row)
        else:
            mine = np.flatnonzero(owner == rank)
            elements = np.zeros(shape, int) + 1000 * turn + np.arange(shape[0])[:, None]
            mask = np.zeros(shape, bool)
            mask[mine[:, None], np.arange(shape[1])[columns]] = True
            with ds.collective:
                ds[mask] = elements[mask]
            if which:
                f.flush()
        model[:, columns] = (1000 * turn + np.arange(shape[0]))[:, None]
        comm.Barrier()
        if rng.integers(2):
            assert np.array_equal(ds[rank::size], model[rank::size]), (SEED, turn)
        else:
            with ds.collective:
                assert np.array_equal(ds[:, columns], model[:, columns]), (SEED, turn)
        comm.Barrier()
if rank == 0:
    np.save("models.npy", models)
"""


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_calls_alone_and_collective_in_any_order(tmp_path, seed):
    run_ranks(tmp_path, MODEL.replace("SEED", str(seed)), 3)
    with h5py.File(tmp_path / "t.h5") as file:
        for name, model in zip(("flat", "plain", "packed"), np.load(tmp_path / "models.npy")):
            assert np.array_equal(file[name], model)
