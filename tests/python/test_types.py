"""Types of elements that NumPy lacks, single elements, and arrays without elements, in every format that can have them."""

import json

import numpy as np
import penstock as ps
import pytest

from scripts import HEAD

ml_dtypes = pytest.importorskip("ml_dtypes")
BFLOAT = np.dtype(ml_dtypes.bfloat16)
SMALL = ("bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2",
         "float8_e5m2fnuz", "float8_e8m0fnu")
OF_HDF5 = ("bfloat16", "float8_e3m4", "float8_e4m3", "float8_e5m2")
NAMES = {"raw": "f.dat", "npy": "f.npy", "hdf5": "f.h5", "netcdf": "f.nc", "zarr": "f.zarr"}


def small(name):
    return np.dtype(getattr(ml_dtypes, name))


def every_pattern(dtype):
    return np.arange(1 << 8 * dtype.itemsize, dtype=f"u{dtype.itemsize}").view(dtype)


def in_file(kind, shape=()):
    """More arguments of open."""
    dims = {"dims": tuple(f"d{i}" for i in range(len(shape)))} if kind == "netcdf" else {}
    return {"dataset": "u", **dims} if kind in ("hdf5", "netcdf") else {}


START = HEAD + """
import ml_dtypes
from contextlib import suppress
import shutil
def fresh(name):
    comm.Barrier()
    if rank == 0:
        shutil.rmtree(name, ignore_errors=True)
        with suppress(FileNotFoundError):
            os.unlink(name)
    comm.Barrier()
def how(name, shape=()):
    if not name.endswith((".h5", ".nc")):
        return {}
    return {"dataset": "u", **({"dims": tuple(f"d{i}" for i in range(len(shape)))} if name.endswith(".nc") else {})}
def written(name, whole, d=None, shape=None, **more):
    fresh(name)
    with ps.open(name, "w", shape=shape or whole.shape, dtype=whole.dtype, comm=comm, **how(name, whole.shape), **more) as f:
        assert f.dtype == whole.dtype, f.dtype
        for step in whole if shape else ():
            f.append(step)
        if not shape:
            f.write(whole if d is None else whole[rank::size], ... if d is None else (slice(rank, None, size),))
def read(name, whole):
    told = {"shape": whole.shape, "dtype": whole.dtype} if name.endswith(".dat") else {}
    if name.endswith(".npy"):
        told = {"dtype": whole.dtype}
    with ps.open(name, comm=comm, **how(name, whole.shape)|told) as f:
        assert (f.shape, f.dtype) == (whole.shape, whole.dtype), (name, f)
        found = f.read(...)
        assert found.dtype == whole.dtype and found.tobytes() == whole.tobytes(), (name, found, whole)
    return found
"""


@pytest.mark.parametrize("ranks", [1, 3])
def test_small_floats_in_every_format_that_has_them(mpirun, ranks):
    mpirun(START + f"""
for name in {SMALL}:
    dtype = np.dtype(getattr(ml_dtypes, name))
    whole = np.arange(1 << 8 * dtype.itemsize, dtype=f"u{{dtype.itemsize}}").view(dtype)
    for file in ("f.dat", "f.npy", "f.zarr") + (("f.h5",) if name in {OF_HDF5} else ()):
        written(file, whole, d=True)
        read(file, whole)
        written(file, whole.reshape(4, -1), shape=(None, whole.size // 4))
        read(file, whole.reshape(4, -1))
    for file in ("f.zarr", "f.h5")[: 1 + (name in {OF_HDF5})]:
        written(file, whole[:100], d=True, chunks=(30,), compressors="gzip", fill_value=1)
        read(file, whole[:100])
        fresh(file)
        with ps.open_dataset(file, "w", comm=comm) as ds:
            ds.create("u", (9,), dtype, dims=("x",), chunks=(4,), fill_value=2)[:4] = whole[:4]
        with ps.open_dataset(file, comm=comm) as ds:
            assert ds["u"].dtype == dtype and float(ds["u"].fill_value) == 2, ds["u"]
            assert ds["u"][:4].tobytes() == whole[:4].tobytes() and (ds["u"][4:].astype("f4") == 2).all()
""", ranks)


@pytest.mark.parametrize("name", SMALL)
def test_what_others_find(tmp_path, name):
    dtype = small(name)
    whole = every_pattern(dtype)
    ps.save(tmp_path / "f.npy", whole)
    assert np.load(tmp_path / "f.npy").view(dtype).tobytes() == whole.tobytes()
    ps.save(tmp_path / "f.zarr", whole)
    tensorstore = pytest.importorskip("tensorstore")
    if name != "float8_e4m3":  # which TensorStore does not have
        path = {"driver": "zarr3", "kvstore": {"driver": "file", "path": str(tmp_path / "f.zarr")}}
        found = tensorstore.open(path).result().read().result()
        assert found.dtype == dtype and found.tobytes() == whole.tobytes()
    if name in OF_HDF5:
        h5py = pytest.importorskip("h5py")
        ps.save(tmp_path / "f.h5", whole)
        with h5py.File(tmp_path / "f.h5") as file:
            assert np.array_equal(file["data"][...], whole.astype("f4"), equal_nan=True)
    else:
        with pytest.raises(ps.ArgumentError, match=rf"{name} has no HDF5 type.*Zarr"):
            ps.save(tmp_path / "f.h5", whole)
    with pytest.raises(ps.ArgumentError, match=rf"{name} is not one of netCDF's.*Zarr.*astype"):
        ps.save(tmp_path / "f.nc", whole)
    assert sorted(tmp_path.glob("f.[hn]?")) == sorted(tmp_path.glob("f.h5") if name in OF_HDF5 else ())


@pytest.mark.parametrize("name", SMALL)
def test_every_fill_value_of_a_zarr_array(tmp_path, name):
    values = every_pattern(small(name))
    for value in values if values.size == 256 else values[:: 257]:
        with ps.open(tmp_path / "f.zarr", "w", shape=3, dtype=values.dtype, fill_value=value) as f:
            pass
        told = json.loads((tmp_path / "f.zarr" / "zarr.json").read_text())["fill_value"]
        assert isinstance(told, (str, int, float))
        with ps.open(tmp_path / "f.zarr") as f:
            assert f.fill_value.tobytes() == value.tobytes() and f[0].tobytes() == value.tobytes(), (value, told)


def with_fill(folder, name, fill):
    """An array whose zarr.json has this fill value."""
    ps.open(folder / "f.zarr", "w", shape=3, dtype=small(name)).close()
    path = folder / "f.zarr" / "zarr.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "fill_value": fill}))
    return ps.open(folder / "f.zarr")


@pytest.mark.parametrize("name, told, value", [
    ("bfloat16", 0.1, 0.10009765625), ("bfloat16", "0x7fc1", np.nan), ("bfloat16", 3.4e38, np.inf), ("float8_e5m2", 1.125, 1.0),
    ("float8_e5m2", 1.375, 1.5), ("float8_e4m3fn", 448, 448.0), ("float8_e4m3fnuz", -0.0, 0.0), ("float8_e8m0fnu", 4, 4.0),
    ("float8_e4m3", "-Infinity", -np.inf), ("float8_e4m3fn", "0xff", np.nan)])
def test_fill_values_that_others_wrote(tmp_path, name, told, value):
    with with_fill(tmp_path, name, told) as f:
        assert np.array_equal(float(f.fill_value), value, equal_nan=True)


@pytest.mark.parametrize("name, told", [("float8_e4m3fn", "Infinity"), ("float8_e4m3fn", 500), ("float8_e8m0fnu", 0),
                                        ("float8_e8m0fnu", -1), ("bfloat16", "0x7f"), ("float8_e4m3fnuz", "-Infinity")])
def test_fill_values_that_no_element_has(tmp_path, name, told):
    with pytest.raises(ps.FormatError, match=f"fill_value.*none of data_type '{name}'"):
        with_fill(tmp_path, name, told)


def test_raw_bytes_and_their_types_are_told_apart(tmp_path):
    """What an .npy file has are raw bytes to NumPy, which writes a byte order for them."""
    path, whole = tmp_path / "f.npy", np.arange(6).astype(BFLOAT)
    np.save(path, whole)
    with ps.open(path, "r+") as f:
        assert f.dtype == "V2"
        with pytest.raises(ps.ArgumentError, match=r"view it as that: array.view\('\|V2'\)"):
            f.write(whole, ...)
        f.write(whole[::-1].view("V2"), ...)
    with ps.open(path, "r+", dtype=BFLOAT) as f:
        assert f.dtype == BFLOAT and np.array_equal(f[...], whole[::-1])
        f.write(np.full(6, 0.5), ...)  # converted, as by same_kind casting
        f[1] = 3
        out = np.empty(6)
        f.read(..., out=out)
        assert out.tolist() == [0.5, 3, 0.5, 0.5, 0.5, 0.5]
    with pytest.raises(ps.FormatError, match="has dtype"):
        ps.open(path, dtype=ml_dtypes.float8_e5m2)


def test_types_whose_package_is_missing(tmp_path, monkeypatch):
    ps.save(tmp_path / "f.zarr", np.zeros(3, BFLOAT))
    ps.save(tmp_path / "f.h5", np.zeros(3, BFLOAT))
    monkeypatch.setitem(__import__("sys").modules, "ml_dtypes", None)
    for name in ("f.zarr", "f.h5"):
        with pytest.raises(ps.FormatError, match="bfloat16, for which the package ml_dtypes is needed.*pip install ml_dtypes"):
            ps.open(tmp_path / name)


@pytest.mark.parametrize("ranks", [1, 3])
def test_single_elements(mpirun, ranks):
    mpirun(START + """
for name in ("f.dat", "f.npy", "f.h5", "f.nc", "f.zarr"):
    whole = np.array(2.5)
    written(name, whole)
    assert read(name, whole).shape == ()
    told = {"shape": (), "dtype": "f8"} if name == "f.dat" else {}
    with ps.open(name, "r+", comm=comm, **how(name)|told) as f:
        f[...] = rank
        assert isinstance(f[()], np.float64) and f[()] == size - 1 and f[...].shape == () and f.size == 1 and f.ndim == 0
        assert float(np.asarray(f)) == size - 1
        f.write(np.array(7.0) if rank == 0 else None, () if rank == 0 else None)
        same(ps.SectionError, "has 1 dimensions, the array has 0", lambda: f[0])
        same(ps.StateError, "was not opened to grow", lambda: f.append(1.0))
        f.sync()
        out = np.zeros((), "f4")
        assert f.read(..., out=out) is out and out == 7
        try:
            len(f)
        except TypeError:
            pass
        else:
            raise AssertionError("a length")
    fresh(name)
    ps.save(name, np.array(-3), comm=comm)
    if name != "f.dat":
        assert ps.load(name, comm=comm) == -3 and ps.load(name, comm=comm).shape == ()
    if name.endswith((".h5", ".nc", ".zarr")):
        fresh(name)
        with ps.open_dataset(name, "w", comm=comm) as ds:
            ds.create("dt", (), "f4", dims=())[...] = 0.5
            same(ps.ArgumentError, "single element", lambda: ds.create("bad", (), "f4", chunks=1))
        with ps.open_dataset(name, "r+", comm=comm) as ds:
            assert ds["dt"].shape == () and ds["dt"][()] == 0.5 and "dt" in ds and "bad" not in ds
            ds["dt"][...] = 0.25
            assert ds["dt"][...] == 0.25
with ps.open("f.bin", "w", fields=[("dt", (), "f8"), ("u", 3, "i4")], comm=comm) as f:
    f["dt"][...] = 0.5
    f["u"][...] = 1
    assert f["dt"].shape == () and f["dt"][()] == 0.5 and f["u"].data_offset == 8
if size > 1:
    same(ps.DisagreementError, "shape", lambda: ps.open("g.npy", "w", shape=() if rank else 1, dtype="f8", comm=comm))
""", ranks)


def test_single_elements_of_others(tmp_path):
    np.save(tmp_path / "f.npy", np.array(1.5))
    with ps.open(tmp_path / "f.npy") as f:
        assert f.shape == () and f[()] == 1.5
    with pytest.raises(ps.FormatError, match=r"has shape \(\), not \(1\)"):
        ps.open(tmp_path / "f.npy", shape=1)
    ps.save(tmp_path / "g.npy", np.array(2.5))
    assert np.load(tmp_path / "g.npy").shape == () and np.load(tmp_path / "g.npy") == 2.5
    with pytest.raises(ps.FormatError, match=r"has shape \(1\), not \(\)"):
        np.save(tmp_path / "h.npy", np.zeros(1))
        ps.open(tmp_path / "h.npy", shape=())
    h5py, netcdf = pytest.importorskip("h5py"), pytest.importorskip("h5netcdf")
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file["a"] = 3.5
    assert ps.load(tmp_path / "f.h5") == 3.5
    for path, module, name in ((tmp_path / "s.h5", h5py, "data"), (tmp_path / "s.nc", netcdf, "data")):
        ps.save(path, np.array(4.5))
        with module.File(path, "r") as file:
            assert file[name].shape == () and file[name][()] == 4.5
    zarr = pytest.importorskip("zarr")
    zarr.create_array(tmp_path / "z.zarr", shape=(), dtype="f8")[...] = 5.5
    with ps.open(tmp_path / "z.zarr", "r+") as f:
        assert f.shape == () and f.chunks is None or f[()] == 5.5
        f[...] = 6.5
    assert zarr.open_array(tmp_path / "z.zarr")[()] == 6.5
    ps.save(tmp_path / "w.zarr", np.array(7.5))
    assert zarr.open_array(tmp_path / "w.zarr")[()] == 7.5 and zarr.open_array(tmp_path / "w.zarr").shape == ()
    ps.save(tmp_path / "w.zarr", np.arange(3))  # in the place of the single element
    assert zarr.open_array(tmp_path / "w.zarr")[...].tolist() == [0, 1, 2]


@pytest.mark.parametrize("ranks", [1, 3])
def test_arrays_without_elements(mpirun, ranks):
    mpirun(START + """
for name in ("f.dat", "f.npy", "f.h5", "f.nc", "f.zarr"):
    for dtype in ("f4",) + ((ml_dtypes.bfloat16,) if name != "f.nc" else ()):
        for shape in ((0,), (0, 3), (3, 0)):
            written(name, np.zeros(shape, dtype))
            read(name, np.zeros(shape, dtype))
        written(name, np.zeros((2, 0), dtype), shape=(None, 0))
        if name != "f.dat":  # whose size alone says how many steps there are
            read(name, np.zeros((2, 0), dtype))
""", ranks)


@pytest.mark.parametrize("kind", NAMES)
def test_a_number_that_becomes_another_is_refused_by_every_call(tmp_path, kind):
    path, shape = tmp_path / NAMES[kind], (None, 2)
    with ps.open(path, "w", shape=shape, dtype="f4", **in_file(kind, shape)) as f:
        for call in (f.append, lambda value: f.write(value, ...), lambda value: f.__setitem__(..., value)):
            with pytest.raises(ps.ArgumentError, match="too large for elements of float32"):
                call(np.array([1e300, 0]) if call == f.append else np.full(f.shape, 1e300))
            call(np.zeros(2) if call == f.append else np.zeros(f.shape))  # doubles become singles
            with pytest.raises(ps.ArgumentError, match="complex128.*astype"):
                call(np.zeros(2, "c16") if call == f.append else np.zeros(f.shape, "c16"))
        assert f.shape == (1, 2)
