"""Growing Zarr arrays, groups and attributes; and what other programs read."""

import json

import numpy as np
import pytest

import penstock as ps
from scripts import HEAD

zarr = pytest.importorskip("zarr", minversion="3.0")


@pytest.mark.parametrize("chunks, shards", [((1, 3, 2), None), ((2, 3, 2), None), ((2, 2, 2), (4, 4, 2)), (None, None)])
@pytest.mark.parametrize("budget", [0, 64 << 20])
def test_steps_are_added_and_seen(tmp_path, chunks, shards, budget):
    steps = np.random.default_rng(0).random((7, 5, 4))
    how = {"shape": (None, 5, 4), "dtype": "f8", "hints": {"active_buffer_size": budget}}
    with ps.open(tmp_path / "a.zarr", "w", **how, chunks=chunks, shards=shards, compressors="zstd") as f:
        assert len(f) == 0 and f.size == 0
        for step in steps[:3]:
            f.append(step)
        assert f.shape == (3, 5, 4) and np.array_equal(f, steps[:3])
    assert np.array_equal(zarr.open_array(tmp_path / "a.zarr", mode="r")[...], steps[:3])
    with ps.open(tmp_path / "a.zarr", "r+", **how) as f:
        f.append(steps[3][:, 1:], (slice(None), slice(1, None)))
        assert np.array_equal(f[-1, :, 0], np.zeros(5))
        f[3, :, 0] = steps[3][:, 0]
        for step in steps[4:]:
            f.append(step)
        assert np.array_equal(f, steps)
    with ps.open(tmp_path / "a.zarr", shape=(None, 5, 4)) as f:
        assert f.shape == (7, 5, 4) and np.array_equal(f, steps)
    assert np.array_equal(zarr.open_array(tmp_path / "a.zarr", mode="r")[...], steps)


def test_zarr_python_reads_what_was_there_at_each_sync(tmp_path):
    with ps.open(tmp_path / "s.zarr", "w", shape=(None, 2), dtype="i4", chunks=(3, 2)) as f:
        for step in range(8):
            f.append(np.array([step, -step], "i4"))
            if step % 3 == 0:
                f.sync()
            there = zarr.open_array(tmp_path / "s.zarr", mode="r")[...]
            assert np.array_equal(there[:, 0], np.arange(step - step % 3 + 1))
    assert zarr.open_array(tmp_path / "s.zarr", mode="r").shape == (8, 2)


@pytest.mark.parametrize("keys", [("default", "/"), ("default", "."), ("v2", "."), ("v2", "/")])
@pytest.mark.parametrize("chunks, shards", [((2, 2), None), ((1, 2), None), ((2, 2), (4, 4)), ((2, 2), (6, 4))])
def test_what_a_killed_program_left_is_not_seen(tmp_path, keys, chunks, shards):
    path = tmp_path / "k.zarr"
    array = zarr.create_array(path, shape=(3, 4), chunks=chunks, shards=shards, dtype="i4", fill_value=-1,
                              chunk_key_encoding={"name": keys[0], "separator": keys[1]})
    array[...] = 1
    array.resize((9, 4))
    array[3:] = 7  # of chunks that the metadata, as it was synced, does not know of
    array.resize((9, 4))
    metadata = json.loads((path / "zarr.json").read_text())
    (path / "zarr.json").write_text(json.dumps({**metadata, "shape": [3, 4]}))
    with ps.open(path, "r+", shape=(None, 4)) as f:
        for _ in range(6):
            f.append(None, None)
        assert np.array_equal(f[:3], np.ones((3, 4))) and np.array_equal(f[3:], np.full((6, 4), -1))
    assert np.array_equal(zarr.open_array(path, mode="r")[3:], np.full((6, 4), -1))


def test_who_may_not_append(tmp_path):
    ps.open(tmp_path / "n.zarr", "w", shape=(2, 2), dtype="f8").close()
    with ps.open(tmp_path / "n.zarr", "r+") as f, pytest.raises(ps.StateError, match="not opened to grow"):
        f.append(np.ones(2))
    with ps.open(tmp_path / "n.zarr", shape=(None, 2)) as f, pytest.raises(ps.StateError, match="reading only"):
        f.append(np.ones(2))
    with pytest.raises(ps.FormatError, match="has shape"):
        ps.open(tmp_path / "n.zarr", shape=(None, 3))
    for mode in ("w", "r+"):
        with pytest.raises(ps.ArgumentError, match="dimension 1 cannot grow.*dimension 0 can"):
            ps.open(tmp_path / "n.zarr", mode, shape=(2, None), dtype="f8")
    with ps.open(tmp_path / "n.zarr", "r+", shape=(None, 2)) as f:
        with pytest.raises(ps.ArgumentError):
            f.append(np.ones(3))
        assert f.shape == (2, 2)


def test_ranks_append_and_set_attributes(mpirun):
    mpirun(HEAD + """
shape = (None, 6, 8)
with ps.open("r.zarr/run/u", "w", shape=shape, dtype="f8", chunks=(2, 4, 4), compressors="zstd", comm=comm) as f:
    d = ps.distribute(shape[1:], comm)
    for step in range(3):
        f.append(np.full(d.section.shape, 10.0 * step + rank), d)
    f.attrs["steps"] = 3
    same(ps.ArgumentError, "JSON cannot represent", lambda: f.attrs.update(a=object() if rank == 1 else 1))
    same(ps.DisagreementError, "attributes", lambda: f.attrs.update(a=rank))
    same(ps.SectionError, "out of", lambda: f.append(np.zeros(6), (slice(0, 6), 99)) if rank == size - 1 else f.append(None, None))
    assert f.shape == (3, 6, 8) and dict(f.attrs) == {"steps": 3}
with ps.open("r.zarr/run/u", "r+", shape=shape, comm=comm) as f:
    f.append(np.full(d.section.shape, 30.0 + rank), d)
    f.sync()
    assert f.attrs["steps"] == 3
    del f.attrs["steps"]
same(ps.FormatError, "is a Zarr array, in which no array can lie",
     lambda: ps.open("r.zarr/run/u/v", "w", shape=(3,), dtype="f8", comm=comm))
same(ps.FormatError, "Zarr group", lambda: ps.open("r.zarr/run", "w", shape=(3,), dtype="f8", comm=comm))
if rank == 0:
    import zarr
    group = zarr.open_group("r.zarr", mode="r")
    u = group["run/u"]
    assert u.shape == (4, 6, 8) and dict(u.attrs) == {}
    for r in range(size):
        mine = ps.distribute(shape[1:], rank=r, ranks=size).section
        box = tuple(slice(low, up) for low, up, _, _ in mine.dimensions)
        for step in range(4):
            assert (u[(step,) + box] == 10.0 * step + r).all()
    assert list(group) == ["run"] and not os.path.exists("r.zarr/run/u/v")
""", 3)


def test_groups(tmp_path):
    path = tmp_path / "g.zarr" / "a" / "b" / "u"
    with ps.open(path, "w", shape=(3,), dtype="i4") as f:
        f[...] = [1, 2, 3]
    ps.open(str(tmp_path / "g.zarr" / "a" / "v") + "/", "w", shape=(2,), dtype="i4").close()
    root = zarr.open_group(tmp_path / "g.zarr", mode="r")
    assert np.array_equal(root["a/b/u"][...], [1, 2, 3]) and sorted(root["a"]) == ["b", "v"]
    before = (tmp_path / "g.zarr" / "a" / "zarr.json").read_bytes()
    ps.open(tmp_path / "g.zarr" / "a" / "w", "w", shape=(2,), dtype="i4").close()
    assert (tmp_path / "g.zarr" / "a" / "zarr.json").read_bytes() == before


def test_a_refused_array_leaves_no_groups(tmp_path):
    with pytest.raises(ps.ArgumentError):
        ps.open(tmp_path / "r.zarr" / "a" / "u", "w", shape=(3,), dtype="i4", compressors="lzma")
    assert not list(tmp_path.iterdir())
    (tmp_path / "s.zarr" / "a").mkdir(parents=True)
    (tmp_path / "s.zarr" / "a" / "u").write_text("mine")
    with pytest.raises(ps.StorageError):
        ps.open(tmp_path / "s.zarr" / "a" / "u", "w", shape=(3,), dtype="i4")
    zarr.create_group(tmp_path / "group.zarr", zarr_format=2)
    zarr.create_array(tmp_path / "array.zarr", shape=(3,), dtype="i4", zarr_format=2)
    for older in ("group.zarr", "array.zarr"):
        with pytest.raises(ps.FormatError, match="is of Zarr 2"):
            ps.open(tmp_path / older / "u", "w", shape=(3,), dtype="i4")
        assert not list(tmp_path.rglob("zarr.json")) and not (tmp_path / older / "u").exists()


def test_attributes_are_changed_later(tmp_path):
    path = tmp_path / "a.zarr"
    with ps.open(path, "w", shape=(None, 2), dtype="i4", attributes={"units": "K", "é": [1, None]}, fill_value=5) as f:
        f.append(np.array([1, 2], "i4"))
        f.attrs["step"] = 17
        assert zarr.open_array(path, mode="r").shape == (0, 2)  # not synced
        f.append(np.array([3, 4], "i4"))
    array = zarr.open_array(path, mode="r")
    assert dict(array.attrs) == {"units": "K", "é": [1, None], "step": 17} and array.fill_value == 5
    assert np.array_equal(array[...], [[1, 2], [3, 4]])
    with ps.open(path) as f:
        assert dict(f.attrs) == {"units": "K", "é": [1, None], "step": 17}
        with pytest.raises(ps.StateError, match="reading only"):
            f.attrs["step"] = 18
    with ps.open(path, "r+") as f:
        f.attrs.clear()
    with ps.open(path) as f:
        assert dict(f.attrs) == {} and np.array_equal(f, [[1, 2], [3, 4]])


@pytest.fixture
def snapshots(tmp_path):
    """An array of three steps with names, in a group."""
    u = np.arange(60.0).reshape(3, 4, 5)
    with ps.open(tmp_path / "o.zarr" / "u", "w", shape=(None, 4, 5), dtype="f8", chunks=(1, 2, 5), compressors="zstd",
                 dims=("t", "y", "x"), attributes={"units": "K"}) as f:
        for step in u:
            f.append(step)
    return tmp_path / "o.zarr", u


def test_xarray_opens_it(snapshots):
    xarray = pytest.importorskip("xarray")
    path, u = snapshots
    with xarray.open_zarr(path, consolidated=False, chunks=None) as seen:
        assert seen["u"].dims == ("t", "y", "x") and seen["u"].attrs["units"] == "K"
        assert np.array_equal(seen["u"].isel(t=1), u[1]) and np.array_equal(seen["u"], u)


def test_dask_opens_it(snapshots):
    array = pytest.importorskip("dask.array")
    path, u = snapshots
    seen = array.from_zarr(str(path / "u"))
    assert seen.chunks == ((1, 1, 1), (2, 2), (5,)) and np.array_equal(seen.sum(axis=0).compute(), u.sum(axis=0))


def test_tensorstore_opens_it(snapshots):
    tensorstore = pytest.importorskip("tensorstore")
    path, u = snapshots
    seen = tensorstore.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": str(path / "u")}}).result()
    assert seen.domain.labels == ("t", "y", "x") and np.array_equal(seen.read().result(), u)
