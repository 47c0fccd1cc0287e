"""Variables of netCDF-4 files, as netCDF's own programs and xarray see them."""

import shutil
import subprocess

import numpy as np
import pytest

import penstock as ps
from conftest import case_outcomes
from scripts import CASES, HEAD

h5py = pytest.importorskip("h5py")
h5netcdf = pytest.importorskip("h5netcdf")
xarray = pytest.importorskip("xarray")


def write(path, whole, mode="w", **how):
    how = {"dataset": "u", "dims": ("y", "x"), **how}
    with ps.open(path, mode, shape=whole.shape, dtype=whole.dtype, **how) as f:
        f.write(whole, ...)
        return f


def test_xarray_shows_names_dimensions_units(tmp_path):
    path, whole = tmp_path / "run.nc", np.arange(12.0).reshape(3, 4)
    with ps.open(path, "w", dataset="u", shape=(3, 4), dtype="f8", dims={"y": [5.0, 6.0, 7.0], "x": None}, attributes={"units": "K"}) as f:
        assert (f.container, f.dataset, f.dims) == ("netcdf", "/u", ("y", "x"))
        f.write(whole, ...)
        f.attrs["long_name"], f.attrs["range"], f.attrs["n"] = "Temperatur in Übersee", [1.5, 2.5], 3
        del f.attrs["n"]
    write(path, whole.astype(">i2"), "r+", dataset="v", attributes={"units": "m"})
    with xarray.open_dataset(path) as seen:
        assert seen["u"].dims == seen["v"].dims == ("y", "x") and dict(seen.sizes) == {"y": 3, "x": 4}
        assert np.array_equal(seen["u"], whole) and np.array_equal(seen["v"], whole)
        assert seen["y"].values.tolist() == [5, 6, 7] and "x" not in seen.coords
        assert seen["u"].attrs["units"] == "K" and seen["u"].attrs["long_name"] == "Temperatur in Übersee"
        assert seen["u"].attrs["range"].tolist() == [1.5, 2.5] and "n" not in seen["u"].attrs
        assert seen["v"].attrs == {"units": "m"}
    with ps.open(path, dataset="v", dims=("y", "x"), attributes={"units": "m"}) as f:
        assert f.dtype == np.dtype(">i2") and np.array_equal(f.read(...), whole)


@pytest.mark.skipif(shutil.which("ncdump") is None, reason="ncdump is not installed")
def test_ncdump_shows_the_same(tmp_path):
    path = tmp_path / "run.nc"
    write(path, np.arange(6, dtype="i4").reshape(2, 3), attributes={"units": "K"}, dims={"y": [1.0, 2.0], "x": None})
    write(path, np.arange(6, dtype="f4").reshape(2, 3), "r+", dataset="g/v")
    shown = subprocess.run(["ncdump", path], capture_output=True, text=True, check=True).stdout
    for line in ("y = 2 ;", "x = 3 ;", "int u(y, x) ;", 'u:units = "K" ;', "double y(y) ;", "y = 1, 2 ;", "0, 1, 2,",
                 "3, 4, 5 ;", "group: g {", "float v(y, x) ;"):
        assert line in shown, shown
    header = subprocess.run(["ncdump", "-hs", path], capture_output=True, text=True, check=True).stdout
    assert 'u:_Storage = "contiguous" ;' in header, header


@pytest.mark.parametrize("dtype", ["i1", "u1", ">i2", "u2", "i4", ">u4", "i8", "u8", "f4", ">f8"])
def test_types(tmp_path, dtype):
    path, whole = tmp_path / "t.nc", np.arange(6).reshape(2, 3).astype(dtype)
    write(path, whole)
    with xarray.open_dataset(path) as seen:
        assert seen["u"].dtype.newbyteorder("=") == np.dtype(dtype).newbyteorder("=") and np.array_equal(seen["u"], whole)
    with ps.open(path) as f:
        assert f.dtype == np.dtype(dtype) and np.array_equal(f.read(...), whole)


@pytest.mark.parametrize("dtype", ["?", "c16", "f2", "g", "S4", "U3", "M8[s]", [("a", "f4")]])
def test_types_that_netcdf_does_not_have(tmp_path, dtype):
    path = tmp_path / "t.nc"
    with pytest.raises(ps.ArgumentError, match="dtype"):
        ps.open(path, "w", dataset="u", shape=(2,), dtype=dtype, dims=("x",))
    assert not path.exists()


def test_files_of_h5netcdf(tmp_path):
    path, whole = tmp_path / "x.nc", np.random.default_rng(1).random((5, 6))
    with h5netcdf.File(path, "w") as file:
        file.dimensions = {"y": 5, "x": 6, "t": None}
        file.create_variable("u", ("y", "x"), "f8", data=whole).attrs["units"] = "K"
        file.create_variable("packed", ("y", "x"), "f8", data=whole, chunks=(2, 2), compression="gzip")
        file.create_variable("grow", ("t", "x"), "f8")
        file.create_variable("x", ("y", "x"), "f8", data=whole + 1)
    with ps.open(path, "r+", dataset="u") as f:
        assert f.dims == ("y", "x") and f.attrs["units"] == "K"
        f.write(whole[:, 0] * 2, (slice(None), 0))
    whole[:, 0] *= 2
    with xarray.open_dataset(path, drop_variables=["x"]) as seen:
        assert np.array_equal(seen["u"], whole)
    with ps.open(path, dataset="x") as f:  # has another name in HDF5, since it is no coordinate
        assert np.array_equal(f.read(...)[:, 1], whole[:, 1] + 1)
    with ps.open(path, dataset="packed") as f:
        assert f.chunks == (2, 2) and np.array_equal(f.read(...)[:, 1:], whole[:, 1:])
    with pytest.raises(ps.FormatError, match="unlimited"):
        ps.open(path, "r+", dataset="w", shape=(3,), dtype="f8", dims=("t",))


@pytest.mark.parametrize("how,kind,words", [
    ({"dims": None}, ps.ArgumentError, "dims= is needed"),
    ({"shape": (3, 5)}, ps.FormatError, "dimension 'x' has 4 elements, not 5"),
    ({"dims": {"y": [1.0, 2, 4], "x": None}}, ps.FormatError, "'y' exists already, with other coordinates"),
    ({"dims": {"y": None, "x": [1.0, 2, 3, 4]}}, ps.FormatError, "'x' exists already, with other coordinates"),
    ({"dims": {"y": None, "z": np.array([b"a"] * 4)}}, ps.ArgumentError, "must be numbers"),
    ({"dataset": "u/v"}, ps.FormatError, "/u is a dataset"),
    ({"order": "F"}, ps.ArgumentError, "order"),
])
def test_variables_that_cannot_be_made(tmp_path, how, kind, words):
    path = tmp_path / "x.nc"
    write(path, np.zeros((3, 4)), dims={"y": [1.0, 2.0, 3.0], "x": None})
    before = path.read_bytes()
    with pytest.raises(kind, match=words):
        ps.open(path, "r+", **{"dataset": "v", "shape": (3, 4), "dtype": "f8", "dims": ("y", "x"), **how})
    assert path.read_bytes() == before


TOGETHER = HEAD + """
import h5py, xarray
whole = np.arange(20 * 30, dtype="f4").reshape(20, 30)
for n, name in enumerate(("u", "g/v")):
    with ps.open("t.nc", "r+" if n else "w", dataset=name, shape=whole.shape, dtype="f4", comm=comm,
                 dims={"y": np.arange(20.0), "x": None}, attributes={"units": "m"}) as f:
        d = ps.distribute(f.shape, comm)
        f.write(whole[tuple(slice(low, up) for low, up, _, _ in d.section.dimensions)] + n, d)
        f.attrs["n"] = n
if rank == 0:
    for n, (name, group) in enumerate((("u", "/"), ("v", "g"))):
        with xarray.open_dataset("t.nc", group=group) as seen:
            assert np.array_equal(seen[name], whole + n) and seen[name].dims == ("y", "x")
            assert seen[name].attrs["units"] == "m" and seen[name].attrs["n"] == n
"""


@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_ranks_write_variables_together(mpirun, ranks):
    mpirun(TOGETHER, ranks)


DIFFERENT = CASES + """
def make(**how):
    return ps.open("s.nc", **{"mode": "w", "dataset": "u", "shape": (4, 4), "dtype": "f8", "comm": comm, "dims": ("y", "x"), **how})
cases["dims"] = lambda: record(lambda: make(dims=("y", "z") if last else ("y", "x")))
cases["coordinates"] = lambda: record(lambda: make(dims={"y": np.arange(4) + last, "x": None}))
cases["no dims"] = lambda: record(lambda: make(dims=None))
cases["type"] = lambda: record(lambda: make(dtype="c16"))
cases["container"] = lambda: record(lambda: make(container="hdf5" if last else "netcdf"))
"""


def test_ranks_that_differ(tmp_path):
    outcomes, _ = case_outcomes(tmp_path, DIFFERENT)
    expected = {"dims": "DisagreementError", "coordinates": "DisagreementError", "no dims": "ArgumentError",
                "type": "ArgumentError", "container": "DisagreementError"}
    for name, kind in expected.items():
        assert [rank[0][0] for rank in outcomes[name]] == [kind] * 3 and len({rank[0][1] for rank in outcomes[name]}) == 1, outcomes[name]
    assert not (tmp_path / "s.nc").exists()


def test_variables_that_grow(tmp_path):
    path, steps = tmp_path / "g.nc", np.random.default_rng(7).integers(0, 99, (6, 4, 5)).astype("f4")
    how = {"shape": (None, 4, 5), "dtype": "f4", "dims": {"time": None, "y": np.arange(4.0), "x": None}, "compressors": "shuffle,gzip",
           "fill_value": -1, "chunks": (2, 4, 3)}
    with ps.open(path, "w", dataset="u", attributes={"units": "K", "long_name": "Ü", "scale_factor": 1.0}, **how) as f:
        for step in steps[:5]:
            f.append(step)
        f.attrs["later"] = 3
    with ps.open(path, "r+", dataset="v", **how) as f:  # begins at the first step, too
        f.append(steps[0, :2], (slice(0, 2), slice(None)))
        f.append(steps[1])
    with ps.open(path, "r+", dataset="time", shape=(None,), dtype="f8", dims=("time",), attributes={"units": "days since 2000-01-01"}) as f:
        for t in range(5):
            f.append(np.float64(t))
    with ps.open(path, "r+", dataset="u", shape=(None, 4, 5)) as f:
        assert f.dims == ("time", "y", "x") and f.fill_value == -1
        f.append(steps[5])
    with xarray.open_dataset(path, decode_times=False) as seen:
        u, v = seen["u"], seen["v"]
        assert u.dims == v.dims == ("time", "y", "x") and dict(seen.sizes) == {"time": 6, "y": 4, "x": 5}
        assert np.array_equal(u, steps) and u.attrs == {"units": "K", "long_name": "Ü", "later": 3}
        assert np.array_equal(v[1], steps[1]) and np.isnan(v[0, 2:]).all() and np.isnan(v[2:]).all()
        assert seen["y"].values.tolist() == [0, 1, 2, 3] and seen["time"].values[:5].tolist() == [0, 1, 2, 3, 4]
        assert u.encoding["zlib"] and u.encoding["shuffle"] and u.encoding["chunksizes"] == (2, 4, 3)
        assert seen.encoding["unlimited_dims"] == {"time"}


@pytest.mark.skipif(shutil.which("ncdump") is None, reason="ncdump is not installed")
def test_ncdump_shows_variables_that_grow(tmp_path):
    path = tmp_path / "g.nc"
    with ps.open(path, "w", dataset="u", shape=(None, 3), dtype="i4", dims=("time", "x"), chunks=(2, 3), compressors="gzip:5",
                 fill_value=-7) as f:
        for t in range(3):
            f.append(np.array([t, t + 1], "i4"), slice(0, 2))
    shown = subprocess.run(["ncdump", "-s", path], capture_output=True, text=True, check=True).stdout
    for line in ("time = UNLIMITED ; // (3 currently)", "int u(time, x) ;", "u:_FillValue = -7 ;", 'u:_Storage = "chunked" ;',
                 "u:_ChunkSizes = 2, 3 ;", "u:_DeflateLevel = 5 ;", "2, 3, _ ;"):
        assert line in shown, shown


def test_a_dimension_grows_or_does_not(tmp_path):
    path = tmp_path / "d.nc"
    ps.open(path, "w", dataset="u", shape=(None, 3), dtype="i4", dims=("t", "x")).close()
    before = path.read_bytes()
    for shape, dims, words in (((3, 3), ("t", "x"), "'t' is unlimited"), ((None, 3), ("x", "t"), "'x' is not unlimited")):
        with pytest.raises(ps.FormatError, match=words):
            ps.open(path, "r+", dataset="v", shape=shape, dtype="i4", dims=dims)
        assert path.read_bytes() == before


GROWING = HEAD + """
import xarray
with ps.open("g.nc", "w", dataset="run/u", shape=(None, 20, 30), dtype="f4", comm=comm, dims=("time", "y", "x"), chunks=(1, 7, 30),
             compressors="shuffle,gzip", fill_value=np.nan, attributes={"units": "m"}) as f:
    d = ps.distribute(f.shape[1:], comm)
    for step in range(4):
        f.append(np.full(d.section.shape, 10 * step + rank, "f4"), d)
if rank == 0:
    with xarray.open_dataset("g.nc", group="run") as seen:
        assert dict(seen.sizes) == {"time": 4, "y": 20, "x": 30} and seen["u"].attrs["units"] == "m"
        for r in range(size):
            section = ps.distribute((20, 30), rank=r, ranks=size).section
            box = tuple(slice(low, up) for low, up, _, _ in section.dimensions)
            assert (seen["u"][(slice(None), *box)] == 10 * np.arange(4)[:, None, None] + r).all()
"""


def test_ranks_let_a_variable_grow(mpirun):
    mpirun(GROWING, 2)


def test_an_array_is_saved_under_a_name_alone(tmp_path):
    u = np.arange(12.0).reshape(3, 4)
    ps.save(tmp_path / "s.nc", u)
    assert (ps.load(tmp_path / "s.nc") == u).all()
    with xarray.open_dataset(tmp_path / "s.nc", engine="h5netcdf") as whole:
        assert whole["data"].dims == ("dim_0", "dim_1") and (whole["data"] == u).all()
