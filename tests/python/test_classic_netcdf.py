"""Classic netCDF (CDF-1, CDF-2, CDF-5): written by ranks and read by others' programs, and the other way round."""

import importlib.util
import shutil
import subprocess

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import penstock as ps
from conftest import run_ranks
from scripts import HEAD

xarray = pytest.importorskip("xarray")
scipy_io = pytest.importorskip("scipy.io")
from penstock._formats import classic, classic_header  # noqa: E402

KINDS = ("cdf1", "cdf2", "cdf5")
VERSIONS = dict(zip(KINDS, (1, 2, 5)))


def program(*command):
    """Of netCDF's and PnetCDF's programs, where they are installed: what it says of a file."""
    if shutil.which(command[0]) is None:
        return None
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def seen_by_others(path):
    """By each reader that is installed, as an xarray.Dataset."""
    kind = classic_header.kind_in(path)
    dumped = program("ncdump", "-k", str(path))
    assert dumped is None or dumped.strip() == {"cdf1": "classic", "cdf2": "64-bit offset", "cdf5": "cdf5"}[kind]
    program("ncvalidator", "-q", str(path))
    for engine, module in (("scipy", "scipy"), ("netcdf4", "netCDF4")):
        if importlib.util.find_spec(module) and (kind != "cdf5" or engine == "netcdf4"):
            with xarray.open_dataset(path, engine=engine, decode_times=False) as seen:
                yield seen


def dump(path, name):
    """The numbers of a variable as ncdump writes them."""
    text = program("ncdump", "-p", "9,17", "-v", name, str(path))
    if text is None:
        return None
    return np.array([float(one) for one in text.split("data:")[1].split("=")[1].split(";")[0].split(",")])


TOGETHER = HEAD + """
ny, nx = 13, 10
u = np.random.default_rng(3).random((7, ny, nx)).astype("f4")
b = np.random.default_rng(4).integers(-99, 99, (7, 3)).astype("i1")
rows = slice(ny * rank // size, ny * (rank + 1) // size)
with ps.open_dataset("t.nc", "w", comm=comm, container=KIND, attributes={"title": "heat", "numbers": [1, 2, 3]}) as ds:
    assert (len(ds), ds.dims, bool(ds), ds.container) == (0, {}, True, KIND)
    ds.create("b", (None, 3), "i1", ("time", "three"))
    ds.create("time", (None,), "f8", ("time",), attributes={"units": "s"})
    ds.create("y", ny, "f8", ("y",))
    ds.create("u", (None, ny, nx), "f4", ("time", "y", "x"), attributes={"units": "K", "range": np.float32([0, 1])})
    ds.create("rank", (ny, nx), "i4", ("y", "x"))
    ds["u"].attrs["note"] = "before a step"
    for t in range(3):
        ds["u"][t, rows] = u[t, rows]
        ds["time"][t] = t * 0.5
        ds["b"].append(b[t] if rank == size - 1 else None, ... if rank == size - 1 else None)
    ds["y"][:] = np.arange(ny) / 2
    ds.sync()
    ds["u"].attrs["note"] = "after three steps"
    ds["rank"][rows] = rank
    same(ps.StateError, "made before the first", lambda: ds.create("late", 3, "i4", ("three",)))
    handle = ds["u"].write_begin(u[1, rows] + 1, (1, rows))
    handle.wait()
    ds.attrs["steps"] = 5
    for t in range(3, 5):
        ds["u"][t, rows] = u[t, rows]
        ds["time"][t] = t * 0.5
        ds["b"].append(b[t])
    u[1] += 1
    assert ds["u"].shape == (5, ny, nx) and ds.dims == {"time": 5, "three": 3, "y": ny, "x": nx}
    assert np.array_equal(ds["u"][...], u[:5]) and ds["u"].dtype == ">f4" and ds["u"].dims == ("time", "y", "x")
assert ds.closed
with ps.open_dataset("t.nc", "r+", comm=comm) as ds:
    assert ds.container == KIND
    for t in range(5, 7):
        ds["u"][t, rows] = u[t, rows]
        ds["time"].append(np.float64(t * 0.5))
        ds["b"][t] = b[t]
    b[2:5, 1] = -b[2:5, 1]
    ds["b"][2:5, 1] = b[2:5, 1]
    ds["u"].attrs["note"] = "after seven"
    del ds.attrs["steps"]
    same(ps.StateError, "choose container='netcdf'", lambda: ds.create("late", 3, "i4", ("three",)))
with ps.open_dataset("t.nc", comm=comm) as ds:
    assert sorted(ds) == ["b", "rank", "time", "u", "y"] and ds.dims["time"] == 7
    assert ds.attrs["title"] == "heat" and list(ds.attrs["numbers"]) == [1, 2, 3] and "steps" not in ds.attrs
    assert ds["u"].attrs["note"] == "after seven" and np.array_equal(ds["u"].attrs["range"], [0, 1])
    assert np.array_equal(ds["u"][3, ..., rank], u[3, :, rank]) and np.array_equal(ds["u"][...], u)
    assert np.array_equal(ds["u"][[5, 1, 2], 4:2:-1], u[[5, 1, 2], 4:2:-1])
    assert np.array_equal(ds["b"][rank::size], b[rank::size]) and ds["b"].shape == b.shape
    assert np.array_equal(ds["time"][...], np.arange(7) / 2)
    out = np.empty((7, nx), "f8")
    ds["u"].read((slice(None), 2), out)
    assert np.array_equal(out, u[:, 2].astype("f8"))
    same(ps.StateError, "reading only", lambda: ds["u"].write(u[0], 0))
"""


@pytest.mark.parametrize("ranks", [1, 3, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", KINDS)
def test_ranks_write_variables_together(tmp_path, kind, ranks):
    run_ranks(tmp_path, TOGETHER.replace("KIND", repr(kind)), ranks)
    u = np.random.default_rng(3).random((7, 13, 10)).astype("f4")
    b = np.random.default_rng(4).integers(-99, 99, (7, 3)).astype("i1")
    u[1] += 1
    b[2:5, 1] = -b[2:5, 1]
    path = tmp_path / "t.nc"
    for seen in seen_by_others(path):
        assert np.array_equal(seen["u"], u) and np.array_equal(seen["b"], b) and seen["u"].dims == ("time", "y", "x")
        assert np.array_equal(seen["time"], np.arange(7) / 2) and np.array_equal(seen["y"], np.arange(13) / 2)
        assert seen["rank"].max() == ranks - 1 and seen.attrs["title"] == "heat" and set(seen.coords) == {"time", "y"}
        assert seen["u"].attrs["note"] == "after seven" and list(seen.attrs["numbers"]) == [1, 2, 3]
        assert seen.encoding["unlimited_dims"] == {"time"}
    numbers = dump(path, "u")
    assert numbers is None or np.array_equal(numbers.astype("f4"), u.ravel())
    header, size = classic_header.header_of(path)
    assert size == header.end and header.records == 7 and header.record_size == 4 + 8 + 4 * 13 * 10


OTHERS = HEAD + """
x = np.load("x.npy")
with ps.open_dataset("s.nc", MODE, comm=comm) as ds:
    assert ds.container == KIND and ds.attrs["history"] == "by scipy" and ds["n"].dims == ("k",)
    assert ds["x"].shape == x.shape and ds["x"].attrs["scale_factor"] == 0.5 and ds["x"].attrs["units"] == "m"
    assert np.array_equal(ds["x"][rank::size], x[rank::size]) and np.array_equal(ds["n"][...], [7, -8, 9])
    assert ds["c"].dtype == "S1" and ds["c"][...].tobytes() == b"abc"
    if MODE == "r+":
        ds["x"].append(x[rank] if rank == 0 else None, ... if rank == 0 else None)
        ds["x"][0] = x[1]
with ps.open("s.nc", dataset="x", comm=comm) as f:
    assert f.dtype == ">i2" and f.dims == ("t", "k") and f.container == KIND
    assert np.array_equal(f.read((slice(1, len(x)), slice(None))), x[1:])
"""


@pytest.mark.parametrize("mode", ["r", "r+"])
@pytest.mark.parametrize("ranks", [1, 3, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("version", [1, 2])
def test_files_of_scipy_are_read_and_written(tmp_path, version, ranks, mode):
    x = np.arange(15, dtype=">i2").reshape(5, 3)
    np.save(tmp_path / "x.npy", x)
    with scipy_io.netcdf_file(tmp_path / "s.nc", "w", version=version) as file:
        file.history = "by scipy"
        for name, length in (("t", None), ("k", 3)):
            file.createDimension(name, length)
        one = file.createVariable("x", "i2", ("t", "k"))  # the only one with records: they have no padding
        one[:] = x
        one.units, one.scale_factor = "m", 0.5
        file.createVariable("n", "i4", ("k",))[:] = [7, -8, 9]
        file.createVariable("c", "c", ("k",))[:] = np.array([b"a", b"b", b"c"])
    run_ranks(tmp_path, OTHERS.replace("MODE", repr(mode)).replace("KIND", repr(f"cdf{version}")), ranks)
    for seen in seen_by_others(tmp_path / "s.nc"):
        expected = x if mode == "r" else np.concatenate([x[1:2], x[1:], x[:1]])
        assert np.array_equal(seen["x"], expected * 0.5)

def test_single_values(tmp_path):
    with scipy_io.netcdf_file(tmp_path / "s.nc", "w") as file:
        file.createDimension("k", 3)
        file.createVariable("one", "f8", ())[...] = 3.5
        file.createVariable("n", "i4", ("k",))[:] = [7, -8, 9]
    with ps.open_dataset(tmp_path / "s.nc") as ds:
        assert sorted(ds) == ["n", "one"] and list(ds["n"][:]) == [7, -8, 9]
        assert ds["one"].shape == () and ds["one"].read(...) == 3.5
    with ps.open_dataset(tmp_path / "s.nc", "r+") as ds:
        ds["one"].write(np.array(-1.25), ...)
    with ps.open_dataset(tmp_path / "new.nc", "w", container="cdf2") as ds:
        ds.create("two", (), "i4").write(np.array(2, "i4"), ...)
    with scipy_io.netcdf_file(tmp_path / "s.nc", mmap=False) as file, scipy_io.netcdf_file(tmp_path / "new.nc", mmap=False) as new:
        assert file.variables["one"].getValue() == -1.25 and list(file.variables["n"][:]) == [7, -8, 9]
        assert new.variables["two"].getValue() == 2


PACKED = HEAD + """
values = np.array([[273.15, 300.0, np.nan], [250.25, 273.16, 310.0]])
stored = np.where(np.isnan(values), -32768, np.rint((values - 273.15) / 0.01)).astype("i2")
with ps.open_dataset("p.nc", "w", comm=comm, container=CONTAINER) as ds:
    ds.create("t", (None, 2, 3), "i2", ("time", "y", "x"), fill_value=-32768,
              attributes={"scale_factor": 0.01, "add_offset": 273.15})
    ds.create("mask", (2, 3), "i2", ("y", "x"), fill_value=7)
    ds.create("other", (None,), "f8", ("time",), fill_value=-1.5)
    same(ps.ArgumentError, "convert", lambda: ds["t"].append(values))
    ds["t"].append(stored if rank == 0 else None, ... if rank == 0 else None)
    ds["t"].append(stored[0] if rank == size - 1 else None, 0 if rank == size - 1 else None)
    ds["other"].append(np.float64(3.5))
with ps.open_dataset("p.nc", comm=comm) as ds:
    assert np.array_equal(ds["t"][0], stored) and ds["t"].attrs["_FillValue"] == -32768
"""


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("container", ["cdf1", "cdf5", "netcdf"])
def test_packed_variables(tmp_path, container, ranks):
    run_ranks(tmp_path, PACKED.replace("CONTAINER", repr(container)), ranks)
    values = np.array([[273.15, 300.0, np.nan], [250.25, 273.16, 310.0]])
    path = tmp_path / "p.nc"
    if container == "netcdf":
        with xarray.open_dataset(path, engine="h5netcdf") as seen:
            files = [seen.load()]
    else:
        files = seen_by_others(path)
    for seen in files:
        assert np.allclose(seen["t"][0], values, equal_nan=True) and np.allclose(seen["t"][1, 0], values[0], equal_nan=True)
        assert np.isnan(seen["t"][1, 1]).all() and np.isnan(seen["mask"]).all()
        assert seen["other"][0] == 3.5 and np.isnan(seen["other"][1])


ALONE = HEAD + """
whole = np.arange(24.0).reshape(3, 8)
with ps.open("a.nc", "w", dataset="u", shape=(None, 8), dtype="f8", dims=("time", "x"), container="cdf5", comm=comm,
             attributes={"units": "K"}) as f:
    assert f.container == "cdf5" and f.dataset == "/u" and f.dims == ("time", "x") and f.mode == "w"
    for step in range(2):
        f.append(whole[step])
        f.sync()
        if rank == 0:
            assert int.from_bytes(open("a.nc", "rb").read(12)[4:], "big") == step + 1
        comm.Barrier()
    f.attrs["step"] = 2
f = ps.open("a.nc", "r+", dataset="u", shape=(None, 8), comm=comm)
f.append(whole[2])
f.close(wait=False).wait()
assert f.closed
with ps.open("a.nc", comm=comm) as f:
    assert np.array_equal(f[...], whole) and f.attrs["units"] == "K" and f.attrs["step"] == 2
d = ps.distribute((6, 4), comm)
mine = np.full(d.section.shape, rank + 1, "i4")
ps.save("b.nc", mine, d, container="cdf1")
assert np.array_equal(ps.load("b.nc", d), mine)
def refused(kind, words, *arguments, **more):
    same(kind, words, lambda: ps.open(*arguments, comm=comm, **more))
refused(ps.FormatError, "has dtype", "a.nc", dataset="u", dtype="f4")
refused(ps.FormatError, "has shape", "a.nc", dataset="u", shape=(3, 9))
refused(ps.FormatError, "has no dataset v; it has u", "a.nc", dataset="v")
refused(ps.StateError, "made before the first", "a.nc", "r+", dataset="v", shape=3, dtype="f8", dims=("x",))
refused(ps.FormatError, "cannot grow", "b.nc", "r+", dataset="data", shape=(None, 4))
refused(ps.FormatError, "is no CDF-1 file but cdf5", "a.nc", dataset="u", container="cdf1")
before = open("a.nc", "rb").read()
refused(ps.ArgumentError, "uint64 is not one of CDF-2's", "a.nc", "w", dataset="u", shape=3, dtype="u8", dims=("x",), container="cdf2")
refused(ps.DisagreementError, "shape", "a.nc", "w", dataset="u", shape=3 + (rank == 0), dtype="i4", dims=("x",), container="cdf2") if size > 1 else None
assert open("a.nc", "rb").read() == before
"""


@pytest.mark.parametrize("ranks", [1, 3, pytest.param(4, marks=pytest.mark.slow)])
def test_one_variable_is_opened_alone(tmp_path, ranks):
    run_ranks(tmp_path, ALONE, ranks)
    for seen in seen_by_others(tmp_path / "a.nc"):
        assert np.array_equal(seen["u"], np.arange(24.0).reshape(3, 8))


def test_types_of_cdf5(tmp_path):
    path = tmp_path / "t.nc"
    types = {"i8": -(2**63), "u8": 2**64 - 1, "u1": 255, "u2": 65535, "u4": 2**32 - 1, "i1": -128, "f4": 0.5, "f8": 1e300}
    with ps.open_dataset(path, "w", container="cdf5") as ds:
        for dtype, value in types.items():
            ds.create(dtype, (None, 3), dtype, ("t", "x"), attributes={"most": np.array([value], dtype)})
        for dtype, value in types.items():
            ds[dtype].append(np.full(3, value, dtype))
    with ps.open_dataset(path) as ds:
        for dtype, value in types.items():
            assert ds[dtype].dtype == np.dtype(dtype).newbyteorder(">") and ds[dtype].attrs["most"] == np.dtype(dtype).type(value)
            assert (ds[dtype][...] == np.full((1, 3), value, dtype)).all()
    for seen in seen_by_others(path):
        assert all((seen[dtype] == np.full((1, 3), value, dtype)).all() for dtype, value in types.items())


@pytest.mark.parametrize(("kind", "arguments", "words"), [
    ("cdf1", ((3,), "i8", ("x",)), "int64 is not one of CDF-1's .*container='cdf5'"),
    ("cdf2", ((3,), "u1", ("x",)), "uint8 is not one of CDF-2's"),
    ("cdf5", ((3,), "c8", ("x",)), "complex64 .* two variables"),
    ("cdf1", ((3,), "S8", ("x",)), "'S1' and an extent"),
    ("cdf1", ((2, None), "f4", ("y", "x")), "only the first dimension"),
    ("cdf1", ((None,), "f4", ("other",)), "'time' is, and a classic file has one"),
    ("cdf1", ((5,), "f4", ("y",)), "dimension 'y' has 4 elements, not 5"),
    ("cdf1", ((3,), "f4", ("time",)), "'time' is unlimited"),
    ("cdf1", ((0,), "f4", ("x",)), "has 0 elements"),
    ("cdf1", ((3,), "f4", None), "dims= is needed"),
    ("cdf1", ((3,), "f4", {"x": [1, 2, 3]}), "coordinates are a variable of their own"),
    ("cdf1", ((2**30,), "f8", ("x",)), "only the last one may have more"),
    ("cdf2", ((2**30,), "f8", ("x",)), "only the last one may have more"),
    ("cdf2", ((2**31,), "f8", ("x",)), "1 to 2147483647"),
])
def test_what_a_kind_cannot_hold_is_refused(tmp_path, kind, arguments, words):
    path = tmp_path / "t.nc"
    with ps.open_dataset(path, "w", container=kind) as ds:
        ds.create("a", (None, 4), "f4", ("time", "y"))
        before = path.read_bytes()
        with pytest.raises((ps.ArgumentError, ps.FormatError), match=words):
            ds.create("b", *arguments)
        for wrong in ({"chunks": 2}, {"compressors": "gzip"}):
            with pytest.raises(ps.ArgumentError, match="neither chunks nor compressors"):
                ds.create("b", (4,), "f4", ("y",), **wrong)
        for name, more in (("a/b", {}), ("-b", {}), ("b ", {}), ("b", {"attributes": {"x": 2**40 if kind != "cdf5" else 1j}}),
                           ("b", {"attributes": {"x": ["a", "b"]}}), ("a", {})):
            with pytest.raises(ps.ArgumentError):
                ds.create(name, (4,), "f4", ("y",), **more)
        assert path.read_bytes() == before and list(ds) == ["a"]


def test_sizes_up_to_the_limits(tmp_path):
    """Nothing is written but a byte at the end of a large one."""
    for kind, first in (("cdf1", (2**31 - 4,)), ("cdf2", (2**31 - 2, 2)), ("cdf5", (2**33,))):
        path = tmp_path / f"{kind}.nc"
        with ps.open_dataset(path, "w", container=kind) as ds:
            ds.create("large", first, "i1", ("x", "y")[: len(first)])
            if kind == "cdf1":
                with pytest.raises(ps.ArgumentError, match="below 2 GiB"):
                    ds.create("last", (2,), "i1", ("z",))
            else:
                ds.create("last", (2,), "i1", ("z",))[1] = 7
            ds["large"][tuple(n - 1 for n in first)] = 5
        with ps.open_dataset(path) as ds:
            assert ds["large"][tuple(n - 1 for n in first)] == 5 and (kind == "cdf1" or list(ds["last"][:]) == [0, 7])
        program("ncvalidator", "-q", str(path))
        path.unlink()


def test_an_attribute_that_has_no_room_is_refused(tmp_path):
    path = tmp_path / "t.nc"
    with ps.open_dataset(path, "w", container="cdf1") as ds:
        ds.create("a", (4,), "f4", ("y",))[:] = [1, 2, 3, 4]
        ds.attrs["short"] = "x" * 3000
        before = path.read_bytes()
        with pytest.raises(ps.StateError, match="no room for that attribute"):
            ds.attrs["long"] = "x" * 9000
        assert path.read_bytes() == before and list(ds["a"][:]) == [1, 2, 3, 4] and "long" not in ds.attrs


def test_a_crash_leaves_what_was_synced(tmp_path):
    """Steps behind what the header tells of are dropped before the next ones."""
    path = tmp_path / "t.nc"
    with ps.open_dataset(path, "w", container="cdf2") as ds:
        ds.create("a", (None, 2), "i4", ("t", "x"))
        ds.create("b", (None, 2), "i4", ("t", "x"))
        ds["a"].append([1, 2])
        ds.sync()
        ds["a"].append([3, 4])
        ds["b"].append([5, 6])
        left = path.read_bytes()  # as of a program that is killed here
    assert left[4:8] == b"\0\0\0\1"
    path.write_bytes(left + b"\xff" * 100)
    with ps.open_dataset(path) as ds:
        assert ds["a"].shape == (1, 2) and list(ds["a"][0]) == [1, 2]
    with ps.open_dataset(path, "r+") as ds:
        ds["b"].append(None, None)
    with ps.open_dataset(path) as ds:
        assert ds["a"][...].tolist() == [[1, 2], [0, 0]] and ds["b"][1].tolist() == [0, 0]


BESIDE = HEAD + """
random = np.random.default_rng(5)
names, steps, extent = ["a", "b", "c"], 40, 37
model = {name: random.integers(-100, 100, (steps, extent)).astype(dtype) for name, dtype in zip(names, ("f8", "i1", "i2"))}
with ps.open_dataset("b.nc", "w", comm=comm, container="cdf5", hints=HINTS) as ds:
    for name in names:
        ds.create(name, (None, extent), model[name].dtype, ("t", "x"))
    for t in range(steps):
        for name in names:
            ds[name].append(model[name][t] if rank == t % size else None, ... if rank == t % size else None)
    for turn in range(12):  # all three are written at once, between each other's bytes
        handles = []
        for name in names:
            begin, end = sorted(random.integers(0, steps + 1, 2))
            step = int(random.integers(1, 4))
            values = random.integers(-100, 100, (end - begin, extent)).astype(model[name].dtype)[::step]
            model[name][begin:end:step] = values
            x = slice(extent * rank // size, extent * (rank + 1) // size)
            handles.append(ds[name].write_begin(values[:, x], (slice(begin, end, step), x)))
        for handle in handles if turn % 2 else handles[::-1]:
            handle.wait()
    for name in names:
        assert np.array_equal(ds[name][...], model[name]), name
with ps.open_dataset("b.nc", comm=comm, hints=HINTS) as ds:
    for name in names:
        assert np.array_equal(ds[name][...], model[name]), name
        assert np.array_equal(ds[name][rank::size, ::3], model[name][rank::size, ::3]), name
        assert np.array_equal(ds[name].read(ps.extents([(30, 80), (200, 201)])), model[name].ravel()[[*range(30, 80), 200]])
"""


@pytest.mark.parametrize("hints", [{}, {"storage": "direct"}, {"method": "sieved"}, {"method": "direct"},
                                   {"buffer_size": 4096, "sieve_writes": "always"}])
def test_variables_are_written_at_once_between_each_other(tmp_path, hints):
    run_ranks(tmp_path, BESIDE.replace("HINTS", repr(hints)), 3)


NAMES = st.text("abcXYZ_019", min_size=1, max_size=8)


@settings(max_examples=25, deadline=None, derandomize=True, database=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_random_files(tmp_path, data):
    """Against a plain model, and as others see them."""
    path, kind = tmp_path / "r.nc", data.draw(st.sampled_from(KINDS))
    lengths = {"t": None, "x": data.draw(st.integers(1, 5)), "y": data.draw(st.integers(1, 5))}
    types = sorted({str(one.newbyteorder("=")) for one in classic.allowed(VERSIONS[kind]) if one.kind != "S"})
    model, random = {}, np.random.default_rng(data.draw(st.integers(0, 99)))
    with ps.open_dataset(path, "w", container=kind) as ds:
        for name in data.draw(st.lists(NAMES, min_size=1, max_size=4, unique=True)):
            dims = data.draw(st.sampled_from([("t",), ("t", "x"), ("t", "y", "x"), ("x",), ("y", "x")]))
            dtype = np.dtype(data.draw(st.sampled_from(types)))
            ds.create("v" + name, [lengths[dim] for dim in dims], dtype, dims, attributes={"k": name})
            steps = data.draw(st.integers(0, 4)) if dims[0] == "t" else lengths[dims[0]]
            model["v" + name] = random.integers(0, 100, (steps, *(lengths[dim] for dim in dims[1:]))).astype(dtype)
        for name, values in model.items():
            for step in values:
                ds[name].append(step) if ds[name].dims[0] == "t" else None
            if ds[name].dims[0] != "t":
                ds[name][...] = values
        records = max([len(values) for name, values in model.items() if ds[name].dims[0] == "t"], default=0)
        for name, values in model.items():  # the shorter ones have zeros
            if ds[name].dims[0] == "t":
                model[name] = np.concatenate([values, np.zeros((records - len(values), *values.shape[1:]), values.dtype)])
    with ps.open_dataset(path) as ds:
        assert {name: (one.shape, one.attrs["k"]) for name, one in ds.items()} == \
            {name: (values.shape, name[1:]) for name, values in model.items()}
        for name, values in model.items():
            assert np.array_equal(ds[name][...], values)
    for seen in seen_by_others(path):
        for name, values in model.items():
            assert np.array_equal(seen[name].values.astype(values.dtype), values), name
