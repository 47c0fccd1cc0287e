"""Runs the example of five formats on 4 ranks; each format's own programs open its files.

    check_formats.py MPIEXEC PROGRAM [ARGUMENT...]     exits with 77 if a package or program of a format is missing
"""

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

ROWS, COLUMNS = 64, 48
FIELD = 1000.0 * np.arange(ROWS)[:, None] + np.arange(COLUMNS)
NEEDED = {"packages": ("h5py", "h5netcdf", "xarray", "zarr"), "programs": ("h5dump", "ncdump")}


def same(found, who):
    found = np.asarray(found)
    assert found.shape == FIELD.shape, f"{who}: shape {found.shape}"
    assert np.array_equal(found, FIELD), f"{who}: {found}"


def equal(found, wanted, who):
    assert found == wanted, f"{who}: {found!r}, not {wanted!r}"


def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=60).stdout


def numbers(listed):
    return np.array(re.findall(r"[0-9.]+", listed), float).reshape(ROWS, COLUMNS)


def check_raw_and_npy():
    same(np.fromfile("u.raw", "<f8").reshape(ROWS, COLUMNS), "u.raw, numpy.fromfile")
    array = np.load("u.npy", mmap_mode="r")
    equal(array.dtype.str, "<f8", "u.npy, dtype")
    same(array, "u.npy, numpy.load")
    equal(json.loads(Path("u.npy.attrs.json").read_text()), {"dims": ["y", "x"], "units": "K"}, "u.npy.attrs.json")


def check_hdf5():
    import h5py

    with h5py.File("u.h5") as file:
        same(file["run/u"], "u.h5, h5py")
        equal(file["run/u"].dtype.str, "<f8", "u.h5, dtype")
        equal(text(file["run/u"].attrs["units"]), "K", "u.h5, units")
    dumped = output("h5dump", "-y", "-w", "0", "-d", "/run/u", "u.h5")
    same(numbers(re.search(r"DATA \{\n(.*?)\n\s*\}", dumped, re.DOTALL)[1]), "u.h5, h5dump")
    assert '"K' in output("h5dump", "-a", "/run/u/units", "u.h5"), "u.h5, h5dump: no units"


def check_netcdf():
    import xarray

    with xarray.open_dataset("u.nc", engine="h5netcdf") as seen:
        equal(seen["u"].dims, ("y", "x"), "u.nc, names of dimensions")
        equal(text(seen["u"].attrs["units"]), "K", "u.nc, units")
        same(seen["u"], "u.nc, xarray")
    dumped = output("ncdump", "-p", "9,17", "-v", "u", "u.nc")
    assert "double u(y, x)" in dumped and 'u:units = "K"' in dumped, dumped[:500]
    same(numbers(re.search(r"\n u =(.*?);", dumped, re.DOTALL)[1]), "u.nc, ncdump")


def check_zarr():
    import xarray
    import zarr

    array = zarr.open_group("u.zarr", mode="r")["u"]
    equal(array.chunks, (32, 16), "u.zarr, chunks")
    equal(array.metadata.dimension_names, ("y", "x"), "u.zarr, names of dimensions")
    equal(dict(array.attrs), {"units": "K"}, "u.zarr, attributes")
    assert "zstd" in Path("u.zarr/u/zarr.json").read_text(), "u.zarr: no zstd"
    same(array, "u.zarr, zarr-python")
    with xarray.open_zarr("u.zarr", consolidated=False, chunks=None) as seen:
        equal((seen["u"].dims, seen["u"].attrs["units"]), (("y", "x"), "K"), "u.zarr, xarray")
        same(seen["u"], "u.zarr, xarray")
    if importlib.util.find_spec("tensorstore"):
        import tensorstore

        kvstore = {"driver": "file", "path": str(Path("u.zarr/u").resolve())}
        opened = tensorstore.open({"driver": "zarr3", "kvstore": kvstore}).result()
        same(opened.read().result(), "u.zarr, TensorStore")


def main():
    missing = [name for name in NEEDED["packages"] if not importlib.util.find_spec(name)]
    missing += [name for name in NEEDED["programs"] if not shutil.which(name)]
    if missing:
        print("skipped: there is no", ", ".join(missing))
        sys.exit(77)
    for path in Path().glob("u.*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    subprocess.run([sys.argv[1], "-n", "4", *sys.argv[2:]], check=True, timeout=90)
    for check in (check_raw_and_npy, check_hdf5, check_netcdf, check_zarr):
        check()
    print("five formats, as they should be")


if __name__ == "__main__":
    main()
