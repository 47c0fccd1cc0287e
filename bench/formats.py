#!/usr/bin/env python3
"""What a container costs beside bare bytes: opening a new file, writing it, closing it, reading it back.

    make bench-formats [MPI=...] [RANKS=4] [ARGS="--mebibytes 64 --repeat 15 --folder DIR"]

Each round makes one file of every container, in turns; a ratio is of two times of one round, its median is printed with
half of what lies between the quartiles. Times are those of the slowest rank.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

#: By name: the end of a file's name, and what `open` is told.
CONTAINERS = {
    "raw": (".raw", {}),
    "npy": (".npy", {}),
    "hdf5": (".h5", {"dataset": "/run/u", "units": "K"}),
    "netcdf": (".nc", {"dataset": "u", "dims": ("y", "x"), "units": "K"}),
}
PHASES = ("open new", "write", "close", "open", "read")


def measure(folder: str, mebibytes: int, repeat: int) -> None:
    """On every rank: rounds of all containers. Rank 0 prints a table."""
    import penstock as ps
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    shape = (mebibytes, (1 << 20) // 8)
    share = ps.distribute(shape, comm, ("block", "block"))
    local, got = np.full(share.section.shape, comm.rank + 1.0), np.zeros(share.section.shape)
    times = np.zeros((repeat, len(CONTAINERS), len(PHASES)))
    for round_ in range(repeat + 1):  # the first is not counted
        for i in np.random.default_rng(round_).permutation(len(CONTAINERS)):
            ending, how = list(CONTAINERS.values())[i]
            path = os.path.join(folder, "u" + ending)
            begins = [_now(comm)]
            f = ps.open(path, "w", shape=shape, dtype="f8", comm=comm, **how)
            begins.append(_now(comm))
            f.write(local, share, active_buffer_size=0)
            begins.append(_now(comm))
            f.close()
            begins.append(_now(comm))
            given = {"shape": shape, "dtype": "f8"} if ending == ".raw" else {}
            f = ps.open(path, comm=comm, **given)
            begins.append(_now(comm))
            f.read(share, out=got)
            begins.append(_now(comm))
            f.close()
            assert np.array_equal(got, local), f"{path} holds something else"
            got[...] = 0
            comm.Barrier()
            if comm.rank == 0:
                os.unlink(path)
            times[round_ - 1, i] = np.diff(begins)
    longest = np.zeros_like(times)
    comm.Allreduce(times, longest, MPI.MAX)
    if comm.rank == 0:
        report(longest, comm.size, mebibytes)


def _now(comm) -> float:
    """When all ranks are here; those that wait leave the core to the others."""
    request = comm.Ibarrier()
    while not request.Test():
        os.sched_yield()
    return time.perf_counter()


def report(times: np.ndarray, ranks: int, mebibytes: int) -> None:
    print(f"{mebibytes} MiB of doubles in blocks, {ranks} ranks, new files, median of {len(times)} rounds: "
          "milliseconds, and the ratio to raw of the same round\n")
    print("| container | " + " | ".join(PHASES) + " |\n| --- |" + " ---: |" * len(PHASES))
    for i, name in enumerate(CONTAINERS):
        cells = []
        for p in range(len(PHASES)):
            low, ratio, high = np.percentile(times[:, i, p] / times[:, 0, p], [25, 50, 75])
            cells.append(f"{np.median(times[:, i, p]) * 1e3:.2f} ({ratio:.2f} ±{(high - low) / 2:.2f})")
        print(f"| {name} | " + " | ".join(cells) + " |")
    for i, name in enumerate(CONTAINERS):
        added = np.median(times[:, i, 0] - times[:, 0, 0]) * 1e3, np.median(times[:, i, 3] - times[:, 0, 3]) * 1e3
        if i > 0:
            print(f"{name}: opening a new file takes {added[0]:.2f} ms longer than raw, an existing one "
                  f"{added[1]:.2f} ms")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--ranks", type=int, default=4)
    options.add_argument("--mebibytes", type=int, default=64)
    options.add_argument("--repeat", type=int, default=15)
    options.add_argument("--folder", help="of the files; default: a temporary one")
    options.add_argument("--rank-of-it", action="store_true", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.rank_of_it:
        measure(given.folder, given.mebibytes, given.repeat)
        return 0
    from penstock._launch import environment, find_mpiexec

    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        command = [find_mpiexec(), "-n", str(given.ranks), sys.executable, __file__, "--rank-of-it", "--folder", folder,
                   "--mebibytes", str(given.mebibytes), "--repeat", str(given.repeat)]
        return subprocess.run(command, env=environment(), timeout=600).returncode


if __name__ == "__main__":
    sys.exit(main())
