"""Time to write a Zarr array: Penstock's ranks compared with one process with zarr-python, and dask's processes.

    make evaluation ARGS="program zarr [--mib 128] [--pairs 5] [--ranks 4] [--codec zstd:1]"

All write the same array, in the same chunks, with the same codec, into a new folder beside the last one. A pair is
two of them, one after the other; printed are the medians of their times, and of the ratios of pairs. zarr-python
encodes with threads of its own.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

SIDE = 256  # of a chunk, in float64: 512 KiB


def field(rows, columns, first=0):
    """Smooth, with some noise in the lowest digits: compresses by a half or so."""
    y, x = np.mgrid[first:first + rows, 0:columns]
    noise = np.random.default_rng(first).random((rows, columns))
    return np.round(np.sin(x / 97) * np.cos(y / 71) + noise * 1e-3, 6)


def penstock_rank(path, rows, columns, codec, times):
    import penstock as ps
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    first, last = rows * comm.rank // comm.size, rows * (comm.rank + 1) // comm.size
    mine = field(last - first, columns, first)
    for _ in range(times):
        if comm.rank == 0:
            shutil.rmtree(path, ignore_errors=True)
        comm.Barrier()
        begin = time.perf_counter()
        with ps.open(path, "w", shape=(rows, columns), dtype="f8", chunks=(SIDE, SIDE), compressors=codec,
                     comm=comm) as f:
            f.write(mine, slice(first, last))
        seconds = comm.allreduce(time.perf_counter() - begin, MPI.MAX)
        if comm.rank == 0:
            print("seconds", seconds, flush=True)


def zarr_codec(codec):
    import zarr

    name, _, level = codec.partition(":")
    if not name:
        return None
    kinds = {"zstd": (zarr.codecs.ZstdCodec, "level"), "gzip": (zarr.codecs.GzipCodec, "level"),
             "blosc": (zarr.codecs.BloscCodec, "clevel")}
    kind, setting = kinds[name]
    return kind(**({setting: int(level)} if level else {}))


def made(path, rows, columns, codec):
    import zarr

    shutil.rmtree(path, ignore_errors=True)
    return zarr.create_array(path, shape=(rows, columns), dtype="f8", chunks=(SIDE, SIDE),
                             compressors=zarr_codec(codec))


def by_zarr(path, data, codec):
    begin = time.perf_counter()
    made(path, *data.shape, codec)[...] = data
    return time.perf_counter() - begin


def by_dask(path, data, codec, client, ranks):
    import dask.array

    array = made(path, *data.shape, codec)
    rows = -(-data.shape[0] // ranks // SIDE) * SIDE
    lazy = dask.array.from_array(data, chunks=(rows, data.shape[1])).persist()
    begin = time.perf_counter()
    dask.array.store(lazy, array, lock=False)
    return time.perf_counter() - begin


def by_penstock(path, rows, columns, codec, ranks):
    from penstock._launch import environment, find_mpiexec

    command = [find_mpiexec(), "-n", str(ranks), sys.executable, __file__]
    command += ["--rank", path, str(rows), str(columns), codec]
    done = subprocess.run(command, env=environment(), check=True, timeout=600, stdout=subprocess.PIPE, text=True)
    return float(done.stdout.split()[-1])


def dask_client(ranks):
    try:
        from dask.distributed import Client
    except ImportError:
        print("dask and distributed are not installed: left out")
        return None
    return Client(n_workers=ranks, threads_per_worker=1, processes=True, dashboard_address=None)


def report(name, ours, theirs):
    ratio = statistics.median(b / a for a, b in zip(ours, theirs))
    print(f"penstock {statistics.median(ours) * 1e3:8.1f} ms   {name:12} {statistics.median(theirs) * 1e3:8.1f} ms   "
          f"ratio {ratio:5.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mib", type=int, default=128)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--codec", default="zstd:1")
    parser.add_argument("--dask", action="store_true", help="beside dask's processes, too")
    parser.add_argument("--rank", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.rank:
        path, rows, columns, codec = given.rank
        return penstock_rank(path, int(rows), int(columns), codec, times=2)  # the first time is not counted
    columns = 8 * SIDE
    rows = given.mib * 2**20 // 8 // columns
    data = field(rows, columns)
    client = dask_client(given.ranks) if given.dask else None
    with tempfile.TemporaryDirectory(dir=os.getcwd()) as folder:
        others = {"zarr-python": lambda: by_zarr(folder + "/zarr.zarr", data, given.codec)}
        if client is not None:
            others["dask"] = lambda: by_dask(folder + "/dask.zarr", data, given.codec, client, given.ranks)
        for name, other in others.items():
            other()
            ours, theirs = [], []
            for _ in range(given.pairs):
                ours.append(by_penstock(folder + "/ours.zarr", rows, columns, given.codec, given.ranks))
                theirs.append(other())
            report(name, ours, theirs)
    if client is not None:
        client.close()


if __name__ == "__main__":
    main()
