#!/usr/bin/env python3
"""The cost of a container relative to a raw file: opening a new file, writing it, closing it, reading it back.

    make evaluation [MPI=...] [ARGS="program formats --mebibytes 64 --repeat 15 --folder DIR"]
    make evaluation MPI=openmpi-debian ARGS="program formats --python /usr/bin/python3"      # beside Debian's python3-h5py-mpi

Each round makes one file of every container, in turns; a ratio is of two times of one round, its median is printed with
half of what lies between the quartiles. Times are those of the slowest rank. Where the interpreter's h5py was built for
MPI, parallel HDF5's collective calls are measured, too.
"""

import argparse
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np
import penstock as ps
from mpi4py import MPI

try:
    import h5py
except ImportError:
    h5py = None
try:
    import h5netcdf
except ImportError:
    h5netcdf = None

#: By name: the end of a file's name, and the arguments of `open`.
CONTAINERS = {
    "raw": (".raw", {}),
    "npy": (".npy", {}),
    "hdf5": (".h5", {"dataset": "/run/u", "units": "K"}),
    "netcdf": (".nc", {"dataset": "u", "dims": ("y", "x"), "units": "K"}),
    "zarr, zstd": (".zarr", {"compressors": "zstd"}),
}
PARALLEL_HDF5 = "parallel HDF5"
PHASES = ("open new", "write", "close", "open", "read")


class Penstock:
    def __init__(self, name: str, folder: str, share, comm):
        ending, self.how = CONTAINERS[name]
        self.path, self.share, self.comm = os.path.join(folder, "u" + ending), share, comm
        if name.startswith("zarr"):
            self.how = {**self.how, "chunks": share.section.shape}

    def create(self) -> None:
        self.file = ps.open(self.path, "w", shape=self.share.shape, dtype="f8", comm=self.comm, **self.how)

    def write(self, local: np.ndarray) -> None:
        self.file.write(local, self.share, active_buffer_size=0)

    def open(self) -> None:
        given = {"shape": self.share.shape, "dtype": "f8"} if self.path.endswith(".raw") else {}
        self.file = ps.open(self.path, comm=self.comm, **given)

    def read(self, got: np.ndarray) -> None:
        self.file.read(self.share, out=got)

    def close(self) -> None:
        self.file.close()


class ParallelHdf5:
    def __init__(self, folder: str, share, comm):
        self.path, self.share, self.comm = os.path.join(folder, "parallel.h5"), share, comm

    def create(self) -> None:
        self.file = h5py.File(self.path, "w", driver="mpio", comm=self.comm)
        self.file.create_dataset("u", self.share.shape, "f8")

    def write(self, local: np.ndarray) -> None:
        with self.file["u"].collective:
            self.file["u"][self.share.section.index] = local

    def open(self) -> None:
        self.file = h5py.File(self.path, "r", driver="mpio", comm=self.comm)

    def read(self, got: np.ndarray) -> None:
        with self.file["u"].collective:
            self.file["u"].read_direct(got, self.share.section.index)

    def close(self) -> None:
        self.file.close()


def measure(folder: str, mebibytes: int, repeat: int) -> None:
    """On every rank: rounds of all containers. Rank 0 prints a table."""
    comm = MPI.COMM_WORLD
    side = math.isqrt((mebibytes << 20) // 8)
    shape = (side, side)
    share = ps.distribute(shape, comm, ("block", "block"))
    # Values that a codec can compress, but not to nothing.
    local = np.random.default_rng(comm.rank).integers(0, 4096, share.section.shape).astype("f8")
    got = np.zeros(share.section.shape)
    ways = {name: Penstock(name, folder, share, comm) for name in CONTAINERS if can_open(name)}
    if h5py is not None and h5py.get_config().mpi:
        ways[PARALLEL_HDF5] = ParallelHdf5(folder, share, comm)
    times = np.zeros((repeat, len(ways), len(PHASES)))
    for round_ in range(repeat + 1):  # the first is not counted
        for i in np.random.default_rng(round_).permutation(len(ways)):
            times[round_ - 1, i] = one_round(list(ways.values())[i], local, got, comm)
    longest = np.zeros_like(times)
    comm.Allreduce(times, longest, MPI.MAX)
    if comm.rank == 0:
        report(list(ways), longest, comm.size, mebibytes)


def can_open(name: str) -> bool:
    return name not in ("hdf5", "netcdf") or h5py is not None and (name == "hdf5" or h5netcdf is not None)


def one_round(way, local: np.ndarray, got: np.ndarray, comm) -> np.ndarray:
    got[...] = 0
    begins = [_now(comm)]
    for step in (way.create, lambda: way.write(local), way.close, way.open, lambda: way.read(got)):
        step()
        begins.append(_now(comm))
    way.close()
    assert np.array_equal(got, local), f"{way.path} holds something else"
    comm.Barrier()
    if comm.rank == 0:
        shutil.rmtree(way.path) if os.path.isdir(way.path) else os.unlink(way.path)
    return np.diff(begins)


def _now(comm) -> float:
    """The time when all ranks are here; those that wait do not use a core."""
    request = comm.Ibarrier()
    while not request.Test():
        os.sched_yield()
    return time.perf_counter()


def report(names: list[str], times: np.ndarray, ranks: int, mebibytes: int) -> None:
    print(f"{mebibytes} MiB of doubles, a square in blocks, {ranks} ranks, new files, median of {len(times)} rounds: "
          "milliseconds, and the ratio to raw of the same round\n")
    print("| container | " + " | ".join(PHASES) + " |\n| --- |" + " ---: |" * len(PHASES))
    for i, name in enumerate(names):
        cells = []
        for p in range(len(PHASES)):
            low, ratio, high = np.percentile(times[:, i, p] / times[:, 0, p], [25, 50, 75])
            cells.append(f"{np.median(times[:, i, p]) * 1e3:.2f} ({ratio:.2f} ±{(high - low) / 2:.2f})")
        print(f"| {name} | " + " | ".join(cells) + " |")
    for i, name in enumerate(names[1:], 1):
        added = np.median(times[:, i, 0] - times[:, 0, 0]) * 1e3, np.median(times[:, i, 3] - times[:, 0, 3]) * 1e3
        print(f"{name}: opening a new file takes {added[0]:.2f} ms longer than raw, an existing one {added[1]:.2f} ms")
    if PARALLEL_HDF5 in names:
        theirs = times[:, names.index(PARALLEL_HDF5)]
        for i, name in enumerate(names[:-1]):
            ratios = theirs / times[:, i]
            whole = theirs[:, :3].sum(axis=1) / times[:, i, :3].sum(axis=1)
            print(f"{name}: {np.median(ratios[:, 1]):.2f} times as fast as {PARALLEL_HDF5} writing, "
                  f"{np.median(whole):.2f} with open and close, {np.median(ratios[:, 4]):.2f} reading")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--ranks", type=int, default=4)
    options.add_argument("--mebibytes", type=int, default=64)
    options.add_argument("--repeat", type=int, default=15)
    options.add_argument("--folder", help="of the files; default: a temporary one")
    options.add_argument("--python", default=sys.executable, help="of the ranks")
    options.add_argument("--rank-of-it", action="store_true", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.rank_of_it:
        measure(given.folder, given.mebibytes, given.repeat)
        return 0
    from penstock._launch import environment, find_mpiexec

    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        command = [find_mpiexec(), "-n", str(given.ranks), given.python, __file__, "--rank-of-it", "--folder", folder,
                   "--mebibytes", str(given.mebibytes), "--repeat", str(given.repeat)]
        return subprocess.run(command, env=environment(), timeout=600).returncode


if __name__ == "__main__":
    sys.exit(main())
