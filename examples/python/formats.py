"""The same field in five formats, written by all ranks: raw, .npy, HDF5, netCDF-4 and Zarr."""

import numpy as np
import penstock as ps
from mpi4py import MPI

comm = MPI.COMM_WORLD
shape, dims, units = (64, 48), ("y", "x"), "K"
d = ps.distribute(shape, comm, kind=("block", "block"))
y, x = (np.arange(lower, upper) for lower, upper, *_ in d.section.dimensions)
u = 1000.0 * y[:, None] + x                       # this rank's block


def write(path, attributes=None, **how):
    with ps.open(path, "w", shape=shape, dtype="<f8", comm=comm, **how) as f:
        f.write(u, d)                             # collective
        f.attrs.update(attributes or {})


write("u.raw")
write("u.npy", {"dims": dims, "units": units})    # beside it, in u.npy.attrs.json
write("u.h5", dataset="/run/u", dims=dims, attributes={"units": units})
write("u.nc", dataset="u", dims=dims, attributes={"units": units})
write("u.zarr/u", chunks=(32, 16), compressors="zstd:3", dims=dims, attributes={"units": units})
