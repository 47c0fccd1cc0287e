"""MPI-IO on several hosts, through the drop-in: what ranks of different hosts see of each other.

    mpi_io.py FOLDER
"""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, ranks = comm.rank, comm.size
file = MPI.File.Open(comm, sys.argv[1] + "/mpi-io", MPI.MODE_CREATE | MPI.MODE_RDWR)
info = file.Get_info()
assert info.Get("penstock_active_buffer_size") == "0", "other hosts could not see what is buffered"

# The shared pointer is one for all hosts.
for _ in range(5):
    file.Write_shared(np.full(10, rank, "i4"))
comm.Barrier()
everything = np.empty(ranks * 50, "i4")
file.Read_at_all(0, everything)
assert sorted(everything[::10].tolist()) == sorted([*range(ranks)] * 5)
file.Seek_shared(0)
file.Write_ordered(np.full(rank + 1, rank, "i4"))
in_order = np.concatenate([np.full(r + 1, r, "i4") for r in range(ranks)])
back = np.empty_like(in_order)
file.Read_at_all(0, back)
assert (back == in_order).all()

# What one rank has written, another reads after a barrier.
other = (rank + 1) % ranks
file.Write_at(1000 + 400 * rank, np.full(100, rank + 7, "i4"))
comm.Barrier()
row = np.empty(100, "i4")
file.Read_at(1000 + 400 * other, row)
assert (row == other + 7).all()

# Non-blocking collective calls, ended together with a message.
block = np.full(1000, rank, "i4")
requests = [file.Iwrite_at_all(100000 + 4000 * rank, block), comm.Isend(block, other, 1)]
comm.Recv(np.empty(1000, "i4"), (rank - 1) % ranks, 1)
MPI.Request.Waitall(requests)
comm.Barrier()
row = np.empty(1000, "i4")
file.Read_at(100000 + 4000 * other, row)
assert (row == other).all()
file.Close()
if rank == 0:
    print("MPI-IO holds")
