import numpy as np
import penstock as ps
from mpi4py import MPI

comm = MPI.COMM_WORLD
with ps.open("field.npy", "w", shape=(512, 512), dtype="f8", comm=comm) as f:
    d = ps.distribute(f.shape, comm, kind=("block", "block"))
    f.write(np.full(d.section.shape, float(comm.rank)), d)   # collective: each rank writes its block
with ps.open("field.npy", comm=comm) as f:
    column = f.read((slice(None), 256))                      # every rank gets the column, read from disk once
if comm.rank == 0:
    print(np.load("field.npy", mmap_mode="r").shape, column[:3])
