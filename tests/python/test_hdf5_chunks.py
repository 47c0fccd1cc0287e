"""Chunked HDF5 datasets, compressed and growing, as read by h5py."""

import itertools
import shutil
import subprocess
import time

import numpy as np
import pytest

import penstock as ps
from conftest import case_outcomes
from scripts import CASES, HEAD
from test_hdf5 import TYPES, random_array, same

h5py = pytest.importorskip("h5py")
from penstock._formats import placing  # noqa: E402

FILTERS = {None: [], "gzip": ["deflate"], "shuffle,gzip:1": ["shuffle", "deflate"], "zstd:5": ["zstd"], "shuffle,zstd": ["shuffle", "zstd"],
           "blosc": ["blosc"]}
NUMBERS = {1: "deflate", 2: "shuffle", 32001: "blosc", 32015: "zstd"}
PLUGINS = {"zstd": 32015, "blosc": 32001}


def h5py_can_read(compressors):
    """By itself, or with hdf5plugin."""
    try:
        import hdf5plugin  # noqa: F401
    except ImportError:
        pass
    return all(h5py.h5z.filter_avail(PLUGINS[name]) for name in FILTERS[compressors] if name in PLUGINS)


def filters_of(path, name):
    with h5py.File(path) as file:
        properties = file[name].id.get_create_plist()
        return [NUMBERS[properties.get_filter(i)[0]] for i in range(properties.get_nfilters())]


@pytest.mark.parametrize("compressors", FILTERS)
@pytest.mark.parametrize("dtype", ["f8", ">i2"])
def test_steps_are_added_and_seen(tmp_path, compressors, dtype):
    path, steps = tmp_path / "run.h5", np.random.default_rng(0).integers(0, 50, (8, 20, 10)).astype(dtype)
    with ps.open(path, "w", dataset="/g/u", shape=(None, 20, 10), dtype=dtype, chunks=(3, 7, 10), compressors=compressors,
                 fill_value=7, attributes={"units": "K", "n": 3}) as f:
        assert (f.shape, f.chunks, f.fill_value, f.container) == ((0, 20, 10), (3, 7, 10), 7, "hdf5")
        for t in range(5):
            f.append(steps[t])
            assert np.array_equal(f, steps[: t + 1])
        f.sync()
        if h5py_can_read(compressors):
            with h5py.File(path) as file:
                assert np.array_equal(file["g/u"][()], steps[:5])
        f.append(steps[5])
        f[1, 3:5] = steps[1, 3:5] = 1
        f.attrs["later"] = "ü"
        f.append(steps[6][:, :4], (slice(None), slice(0, 4)))
        steps[6, :, 4:] = 7
        assert np.array_equal(f, steps[:7])
    assert filters_of(path, "g/u") == FILTERS[compressors]
    with h5py.File(path) as file:
        u = file["g/u"]
        assert (u.shape, u.maxshape, u.chunks, u.fillvalue, u.dtype) == ((7, 20, 10), (None, 20, 10), (3, 7, 10), 7, dtype)
        assert dict(u.attrs) == {"units": "K", "n": 3, "later": "ü"}
        assert not h5py_can_read(compressors) or np.array_equal(u[()], steps[:7])
    with ps.open(path) as f:
        assert f.attrs["later"] == "ü" and np.array_equal(f, steps[:7]) and np.array_equal(f[5, ::3, 2], steps[5, ::3, 2])
    with ps.open(path, "r+", dtype=dtype, shape=(None, 20, 10)) as f:
        f.append(steps[7])
    with ps.open(path, shape=(8, 20, 10), chunks=(3, 7, 10)) as f:
        assert np.array_equal(f, steps)


@pytest.mark.parametrize("libver", ["earliest", "latest"])
@pytest.mark.parametrize("how", [{"compression": "gzip"}, {"compression": "gzip", "shuffle": True}, {"shuffle": True}, {}])
def test_files_of_h5py_are_rewritten(tmp_path, libver, how):
    """Chunks change their size repeatedly; another dataset in the file is not changed."""
    path, random = tmp_path / "o.h5", np.random.default_rng(1)
    whole = random.integers(0, 9, (12, 30, 5)).astype("f4")
    with h5py.File(path, "w", libver=libver, userblock_size=512) as file:
        file.create_dataset("u", data=whole, chunks=(1, 8, 5), maxshape=(None, None, 5), fillvalue=3, **how)
        file["beside"] = np.arange(1000.0)
    with ps.open(path, "r+", dataset="u", shape=(None, 30, 5)) as f:
        for turn in range(12):
            at = random.integers(0, len(whole))
            whole[at] = random.integers(0, 2 + random.integers(0, 1000), (30, 5))
            whole[:, 4:9] = random.integers(0, 2 + turn, (len(whole), 5, 5))
            f[int(at)] = whole[at]
            f[:, 4:9] = whole[:, 4:9]
            if turn % 3 == 0:
                f.append(whole[0])
                whole = np.concatenate([whole, whole[:1]])
            if turn % 2:
                f.sync()
                with h5py.File(path) as file:
                    assert np.array_equal(file["u"][()], whole)
            assert np.array_equal(f, whole)
    with h5py.File(path, "r+") as file:
        assert np.array_equal(file["u"][()], whole) and file["beside"][999] == 999
        file["u"][0], whole[0] = 1, 1
        file["u"].resize((20, 30, 5))
    with ps.open(path, dataset="u") as f:
        assert np.array_equal(f[: len(whole)], whole) and (f[len(whole) :] == 3).all()


@pytest.mark.parametrize("dtype", TYPES)
def test_types(tmp_path, dtype):
    whole, path = random_array((5, 4), dtype), tmp_path / "t.h5"
    with ps.open(path, "w", dataset="u", shape=(None, 4), dtype=dtype, chunks=(2, 3), compressors="shuffle,gzip") as f:
        for row in whole:
            f.append(row)
        assert f.read(...).tobytes() == whole.tobytes()
    with h5py.File(path, "r+") as file:
        assert same(file["u"][()], whole)
        file["beside"] = whole
        assert file["u"].id.get_type().equal(file["beside"].id.get_type())
    with ps.open(path, dataset="u") as f:
        assert f.dtype == np.dtype(dtype) and same(f.read(...), whole)


@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_all_ways_to_index_chunks(tmp_path, libver):
    """HDF5 has a list of its own for a single chunk, chunks that are all there from the beginning, no dimension that can
    grow, one, and several. If one grows that is not the first, HDF5 2.0 returns wrong places, and the dataset is
    refused."""
    path, random = tmp_path / "i.h5", np.random.default_rng(8)
    for chunks, compression, early, limits in itertools.product(((8, 8), (3, 4)), (None, "gzip"), (False, True),
                                                                ((8, 8), (20, 8), (None, None), (None, 8), (8, None))):
        whole = random.integers(0, 5, (8, 8)).astype("f4")
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY if early else h5py.h5d.ALLOC_TIME_INCR)
        with h5py.File(path, "w", libver=libver) as file:
            file.create_dataset("u", data=whole, chunks=chunks, compression=compression, maxshape=limits, dcpl=properties)
        if (libver, chunks, limits) == ("latest", (3, 4), (8, None)):
            with pytest.raises(ps.FormatError, match="does not tell where"):
                ps.open(path)
            continue
        with ps.open(path, "r+") as f:
            assert np.array_equal(f, whole)
            for row in (1, 6):
                f[row] = whole[row] = random.integers(0, 100, 8)
                f.sync()
        with h5py.File(path) as file:
            assert np.array_equal(file["u"][()], whole), (chunks, compression, early, limits)


def test_chunks_to_which_h5py_did_not_apply_a_filter(tmp_path):
    """A bit of the chunk says that the filter was not applied to it."""
    path, whole = tmp_path / "n.h5", np.random.default_rng(2).integers(0, 256, (4, 64), "u1")
    whole[1] = 5
    with h5py.File(path, "w") as file:
        u = file.create_dataset("u", data=whole, chunks=(1, 64), compression="gzip", shuffle=True)
        for row in (0, 2):
            u.id.write_direct_chunk((row, 0), whole[row].tobytes(), 0b11)
    with ps.open(path, "r+") as f:
        assert np.array_equal(f, whole)
        f[0, 3] = whole[0, 3] = 9
        assert np.array_equal(f, whole)
    with h5py.File(path) as file:
        assert np.array_equal(file["u"][()], whole)


def test_extents_that_nobody_gives(tmp_path):
    path = tmp_path / "d.h5"
    for shape, dtype, how, expected in (((None,), "f8", {}, (8192,)), ((None, 64, 64), "f8", {}, (2, 64, 64)),
                                        ((None, 1000, 2000), "f8", {}, (1, 250, 2000)), ((10, 20), "i4", {"compressors": "gzip"}, (10, 20)),
                                        ((40, 20), "i4", {"chunks": 7}, (7, 7)), ((40, 20), "i4", {}, None)):
        with ps.open(path, "w", dataset="u", shape=shape, dtype=dtype, **how) as f:
            assert f.chunks == expected, shape
        with h5py.File(path) as file:
            assert file["u"].chunks == expected


@pytest.mark.skipif(shutil.which("h5dump") is None, reason="h5dump is not installed")
def test_programs_of_hdf5(tmp_path):
    path = tmp_path / "p.h5"
    with ps.open(path, "w", dataset="/g/u", shape=(None, 3), dtype="i4", chunks=(2, 3), compressors="shuffle,gzip") as f:
        for t in range(5):
            f.append(np.arange(3, dtype="i4") + t)
    shown = subprocess.run(["h5dump", "-p", path], capture_output=True, text=True, check=True).stdout
    for words in ("CHUNKED ( 2, 3 )", "PREPROCESSING SHUFFLE", "COMPRESSION DEFLATE { LEVEL 4 }", "( 5, 3 ) / ( H5S_UNLIMITED, 3 )",
                  "(4,0): 4, 5, 6"):
        assert words in shown, shown
    if shutil.which("h5stat"):
        subprocess.run(["h5stat", path], capture_output=True, check=True)


# ---- what is refused, before anything changes


@pytest.mark.parametrize("how,words", [
    ({"compressors": "lzf"}, "'lzf' is no filter"), ({"compressors": "gzip:11"}, "deflate level"),
    ({"compressors": {"name": "blosc", "configuration": {"cname": "lzma"}}}, "'lzma'"), ({"compressors": "zstd:100"}, "level must be from"),
    ({"chunks": (2, 3)}, "an extent of 1 or more for each dimension"), ({"chunks": (0, 3, 3)}, "an extent of 1 or more"),
    ({"chunks": (1 << 24, 4, 4)}, "1 GiB at most"), ({"shards": (4, 4, 4)}, "shards= is for Zarr"), ({"shape": (3, None, 3)}, "first dimension"),
    ({"fill_value": "x"}, "fill_value"), ({"attributes": {"CLASS": 1}}, "CLASS"),
    ({"dims": {"t": [1.0], "y": None, "x": None}}, "'t' grows"),
])
def test_arguments_that_do_not_fit(tmp_path, how, words):
    path, good = tmp_path / "n.h5", {"dataset": "u", "shape": (None, 4, 4), "dtype": "f8"}
    with pytest.raises(ps.ArgumentError, match=words):
        ps.open(path, "w", **{**good, **how})
    assert not path.exists()
    ps.open(path, "w", **good).close()
    before = path.read_bytes()
    for mode, name in (("w", "u"), ("r+", "v")):
        with pytest.raises(ps.ArgumentError, match=words):
            ps.open(path, mode, **{**good, "dataset": name, **how})
        assert path.read_bytes() == before


def test_what_the_file_says_otherwise(tmp_path):
    path = tmp_path / "o.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("fixed", data=np.zeros((4, 4)), chunks=(2, 2))
        file.create_dataset("plain", data=np.zeros((4, 4)))
    before = path.read_bytes()
    for name, how, words in (("fixed", {"chunks": (2, 4)}, r"chunks \(2, 2\), not \(2, 4\)"), ("fixed", {"shape": (None, 4)}, "cannot grow"),
                             ("plain", {"shape": (None, 4)}, "cannot grow"), ("plain", {"chunks": (2, 2)}, "chunks None")):
        with pytest.raises(ps.FormatError, match=words):
            ps.open(path, "r+", dataset=name, **how)
    with ps.open(path, "r+", dataset="fixed") as f:
        with pytest.raises(ps.StateError, match="not opened to grow"):
            f.append(np.zeros(4))
        with pytest.raises(ps.ArgumentError, match="no size to set"):
            f.truncate(10)
    assert path.read_bytes() == before


def test_others_that_have_the_file_open(tmp_path):
    path, how = tmp_path / "l.h5", {"dataset": "u", "shape": (None, 4), "dtype": "f8"}
    ps.open(path, "w", **how).close()
    with h5py.File(path, "r+"):
        with pytest.raises(ps.StorageError, match="open in another program"):
            ps.open(path, "r+", **how)
    with ps.open(path, "r+", **how) as f:
        f.append(np.ones(4))
        for mode in ("r+", "a"):
            with pytest.raises(OSError):
                h5py.File(path, mode)
        for name in "uv":  # HDF5's lock does not keep a second one of this program out, which would place chunks over the first one's
            with pytest.raises(ps.StorageError, match="open in another program"):
                ps.open(path, "r+", **{**how, "dataset": name})
        f.sync()
        with h5py.File(path) as file:
            assert file["u"].shape == (1, 4)
    with h5py.File(path, "r+") as file:
        file["u"][0] = 2
    handle = ps.open(path, "r+", **how).close(wait=False)
    handle.wait()
    h5py.File(path, "r+").close()


def test_a_damaged_chunk_is_named(tmp_path):
    path = tmp_path / "d.h5"
    with h5py.File(path, "w") as file:
        u = file.create_dataset("u", data=np.arange(100.0), chunks=(50,), compression="gzip")
        place = u.id.get_chunk_info(1).byte_offset
    with open(path, "r+b") as file:
        file.seek(place + 4)
        file.write(b"\xff" * 20)
    with ps.open(path) as f:
        assert np.array_equal(f[:50], np.arange(50.0))
        with pytest.raises(ps.FormatError, match=f"at byte {place} of it"):
            f.read(...)


def test_a_block_that_is_left_by_an_exception(tmp_path, capfd):
    path = tmp_path / "e.h5"
    with pytest.raises(KeyError), ps.open(path, "w", dataset="u", shape=(None, 4), dtype="f8", compressors="gzip") as f:
        f.append(np.ones(4))
        f.sync()
        f.append(np.ones(4))
        raise KeyError
    assert "LOST DATA" in capfd.readouterr().err
    with h5py.File(path, "r+") as file:
        assert np.array_equal(file["u"][()], np.ones((1, 4)))


def test_many_chunks_get_their_places(tmp_path):
    """100,000 take 5 s of rank 0 at most; here are a fifth of them."""
    path, count = tmp_path / "m.h5", 20_000
    ps.open(path, "w", dataset="u", shape=(None, 64), dtype="f8", chunks=(1, 64), compressors="gzip").close()
    chunks = np.zeros((count, 4), np.int64)
    chunks[:, 0], chunks[:, 2] = np.arange(count), np.random.default_rng(6).integers(50, 500, count)
    placer = placing.Placer(str(path), "/u", b"")
    begin = time.process_time()
    places = np.frombuffer(placer.place([count, 64], chunks.tobytes()), np.int64).reshape(-1, 4)
    placer.publish([count, 64])
    assert time.process_time() - begin < 1
    placer.leave()
    ends = np.sort(places[:, 1]) + places[np.argsort(places[:, 1]), 2]
    assert (np.sort(places[:, 1])[1:] >= ends[:-1]).all()
    with h5py.File(path) as file:
        assert file["u"].id.get_num_chunks() == count


# ---- several ranks


TOGETHER = HEAD + """
import h5py
random = np.random.default_rng(5)  # the same on every rank
for compressors in ("shuffle,gzip", None):
    name = f"t{compressors is None}.h5"
    model = random.integers(0, 9, (12, 20, 10)).astype("f8")
    d = ps.distribute((20, 10), comm, kind=("block", "block"))
    mine = tuple(slice(low, up) for low, up, _, _ in d.section.dimensions)
    def check(steps):
        if rank == 0:
            with h5py.File(name) as file:
                assert np.array_equal(file["g/u"][()], model[:steps])
        comm.Barrier()
    with ps.open(name, "w", dataset="/g/u", shape=(None, 20, 10), dtype="f8", chunks=(3, 7, 4), compressors=compressors,
                 fill_value=7, comm=comm) as f:
        for t in range(9):
            f.append(model[t][mine], d)
            if t % 4 == 1:
                assert np.array_equal(f[...], model[: t + 1])
            if t % 3 == 2:
                f.sync()
                check(t + 1)
            handles = [f.write_begin(model[t][mine] + 1, (t, d)), f.write_begin(np.full(10, rank, "f8"), (t, rank, slice(None)))]
            model[t] += 1
            model[t, :size] = np.arange(size)[:, None]
            for handle in handles:
                handle.wait()
        assert np.array_equal(f[...], model[:9])
        f.attrs["who"] = "all"
    check(9)
    with ps.open(name, "r+", shape=(None, 20, 10), comm=comm) as f:
        for _ in range(5):
            sections = [tuple(slice(*sorted(random.integers(0, n + 1, 2))) for n in (9, 20, 10)) for _ in range(size)]
            for r in range(size):
                part = random.random(model[:9][sections[r]].shape)
                model[:9][sections[r]] = part
                own = part if r == rank else own
            f.write(own, sections[rank])
        f.append(model[9][mine], d)
        assert np.array_equal(f.read(...), model[:10])
        assert f.attrs["who"] == "all"
    check(10)
    with ps.open(name, comm=comm) as f:
        assert np.array_equal(f.read((slice(rank, None, size), ...)), model[rank:10:size])
""".replace("random = np", "own = None\nrandom = np", 1)


@pytest.mark.ranks
@pytest.mark.parametrize("ranks", [1, 3])
def test_ranks_write_chunks_together(mpirun, ranks):
    mpirun(TOGETHER, ranks)


FAULTS = CASES + """
import h5py
def made(name, **how):
    return ps.open(name, **{"mode": "w", "dataset": "u", "shape": (None, 8), "dtype": "f8", "compressors": "gzip", "chunks": (1, 3), "comm": comm, **how})
@case
def other_chunks():
    record(lambda: made("a.h5", chunks=(1, 3) if last else (1, 4)))
@case
def other_filter():
    record(lambda: made("a.h5", compressors="lzf" if last else "gzip"))
@case
def left():
    record(lambda: os.path.exists("a.h5"))
@case
def wrong_steps():
    f = made("b.h5")
    record(lambda: f.append(np.zeros(9 if last else 8), ...))
    record(lambda: f.append(np.ones(8) if last else None, ... if last else None))
    f.close()
    with ps.open("b.h5", comm=comm) as f:
        record(lambda: str(f[...].tolist()))
@case
def place_that_fails():
    from penstock._formats import placing
    f = made("c.h5")
    f.append(np.ones(8) if last else None, ... if last else None)
    f.sync()
    if rank == 0:
        placing.Overlay.chunk = None
    f.append(np.ones(8) if last else None, ... if last else None)
    record(lambda: f.read(...))
    record(lambda: f.append(None, None))
    record(f.close)
    if rank == 0:
        with h5py.File("c.h5", "r+") as file:
            assert file["u"].shape == (1, 8), file["u"]
"""


@pytest.mark.ranks
def test_all_ranks_are_told_alike(tmp_path):
    outcomes, _ = case_outcomes(tmp_path, FAULTS, 2)
    for case, call, kind, words in (("other_chunks", 0, "DisagreementError", "chunks"), ("other_filter", 0, "ArgumentError", "lzf"),
                                    ("wrong_steps", 0, "ArgumentError", "shape"), ("place_that_fails", 0, "InternalError", ""),
                                    ("place_that_fails", 1, "StateError", "could not be written before"), ("place_that_fails", 2, "", "")):
        ranks = [rank[call] for rank in outcomes[case]]
        assert all(name == kind and words in text for name, text in ranks) and len({text for _, text in ranks}) == 1, (case, ranks)
    assert outcomes["left"] == [[["", False]]] * 2
    assert outcomes["wrong_steps"][0][2] == ["", str([[1.0] * 8])]
