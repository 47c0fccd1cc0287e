"""The ranks of `penstock bench checkpoint`: every way saves the same shards, and they take turns."""

from __future__ import annotations

import functools
import json
import os
import resource
import shutil
import sys
import time
from collections.abc import Callable
from typing import Any, Optional

import numpy as np
from mpi4py import MPI

import penstock as ps

Tensors = dict[str, ps.Shard]


def shards(comm: Any, size: int, count: int) -> Tensors:
    """`count` float32 tensors of `size` bytes together, of columns, rows and blocks in turn; this rank's parts."""
    width = max(4 * comm.size, int((size / count / 4) ** 0.5))
    made = {}
    for number in range(count):
        d = ps.distribute((width, width), comm, kind=[("*", "block"), ("block", "*"), ("block", "block")][number % 3])
        made[f"layers.{number:05}.weight"] = ps.Shard(value_of(number, d.section.index), d)
    return made


def value_of(number: int, index: Any) -> np.ndarray:
    rows, columns = (np.arange(s.start, s.stop, dtype="f4") for s in index)
    return rows[:, None] * 3 + columns + number


def other_shards(comm: Any, tensors: Tensors) -> dict[str, Any]:
    """Of rows where they were of columns, and the other way round."""
    kinds = [("block", "*"), ("*", "block"), ("*", "block")]
    return {name: ps.distribute(shard.section.shape, comm, kind=kinds[number % 3])
            for number, (name, shard) in enumerate(tensors.items())}


def sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


class Ways:
    """Each saves into its own file or folder, and returns when that is on the device, with when arrays were free."""

    def __init__(self, comm: Any, tensors: Tensors, folder: str):
        self._comm, self._tensors, self._folder = comm, tensors, folder

    def path(self, name: str) -> str:
        return os.path.join(self._folder, name)

    def penstock(self) -> None:
        ps.save_tensors(self.path("penstock.safetensors"), self._tensors, comm=self._comm)

    def penstock_behind(self) -> float:
        pending = ps.save_tensors(self.path("behind.safetensors"), self._tensors, comm=self._comm, wait=False)
        free = time.perf_counter()
        assert pending is not None
        pending.wait()
        return free

    def gathered(self) -> None:
        """To rank 0, which has all of it in memory then."""
        from safetensors.numpy import save_file

        whole = {}
        for name, shard in self._tensors.items():
            parts = self._comm.gather((shard.section.section.index, shard.array))
            if parts:
                whole[name] = np.empty(shard.section.shape, "f4")
                for index, part in parts:
                    whole[name][index] = part
        if whole:
            save_file(whole, self.path("gathered.safetensors"))
            sync(self.path("gathered.safetensors"))
        self._comm.Barrier()

    def each_rank(self) -> None:
        """A file of each rank, which no other sharding can read."""
        path = self.path(f"rank.{self._comm.rank}.npy")
        with open(path, "wb") as file:
            for shard in self._tensors.values():
                np.save(file, shard.array)
        sync(path)
        self._comm.Barrier()


def read_penstock(path: str, wanted: dict[str, Any], comm: Any) -> dict[str, np.ndarray]:
    return ps.load_tensors(path, wanted, comm=comm)


def read_safetensors(path: str, wanted: dict[str, Any], comm: Any) -> dict[str, np.ndarray]:
    """By every rank on its own, through the safetensors package."""
    from safetensors import safe_open

    with safe_open(path, "np") as file:
        return {name: file.get_slice(name)[d.section.index] for name, d in wanted.items()}


def peak_of(comm: Any, work: Callable[[], Any]) -> tuple[Any, float, int]:
    """What it returns, the seconds of the slowest rank, and the most bytes by which a rank's memory grew."""
    def status(name: str) -> int:
        with open("/proc/self/status", encoding="ascii") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith(name))

    try:
        with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
            file.write("5")  # the peak begins anew
    except OSError:
        pass
    before = status("VmRSS")
    comm.Barrier()
    begin = time.perf_counter()
    result = work()
    seconds = comm.allreduce(time.perf_counter() - begin, MPI.MAX)
    return (begin, result), seconds, comm.allreduce(status("VmHWM") - before, MPI.MAX)


def main(job: dict[str, Any]) -> None:
    comm = MPI.COMM_WORLD
    folder: Optional[str] = job["folder"]
    tensors = shards(comm, job["size"], job["tensors"])
    ways, wanted = Ways(comm, tensors, str(folder)), other_shards(comm, tensors)
    saves: dict[str, Callable[[], Any]] = {"penstock": ways.penstock, "penstock, wait=False": ways.penstock_behind,
                                           "gather, safetensors": ways.gathered, "np.save of each rank": ways.each_rank}
    readers = {"penstock": read_penstock, "safetensors": read_safetensors}
    if not job["safetensors"]:
        del saves["gather, safetensors"], readers["safetensors"]
    for repetition in range(job["repeat"]):
        for name, save in saves.items():
            (begin, free), seconds, peak = peak_of(comm, save)
            visible = seconds if free is None else comm.allreduce(free - begin, MPI.MAX)
            record = {"what": "save", "way": name, "seconds": seconds, "visible": visible, "peak": peak}
            if comm.rank == 0:
                print(json.dumps(record), flush=True)
        for name, read in readers.items():
            path = ways.path("penstock.safetensors")
            (_, found), seconds, peak = peak_of(comm, functools.partial(read, path, wanted, comm))
            if repetition == 0:
                for number, (tensor, d) in enumerate(wanted.items()):
                    assert np.array_equal(found[tensor], value_of(number, d.section.index)), tensor
            del found, _
            if comm.rank == 0:
                print(json.dumps({"what": "load", "way": name, "seconds": seconds, "visible": seconds, "peak": peak}), flush=True)
    comm.Barrier()
    if comm.rank == 0:
        shutil.rmtree(ways.path(""))


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main(json.loads(sys.argv[1]))
