import numpy as np
import penstock as ps
from mpi4py import MPI

comm = MPI.COMM_WORLD
with ps.open("field.npy", "w", shape=(512, 512), dtype="f8", comm=comm) as f:
    d = ps.distribute(f.shape, comm, kind=("block", "block"), halo=1)
    local = d.empty(f.dtype)                      # this rank's block and its halo cells
    local[...] = comm.rank
    f.write(local[d.interior], d.section)         # collective, in place, halo left out
with ps.open("field.npy", comm=comm) as f:
    column = f.read((slice(None), 256))           # every rank the same column; from the disk once
if comm.rank == 0:
    print(np.load("field.npy", mmap_mode="r").shape, column[:3])
