"""Zarr arrays on one process: zarr-python reads what Penstock writes, and the other way round."""

import json
import os
import resource
import stat

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import penstock as ps
from conftest import left_over

zarr = pytest.importorskip("zarr", minversion="3.0")

FUZZ = settings(max_examples=60, deadline=None, print_blob=True,
                suppress_health_check=[HealthCheck.function_scoped_fixture])
DTYPES = ["?", "i1", "u1", "<i2", ">i4", "<i8", "<u2", "<u4", ">u8", "<f2", "<f4", ">f8", "<c8", "<c16"]
CODECS = ["", "zstd", "zstd:5", "gzip:3", "blosc", "crc32c", "zstd,crc32c",
          {"name": "blosc", "configuration": {"cname": "lz4", "clevel": 3, "shuffle": "bitshuffle"}}]


@st.composite
def layouts(draw):
    dimensions = draw(st.integers(1, 3))
    shape = tuple(draw(st.integers(1, 17)) for _ in range(dimensions))
    chunks = tuple(draw(st.integers(1, n + 3)) for n in shape)
    shards = tuple(n * draw(st.integers(1, 3)) for n in chunks) if draw(st.booleans()) else None
    return shape, chunks, shards


@st.composite
def ranges(draw, extent):
    lower = draw(st.integers(0, extent - 1))
    return slice(lower, draw(st.integers(lower + 1, extent)), draw(st.integers(1, 4)))


@st.composite
def indices(draw, extent):
    if draw(st.integers(0, 4)) > 0:
        return draw(ranges(extent))
    chosen = draw(st.permutations(range(extent)))[:draw(st.integers(1, extent))]
    return chosen


def values(draw, dtype, shape):
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return random.integers(0, 3, size=shape).astype(dtype)


def in_numpy(section):
    """All combinations of what is taken of each dimension."""
    return np.ix_(*(np.arange(1000)[s] if isinstance(s, slice) else s for s in section))


def asked(section):
    """Several lists together mean pairs, except with numpy.ix_."""
    return section if sum(not isinstance(s, slice) for s in section) < 2 else in_numpy(section)


@FUZZ
@given(layout=layouts(), dtype=st.sampled_from(DTYPES), codec=st.sampled_from(CODECS), data=st.data())
def test_zarr_python_reads_what_is_written(tmp_path, layout, dtype, codec, data):
    shape, chunks, shards = layout
    path = tmp_path / "a.zarr"
    fill = data.draw(st.sampled_from([0, 1]))
    model = np.full(shape, fill, dtype)
    with ps.open(path, "w", shape=shape, dtype=dtype, chunks=chunks, shards=shards, compressors=codec,
                 fill_value=fill) as f:
        assert (f.chunks, f.shards, f.container, f.dtype) == (chunks, shards, "zarr", np.dtype(dtype))
        for _ in range(data.draw(st.integers(1, 4))):
            section = tuple(data.draw(indices(n)) for n in shape)
            part = values(data.draw, dtype, model[in_numpy(section)].shape)
            model[in_numpy(section)] = part
            f.write(part, asked(section), active_buffer_size=data.draw(st.sampled_from(["0", "64M"])),
                    buffer_size=data.draw(st.sampled_from(["64K", "2M"])))
        section = tuple(data.draw(indices(n)) for n in shape)
        np.testing.assert_array_equal(f.read(asked(section)), model[in_numpy(section)])
    np.testing.assert_array_equal(zarr.open_array(path, mode="r")[...], model)
    assert not list(path.rglob(".*"))


@FUZZ
@given(layout=layouts(), dtype=st.sampled_from(DTYPES), data=st.data())
def test_what_zarr_python_wrote_is_read_and_changed(tmp_path, layout, dtype, data):
    shape, chunks, shards = layout
    path = tmp_path / "b.zarr"
    keys = data.draw(st.sampled_from([("default", "/"), ("default", "."), ("v2", "."), ("v2", "/")]))
    codecs = data.draw(st.sampled_from([None, "auto", zarr.codecs.BloscCodec(cname="zstd"), zarr.codecs.GzipCodec()]))
    array = zarr.create_array(path, shape=shape, chunks=chunks, shards=shards, dtype=dtype, compressors=codecs,
                              fill_value=1, overwrite=True, attributes={"units": "K"},
                              chunk_key_encoding={"name": keys[0], "separator": keys[1]})
    section = tuple(data.draw(ranges(n)) for n in shape)
    model = np.full(shape, 1, dtype)
    model[section] = values(data.draw, dtype, model[section].shape)
    array[section] = model[section]
    with ps.open(path, "r+") as f:
        assert (dict(f.attrs), f.fill_value) == ({"units": "K"}, np.ones((), dtype))
        np.testing.assert_array_equal(f.read(...), model)
        for method in ("direct", "sieved", "extended"):
            np.testing.assert_array_equal(f.read(section, method=method), model[section])
        section = tuple(data.draw(ranges(n)) for n in shape)
        model[section] = values(data.draw, dtype, model[section].shape)
        f.write(model[section].astype(f.dtype), section, method=data.draw(st.sampled_from(["auto", "direct", "two-phase", "gather"])))
    np.testing.assert_array_equal(zarr.open_array(path, mode="r")[...], model)


def test_runs_of_elements(tmp_path):
    model = np.zeros(7 * 11, "i4")
    with ps.open(tmp_path / "e.zarr", "w", shape=(7, 11), dtype="i4", chunks=(2, 3), shards=(4, 6)) as f:
        runs = [(3, 25), (30, 31), (40, 77)]
        part = np.arange(1, 1 + sum(b - a for a, b in runs), dtype="i4")
        f.write(part, ps.extents(runs))
        np.testing.assert_array_equal(f.read(ps.extents(runs)), part)
    for a, b in runs:
        model[a:b], part = part[:b - a], part[b - a:]
    np.testing.assert_array_equal(zarr.open_array(tmp_path / "e.zarr", mode="r")[...], model.reshape(7, 11))


@pytest.mark.parametrize("dtype, fill", [("f8", np.nan), ("f4", -np.inf), ("f2", 0.1), ("f2", 6e-8), ("f8", 1e300),
                                         ("i8", -2**63), ("u8", 2**64 - 1), ("?", True), ("c8", 1 - 2j), ("i2", -7),
                                         (">f4", 0.1), ("u1", 255)])
def test_fill_values(tmp_path, dtype, fill):
    path = tmp_path / "f.zarr"
    ps.open(path, "w", shape=(3,), dtype=dtype, fill_value=fill).close()
    expected = np.full(3, fill, dtype)
    assert sorted(p.name for p in path.iterdir()) == ["zarr.json"]
    np.testing.assert_array_equal(zarr.open_array(path, mode="r")[...], expected)
    with ps.open(path) as f:
        np.testing.assert_array_equal(f.read(...), expected)


def test_names_and_attributes(tmp_path):
    path = tmp_path / "n.zarr"
    attributes = {"units": "m/s", "levels": [1, 2.5], "é": None}
    ps.open(path, "w", shape=(3, 4), dtype="f4", dims=("y", None), attributes=attributes).close()
    array = zarr.open_array(path, mode="r")
    assert (array.metadata.dimension_names, dict(array.attrs)) == (("y", None), attributes)
    with ps.open(path) as f:
        assert (f.dims, dict(f.attrs)) == (("y", None), attributes)


def test_an_array_in_a_group(tmp_path):
    group = zarr.open_group(tmp_path / "run.zarr", mode="w")
    with ps.open(tmp_path / "run.zarr" / "u", "w", shape=(5,), dtype="i4", compressors="zstd") as f:
        f.write(np.arange(5, dtype="i4"), ...)
    np.testing.assert_array_equal(group["u"][...], np.arange(5))


def test_a_chunk_of_the_fill_value_is_not_kept(tmp_path):
    path = tmp_path / "z.zarr"
    with ps.open(path, "w", shape=(8,), dtype="i4", chunks=4) as f:
        f.write(np.arange(8, dtype="i4"), ...)
    assert sorted(p.name for p in (path / "c").iterdir()) == ["0", "1"]
    with ps.open(path, "r+") as f:
        f.write(np.zeros(4, "i4"), slice(0, 4))
    assert sorted(p.name for p in (path / "c").iterdir()) == ["1"]


def test_the_old_chunks_stay_where_the_new_metadata_cannot_be_written(tmp_path):
    old, limit = np.arange(40.0).reshape(8, 5), resource.getrlimit(resource.RLIMIT_FSIZE)
    with ps.open(tmp_path / "a.zarr", "w", shape=(8, 5), dtype="f8", chunks=(3, 5)) as f:
        f.write(old, ...)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limit[1]))
    try:
        with pytest.raises(ps.StorageError, match="zarr.json"):
            ps.open(tmp_path / "a.zarr", "w", shape=(3, 3), dtype="f4")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    with ps.open(tmp_path / "a.zarr") as f:
        assert np.array_equal(f, old)


def test_made_anew_the_old_chunks_go(tmp_path):
    path = tmp_path / "w.zarr"
    with ps.open(path, "w", shape=(9,), dtype="i8", chunks=2) as f:
        f.write(np.arange(9), ...)
    (path / "notes.txt").write_text("mine")
    with ps.open(path, "w", shape=(2, 2), dtype="f4", chunks=1) as f:
        np.testing.assert_array_equal(f.read(...), np.zeros((2, 2)))
    assert sorted(p.name for p in path.iterdir()) == ["notes.txt", "zarr.json"]


def test_sync(tmp_path):
    with ps.open(tmp_path / "s.zarr", "w", shape=(8, 8), dtype="i4", chunks=3, shards=6, compressors="zstd") as f:
        f.write(np.ones((8, 8), "i4"), ...)
        f.sync()
        np.testing.assert_array_equal(zarr.open_array(tmp_path / "s.zarr", mode="r")[...], 1)


def changed(metadata, **members):
    return json.dumps({**metadata, **members})


@pytest.fixture
def made(tmp_path):
    path = tmp_path / "d.zarr"
    with ps.open(path, "w", shape=(64,), dtype="f8", chunks=32, compressors="zstd") as f:
        f.write(np.arange(64.0), ...)
    return path


@pytest.mark.parametrize("members, words", [
    ({"zarr_format": 2}, "zarr_format is 2"), ({"node_type": "group"}, "Zarr group"),
    ({"data_type": "string"}, 'data_type "string"'), ({"fill_value": "x"}, "fill_value"),
    ({"codecs": [{"name": "transpose", "configuration": {"order": [0]}}, {"name": "bytes"}]}, "transpose"),
    ({"codecs": [{"name": "bytes"}, {"name": "lz77"}]}, "'lz77' is not one of Penstock's, which are zstd"),
    ({"chunk_grid": {"name": "rectilinear"}}, "rectilinear"), ({"shape": [-1]}, "must not be negative"),
    ({"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [0]}}}, "at least 1"),
    ({"storage_transformers": [{"name": "x"}]}, "storage transformers"), ({"new": 1}, '"new"'),
    ({"shape": "many"}, "shape must be a list")])
def test_foreign_metadata(made, members, words):
    file = made / "zarr.json"
    file.write_text(changed(json.loads(file.read_text()), **members))
    with pytest.raises(ps.FormatError, match=words) as error:
        ps.open(made)
    assert "zarr.json" in str(error.value)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "\x00\xff", '{"zarr_format": 3}'])
def test_damaged_metadata(made, text):
    (made / "zarr.json").write_text(text)
    for mode in ("r", "r+", "w"):
        with pytest.raises(ps.FormatError, match="zarr.json"):
            ps.open(made, mode, shape=(64,), dtype="f8")
    assert (made / "zarr.json").read_text() == text and (made / "c" / "0").exists()


@pytest.mark.parametrize("damage", [lambda b: b[:-5], lambda b: b"", lambda b: b + b"x", lambda b: b[:4] + b"\xff" + b[5:]])
@pytest.mark.parametrize("codec", ["", "zstd", "gzip", "blosc", "crc32c"])
def test_damaged_chunks(tmp_path, damage, codec):
    path = tmp_path / "c.zarr"
    with ps.open(path, "w", shape=(64,), dtype="f8", chunks=32, compressors=codec) as f:
        f.write(np.arange(64.0), ...)
    chunk = path / "c" / "1"
    before = chunk.read_bytes()
    after = damage(before)
    if codec == "" and len(after) == len(before):
        pytest.skip("bytes without a checksum may have any value")
    chunk.write_bytes(after)
    with ps.open(path, "r+") as f:
        np.testing.assert_array_equal(f.read(slice(0, 32)), np.arange(32.0))
        try:
            read = f.read(slice(32, 64))
        except ps.FormatError as error:
            assert "c/1" in str(error)
        else:  # a byte of a header that says nothing of the data
            np.testing.assert_array_equal(read, np.arange(32.0, 64.0))
            return
        with pytest.raises(ps.FormatError, match="c/1"):
            f.write(np.zeros(3), slice(40, 43), active_buffer_size=0)
        assert chunk.read_bytes() == after
        f.write(np.ones(32), slice(32, 64))
    np.testing.assert_array_equal(zarr.open_array(path, mode="r")[32:], 1)


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: b[:10], lambda b: b[:-4] + b"\x00\x00\x00\x01"])
def test_damaged_shards(tmp_path, damage):
    path = tmp_path / "s.zarr"
    with ps.open(path, "w", shape=(64,), dtype="f8", chunks=8, shards=32) as f:
        f.write(np.arange(64.0), ...)
    shard = path / "c" / "1"
    shard.write_bytes(damage(shard.read_bytes()))
    with ps.open(path) as f, pytest.raises(ps.FormatError, match="c/1.*index"):
        f.read(...)


@pytest.mark.parametrize("arguments, words", [
    ({"chunks": (3,)}, "chunks"), ({"chunks": (0, 1)}, "at least 1"), ({"chunks": 2, "shards": 3}, "multiples"),
    ({"compressors": "zstd:99"}, "level"), ({"compressors": "lzma"}, "'lzma' is not one of"),
    ({"compressors": "zstd:x"}, "not a whole number"), ({"compressors": {"name": "blosc", "configuration": {"cname": "q"}}}, "cname"),
    ({"dtype": "S3"}, "Zarr"), ({"dtype": [("a", "i4")]}, "Zarr"), ({"order": "F"}, "transpose"), ({"offset": 8}, "offset"),
    ({"fill_value": "x"}, "fill_value"), ({"dims": ("a",)}, "dimension_names"),
    ({"attributes": {"a": object()}}, "JSON"), ({"chunks": (2**20, 2**20)}, "1 GiB"),
    ({"hints": {"storage": "direct"}}, "storage")])
def test_refused_arguments(tmp_path, arguments, words):
    with pytest.raises(ps.ArgumentError, match=words):
        ps.open(tmp_path / "r.zarr", "w", **{"shape": (4, 4), "dtype": "f8", **arguments})
    assert not (tmp_path / "r.zarr").exists()


def test_other_refusals(tmp_path, made):
    with pytest.raises(ps.ArgumentError, match="no Zarr array"):
        ps.open(tmp_path / "a.npy", "w", shape=(4,), dtype="f8", chunks=2)
    (tmp_path / "x.zarr").mkdir()
    (tmp_path / "x.zarr" / "letter").write_text("dear")
    with pytest.raises(ps.FormatError, match="no Zarr array: nothing of it is replaced"):
        ps.open(tmp_path / "x.zarr", "w", shape=(4,), dtype="f8")
    with pytest.raises(ps.FormatError, match="no zarr.json"):
        ps.open(tmp_path / "x.zarr")
    with pytest.raises(ps.StorageError):
        ps.open(tmp_path / "none.zarr")
    with pytest.raises(ps.FormatError, match="has shape"):
        ps.open(made, shape=(5,))
    with ps.open(made, "r+") as f, pytest.raises(ps.ArgumentError, match="no size to set"):
        f.truncate(3)


@pytest.mark.parametrize("mode", ["r+", "w"])
@pytest.mark.parametrize("codec", ["", "zstd"])
def test_no_link_is_followed_beside_the_files(tmp_path, mode, codec):
    path, victim = tmp_path / "a.zarr", tmp_path / "victim"
    how = {"shape": (8, 8), "dtype": "f8", "chunks": (4, 4), "compressors": codec}
    victim.write_text("precious")
    with ps.open(path, "w", **how) as f:
        f[...] = 1
    for file in [path / "zarr.json", *(path / "c").glob("*/*")]:
        for name in (f"{file.name}.partial", f".{file.name}.partial", f"{file.name}.tmp"):
            (file.parent / name).symlink_to(victim)
    (path / "c" / "1" / "1").unlink()
    (path / "c" / "1" / "1").symlink_to(victim)  # the chunk itself: replaced, not followed
    with ps.open(path, mode, **how) as f:
        f[...] = 2
        f.attrs["a"] = 1
    assert victim.read_text() == "precious" and not (path / "c" / "1" / "1").is_symlink()
    np.testing.assert_array_equal(zarr.open_array(path, mode="r")[...], 2)


def test_files_that_are_replaced_keep_their_mode(tmp_path):
    path = tmp_path / "a.zarr"
    with ps.open(path, "w", shape=(8,), dtype="f8", chunks=4) as f:
        f[...] = 1
    modes = {path / "zarr.json": 0o640, path / "c" / "0": 0o604}
    for file, mode in modes.items():
        os.chmod(file, mode)
    with ps.open(path, "r+") as f:
        f[...] = 2
        f.attrs["a"] = 1
    assert {file: stat.S_IMODE(file.stat().st_mode) for file in modes} == modes


def test_what_killed_programs_have_left_goes(tmp_path):
    path = tmp_path / "a.zarr"
    with ps.open(path, "w", shape=(8, 8), dtype="f8", chunks=(4, 4)) as f:
        f[...] = 1
    stale = [left_over(path / "zarr.json"), left_over(path / "c" / "0" / "0"), left_over(path / "c" / "1" / "1")]
    with ps.open(path, "r+") as f:
        assert f[0, 0] == 1 and all(file.exists() for file in stale)
        f[0, 7] = 2
        f.sync()
        assert [file.exists() for file in stale] == [True, False, True]
        f.attrs["a"] = 1
        f[7, 0] = 2
    assert not any(file.exists() for file in stale)
    left_over(path / "c" / "0" / "0"), left_over(path / "zarr.json")
    with ps.open(path, "w", shape=(8, 8), dtype="f8", chunks=(4, 4)) as f:
        f[...] = 3
    assert not list(path.rglob(".*"))
