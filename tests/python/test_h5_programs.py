"""Programs of the kinds that are written for parallel h5py, with the import changed. They make the calls that public
programs make: what these write themselves is here in the place of their physics."""

import numpy as np
import pytest

from conftest import run_ranks


h5py = pytest.importorskip("h5py")

# As tutorials have it: each rank its rows, element by element; an attribute by all; a file that is never asked for more.
TUTORIAL = """
import numpy as np
import penstock.h5 as h5py
from mpi4py import MPI

comm = MPI.COMM_WORLD
rows, columns = 8, 5
f = h5py.File("tutorial.h5", "w-", driver="mpio", comm=comm)
dset = f.create_dataset("dset", (rows, columns), dtype="i")
dset.attrs["Units"] = "counts"
for i in range(comm.rank, rows, comm.size):
    for j in range(columns):
        dset[i, j] = i * columns + j + 1
ranks = f.create_dataset("ranks", (comm.size,), dtype="i")
ranks[comm.rank] = comm.rank
steps = f.create_dataset("steps", (2 * comm.size, 1000), dtype="f8", chunks=(1, 1000))
for i in range(0, 2 * comm.size, comm.size):
    steps[i + comm.rank, :] = np.full(1000, i + comm.rank)
f.close()
comm.Barrier()
with h5py.File("tutorial.h5", "r", driver="mpio", comm=comm) as f:
    lower, upper = (rows * (comm.rank + k) // comm.size for k in (0, 1))
    assert (f["dset"][lower:upper, :] == np.arange(lower * columns, upper * columns).reshape(-1, columns) + 1).all()
    assert f["dset"].attrs["Units"] == "counts" and list(f["ranks"]) == list(range(comm.size))
"""

# A flow solver's restart: a group for each block of a grid, datasets made by all, blocks written by their owners alone,
# numbers of the run by rank 0; read on any number of ranks.
RESTART = """
import sys
import numpy as np
import penstock.h5 as h5py
from mpi4py import MPI

comm = MPI.COMM_WORLD
blocks, cells, names = 7, 60, ["rho", "p", "u"]
field = lambda block, name: np.arange(cells) + 1000.0 * block + len(name) * names.index(name)

def write(name):
    f = h5py.File(name, "w", driver="mpio", comm=comm)
    f.create_group("iter")
    f["iter"].create_dataset("nrt", shape=(1,), dtype="int32")
    f["iter"].create_dataset("tme", shape=(1,), dtype="float64")
    if comm.rank == 0:
        f["iter"]["nrt"][0] = 1200
        f["iter"]["tme"][0] = 0.125
    for block in range(blocks):
        group = f.create_group(f"results_{block:06d}")
        for name in names:
            group.create_dataset(name, shape=(cells,), dtype="float64")
    for block in range(comm.rank, blocks, comm.size):
        for name in names:
            dset = f[f"results_{block:06d}/{name}"]
            dset[:] = field(block, name)
    f.close()

def read(name):
    with h5py.File(name, "r", driver="mpio", comm=comm) as f:
        assert f["iter"]["nrt"][0] == 1200 and f["iter/tme"][...] == [0.125]
        groups = sorted(key for key in f.keys() if key.startswith("results_"))
        assert len(groups) == blocks
        for block in range(comm.size - 1 - comm.rank, blocks, comm.size):
            for name, dset in f[groups[block]].items():
                assert np.array_equal(dset[()], field(block, name)), (block, name)

read("restart.h5") if "--read" in sys.argv else write("restart.h5")
"""

# Checkpoints of a simulation, and an ensemble of them: names with the time in them, slabs written by all at once within
# "with dset.collective", compressed chunks, group attributes, later steps by mode "a", a program that looks for support.
CHECKPOINTS = """
import numpy as np
import penstock.h5 as h5
from mpi4py import MPI

class Checkpoint(h5.File):
    def __init__(self, filename, mode="r"):
        if not h5.get_config().mpi:
            raise RuntimeError("Parallel HDF5 not supported in this h5py build.")
        super().__init__(filename, mode, driver="mpio", comm=MPI.COMM_WORLD)
        self.writable = not mode.startswith("r")

    def write_slice(self, dset, offset, data):
        assert self.writable
        index = tuple(slice(o, o + n) for o, n in zip(offset, data.shape))
        with dset.collective:
            dset[index] = data

comm = MPI.COMM_WORLD
n = 12
low, up = n * comm.rank // comm.size, n * (comm.rank + 1) // comm.size
grid = np.arange(n * n * 3.0).reshape(n, n, 3)
for start, mode in ((0, "w"), (2, "a")):
    with Checkpoint("checkpoints.h5", mode) as f:
        if mode == "w":
            header = f.create_group("header")
            header.attrs["version"], header.attrs["size"] = "1.2", np.array([n, n, 3])
        for t in range(start, start + 2):
            dset = f.create_dataset(f"density/t{t}/rho", shape=grid.shape, dtype="f8", chunks=(5, n, 1), compression="gzip")
            f[f"density/t{t}"].attrs.create("t_Myr", t * 0.5)
            f.write_slice(dset, (low, 0, 0), grid[low:up] + t)
        f.flush()
ensemble = h5.File("ensemble.h5", "w", driver="mpio", comm=comm, libver="latest")
members = ensemble.create_dataset("ensemble_data", shape=(n, n, 4), dtype="f8", chunks=(n // 2, n, 1), compression="gzip", compression_opts=4)
with h5.File("checkpoints.h5", "r", driver="mpio", comm=comm) as f:
    for t in range(4):
        dset = f["density"][f"t{t}"]["rho"]
        with dset.collective:
            mine = dset[low:up, :, 0]
        with members.collective:
            members[low:up, :, t] = mine
    assert f["header"].attrs["version"] == "1.2" and f["density/t3"].attrs["t_Myr"] == 1.5
ensemble.close()
if comm.rank == 0:
    with h5.File("ensemble.h5", "r+") as f:       # one process alone
        f["summary"] = f["ensemble_data"][:].mean(axis=(0, 1))
"""


@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_a_tutorial(tmp_path, ranks):
    run_ranks(tmp_path, TUTORIAL, ranks)
    with h5py.File(tmp_path / "tutorial.h5") as file:
        assert np.array_equal(file["dset"], np.arange(40).reshape(8, 5) + 1) and file["dset"].attrs["Units"] == "counts"
        assert list(file["ranks"]) == list(range(ranks)) and file["dset"].dtype == "i4"
        assert np.array_equal(file["steps"], np.tile(np.arange(2 * ranks)[:, None], 1000)) and file["steps"].chunks == (1, 1000)


@pytest.mark.parametrize("ranks", [1, 4])
def test_a_restart_by_blocks(tmp_path, ranks):
    run_ranks(tmp_path, RESTART, ranks)
    with h5py.File(tmp_path / "restart.h5") as file:
        assert file["iter/nrt"][0] == 1200 and len(file) == 8
        for block in range(7):
            for place, name in enumerate(["rho", "p", "u"]):
                expected = np.arange(60) + 1000.0 * block + len(name) * place
                assert np.array_equal(file[f"results_{block:06d}"][name], expected)
    run_ranks(tmp_path, "import sys; sys.argv.append('--read')\n" + RESTART, 3)


@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_checkpoints_in_compressed_chunks(tmp_path, ranks):
    run_ranks(tmp_path, CHECKPOINTS, ranks)
    grid = np.arange(12 * 12 * 3.0).reshape(12, 12, 3)
    with h5py.File(tmp_path / "checkpoints.h5") as file:
        for t in range(4):
            assert np.array_equal(file[f"density/t{t}/rho"], grid + t) and file[f"density/t{t}"].attrs["t_Myr"] == t * 0.5
        assert list(file["header"].attrs["size"]) == [12, 12, 3] and file["density/t1/rho"].compression == "gzip"
    with h5py.File(tmp_path / "ensemble.h5") as file:
        for t in range(4):
            assert np.array_equal(file["ensemble_data"][..., t], grid[..., 0] + t)
        assert np.allclose(file["summary"], grid[..., 0].mean() + np.arange(4))
