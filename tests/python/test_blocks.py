"""xarray Datasets in blocks are written into one file."""

import numpy as np
import pytest

import penstock as ps
from scripts import HEAD

xarray = pytest.importorskip("xarray")
pytest.importorskip("h5netcdf")

BLOCK = HEAD + """
import xarray
ny, nx = 24, 20
def whole():
    times = np.array(["2026-01-01", "2026-01-03", "2026-01-04"], "M8[ns]")
    t = np.arange(3 * ny * nx, dtype="f4").reshape(3, ny, nx)
    t[1, 2, 3] = np.nan
    return xarray.Dataset(
        {"t": (("time", "y", "x"), t, {"units": "K"}), "mask": (("y", "x"), np.arange(ny * nx).reshape(ny, nx) % 7),
         "level": (("time",), np.arange(3.0)), "count": ((), np.int32(5))},
        coords={"time": times, "y": np.linspace(0, 1, ny), "x": np.arange(nx), "area": (("y", "x"), np.ones((ny, nx)))},
        attrs={"title": "heat"})
d = ps.distribute((ny, nx), comm, kind=("block", "block"))
block = whole().isel(dict(zip(("y", "x"), d.section.index)))
"""


@pytest.mark.parametrize("ranks", [1, pytest.param(3, marks=pytest.mark.slow), 4])
@pytest.mark.parametrize("how", ["'f.nc'", "'f.nc', unlimited_dims='time', compressors='shuffle,gzip'",
                                 "'f.nc', chunks={'y': 7, 'x': 20}, replace=True", "'f.nc', container='cdf2'"])
def test_netcdf_is_what_xarray_had(mpirun, tmp_path, ranks, how):
    mpirun(BLOCK + f"""
for _ in range(2):  # again, over what is there
    ps.to_netcdf(block, {how}, distribution=d, dims=("y", "x"), comm=comm)
if rank == 0:
    with xarray.open_dataset("f.nc", engine="scipy" if "cdf2" in {how!r} else "h5netcdf") as seen:
        wanted = whole()
        xarray.testing.assert_equal(seen, wanted)
        assert seen.attrs == {{"title": "heat"}} and seen["t"].attrs == {{"units": "K"}} and set(seen.coords) == set(wanted.coords)
        assert ("time" in seen.encoding.get("unlimited_dims", ())) == ("unlimited" in {how!r})
""", ranks)


@pytest.mark.parametrize("ranks", [1, 3])
def test_zarr_is_what_xarray_had(mpirun, ranks):
    pytest.importorskip("zarr")
    mpirun(BLOCK + """
ps.to_zarr(block, "f.zarr", d, dims=("y", "x"), comm=comm, chunks={"y": 8, "x": 10}, compressors="zstd")
if rank == 0:
    with xarray.open_zarr("f.zarr") as seen:
        xarray.testing.assert_equal(seen.load(), whole())
        assert seen["t"].encoding["chunks"] == (3, 8, 10) and seen.attrs == {"title": "heat"}
""", ranks)


def test_bad_blocks_are_one_error_and_no_file(mpirun):
    mpirun(BLOCK + """
def refused(kind, words, change):
    given = {"block": block, "distribution": d, "dims": ("y", "x"), **change}
    error = same(kind, words, lambda: ps.to_netcdf(path="f.nc", comm=comm, **given))
    comm.Barrier()
    assert not os.path.exists("f.nc")
refused(ps.SectionError, "dimension 'y'", {"block": block.isel(y=slice(0, 3)) if rank == size - 1 else block})
refused(ps.ArgumentError, "no dimension 'z'", {"dims": ("y", "z")})
refused(ps.ArgumentError, "must name the 2 dimensions", {"dims": ("y",)})
refused(ps.ArgumentError, "a distributed dimension has a fixed extent", {"unlimited_dims": ("y",)})
refused(ps.ArgumentError, "'mask'.*more than 32 bits", {"block": block.assign(mask=block["mask"] + (1 << 40)), "container": "cdf1"})
refused(ps.DisagreementError, "variables", {"block": block.drop_vars("mask") if rank == 1 else block})
refused(ps.SectionError, "one block", {"distribution": ps.distribute((ny, nx), comm, kind=("cyclic", "*"))})
""", 3)


def test_a_process_alone(tmp_path):
    data = xarray.Dataset({"u": (("x",), np.arange(5.0))}, coords={"x": [1, 2, 3, 4, 5]})
    ps.to_netcdf(data, tmp_path / "a.nc")
    with xarray.open_dataset(tmp_path / "a.nc", engine="h5netcdf") as seen:
        xarray.testing.assert_identical(seen.load(), data)
