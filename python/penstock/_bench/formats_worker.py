"""The ranks of `penstock bench formats`: every way writes and reads the same array, and they take turns."""

from __future__ import annotations

import json
import math
import os
import resource
import shutil
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Optional

import numpy as np
from mpi4py import MPI

import penstock as ps

from .ranks import barrier

CHUNKS = 4  #: of a rank's block in each dimension


class Share:
    """This rank's block of the array, with values that a codec can compress, but not to nothing."""

    def __init__(self, comm: Any, size: int):
        grid = MPI.Compute_dims(comm.size, 2)
        step = CHUNKS * math.lcm(*grid)
        side = max(1, math.isqrt(size // 8) // step) * step  # chunks of all ranks are alike
        self.comm, self.shape = comm, (side, side)
        self.distribution = ps.distribute(self.shape, comm, kind=("block", "block"))
        self.index: Any = self.distribution.section.index
        extents = self.distribution.section.shape
        self.chunks = tuple(extent // CHUNKS for extent in extents)
        self.block = np.random.default_rng(comm.rank).integers(0, 4096, extents).astype("f8")

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * 8

    def pieces(self) -> list[np.ndarray]:
        """Its chunks."""
        rows, columns = self.chunks
        return [np.ascontiguousarray(self.block[i : i + rows, j : j + columns])
                for i in range(0, self.block.shape[0], rows) for j in range(0, self.block.shape[1], columns)]


class Way(ABC):
    """A way to write and to read a file."""

    def __init__(self, share: Share, path: str):
        self.share, self.path = share, path

    @abstractmethod
    def write(self) -> None:
        """Open, write, close."""

    def read(self) -> Optional[np.ndarray]:
        """Open, read, close: this rank's block. None: it has nothing to read."""
        return None


class Penstock(Way):
    def __init__(self, share: Share, path: str, active_buffer_size: Optional[int] = None, **how: Any):
        super().__init__(share, path)
        self._how, self._dataset = how, {"dataset": how["dataset"]} if "dataset" in how else {}
        self._hints = {} if active_buffer_size is None else {"active_buffer_size": active_buffer_size}

    def write(self) -> None:
        with ps.open(self.path, "w", shape=self.share.shape, dtype="f8", comm=self.share.comm, hints=self._hints,
                     **self._how) as file:
            file.write(self.share.block, self.share.distribution)

    def read(self) -> np.ndarray:
        with ps.open(self.path, comm=self.share.comm, hints=self._hints, **self._dataset) as file:
            return np.asarray(file.read(self.share.distribution))


class Memmap(Way):
    """Of each rank, in an .npy file that rank 0 has made."""

    def write(self) -> None:
        if self.share.comm.rank == 0:
            np.lib.format.open_memmap(self.path, "w+", "f8", self.share.shape)
        barrier(self.share.comm)
        np.load(self.path, mmap_mode="r+")[self.share.index] = self.share.block

    def read(self) -> np.ndarray:
        return np.array(np.load(self.path, mmap_mode="r")[self.share.index])


class MpiIo(Way):
    """The MPI library's own collective calls."""

    def _opened(self, mode: int) -> Any:
        file, share = MPI.File.Open(self.share.comm, self.path, mode), self.share
        starts = [one.start for one in share.index]
        kind = MPI.DOUBLE.Create_subarray(share.shape, share.block.shape, starts).Commit()
        file.Set_view(0, MPI.DOUBLE, kind)
        kind.Free()
        return file

    def write(self) -> None:
        file = self._opened(MPI.MODE_CREATE | MPI.MODE_WRONLY)
        file.Write_all(self.share.block)
        file.Close()

    def read(self) -> np.ndarray:
        file, found = self._opened(MPI.MODE_RDONLY), np.empty_like(self.share.block)
        file.Read_all(found)
        file.Close()
        return found


class GatheredHdf5(Way):
    """h5py on rank 0, which has all of the array in memory then."""

    def write(self) -> None:
        import h5py

        parts = self.share.comm.gather((self.share.index, self.share.block))
        if parts:
            with h5py.File(self.path, "w") as file:
                dataset = file.create_dataset("u", self.share.shape, "f8")
                for index, part in parts:
                    dataset[index] = part
        barrier(self.share.comm)

    def read(self) -> np.ndarray:
        import h5py

        with h5py.File(self.path) as file:
            return np.asarray(file["u"][self.share.index])


class ParallelHdf5(Way):
    """h5py that was built for MPI, with HDF5's collective calls."""

    def _opened(self, mode: str) -> Any:
        import h5py

        return h5py.File(self.path, mode, driver="mpio", comm=self.share.comm)

    def write(self) -> None:
        with self._opened("w") as file:
            dataset = file.create_dataset("u", self.share.shape, "f8")
            with dataset.collective:
                dataset[self.share.index] = self.share.block

    def read(self) -> np.ndarray:
        with self._opened("r") as file, file["u"].collective:
            return np.asarray(file["u"][self.share.index])


class ZarrPython(Way):
    """zarr-python by each rank, whose chunks are its own."""

    def __init__(self, share: Share, path: str, compressed: bool):
        super().__init__(share, path)
        self._compressed = compressed

    def write(self) -> None:
        import zarr
        from zarr.codecs import ZstdCodec

        if self.share.comm.rank == 0:
            codec = ZstdCodec(level=1) if self._compressed else None
            zarr.create_array(self.path, shape=self.share.shape, chunks=self.share.chunks, dtype="f8", compressors=codec)
        barrier(self.share.comm)
        zarr.open_array(self.path, mode="r+")[self.share.index] = self.share.block
        barrier(self.share.comm)

    def read(self) -> np.ndarray:
        import zarr

        return np.asarray(zarr.open_array(self.path, mode="r")[self.share.index])


class CodecAlone(Way):
    """What compressing alone takes; nothing is written."""

    def write(self) -> None:
        from numcodecs import Zstd

        codec = Zstd(level=1)
        for piece in self.share.pieces():
            codec.encode(piece)


def ways_of(job: dict[str, Any], share: Share, folder: str) -> dict[str, Way]:
    """By name: those for which there is what they need."""
    def path(name: str) -> str:
        return os.path.join(folder, name)

    has = set(job["has"])
    chunks: dict[str, Any] = {"chunks": share.chunks}
    ways: dict[str, Way] = {".npy": Penstock(share, path("u.npy")),
                            ".npy, unbuffered": Penstock(share, path("v.npy"), active_buffer_size=0)}
    if "h5py" in has:
        ways["HDF5"] = Penstock(share, path("u.h5"), dataset="u")
        ways["HDF5, zstd:1"] = Penstock(share, path("z.h5"), dataset="u", compressors="zstd:1", **chunks)
    if {"h5py", "h5netcdf"} <= has:
        ways["netCDF-4"] = Penstock(share, path("u.nc"), dataset="u", dims=("y", "x"))
    ways["Zarr"] = Penstock(share, path("u.zarr"), **chunks)
    ways["Zarr, zstd:1"] = Penstock(share, path("z.zarr"), compressors="zstd:1", **chunks)
    if "zarr" in has:
        ways["zarr-python, a rank each"] = ZarrPython(share, path("python.zarr"), compressed=False)
        ways["zarr-python, zstd:1"] = ZarrPython(share, path("python.z.zarr"), compressed=True)
    ways["MPI-IO, write_all"] = MpiIo(share, path("mpi-io.raw"))
    ways["np.memmap"] = Memmap(share, path("memmap.npy"))
    if "h5py" in has:
        ways["h5py, gathered on rank 0"] = GatheredHdf5(share, path("gathered.h5"))
    if "parallel HDF5" in has:
        ways["parallel HDF5"] = ParallelHdf5(share, path("parallel.h5"))
    if "numcodecs" in has:
        ways[job["codec"]] = CodecAlone(share, path("nothing"))
    return ways


def seconds_of(comm: Any, work: Callable[[], Any]) -> tuple[float, Any]:
    """Of the slowest rank, and what this one's work returned."""
    barrier(comm)
    begin = time.perf_counter()
    result = work()
    end = time.perf_counter()
    return comm.allreduce(end, MPI.MAX) - comm.allreduce(begin, MPI.MIN), result


def stored_bytes(path: str) -> int:
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(path) for name in names)


def one_turn(way: Way, share: Share) -> dict[str, Any]:
    """What it took. The file is gone then."""
    found: dict[str, Any] = {}
    found["write"], _ = seconds_of(share.comm, way.write)
    seconds, block = seconds_of(share.comm, way.read)
    if block is not None:
        found["read"] = seconds
        assert np.array_equal(block, share.block), f"{way.path} holds other elements"
    found["stored"] = stored_bytes(way.path) / share.bytes
    share.comm.Barrier()
    if share.comm.rank == 0 and os.path.exists(way.path):
        shutil.rmtree(way.path) if os.path.isdir(way.path) else os.unlink(way.path)
    share.comm.Barrier()
    return found


def main(job: dict[str, Any]) -> None:
    share = Share(MPI.COMM_WORLD, job["size"])
    ways = ways_of(job, share, job["folder"])
    for repetition in range(-1, job["repeat"]):  # the first is not counted
        for number in np.random.default_rng(repetition + 1).permutation(len(ways)):  # on all ranks the same
            name = list(ways)[number]
            record = one_turn(ways[name], share)
            if share.comm.rank == 0 and repetition >= 0:
                print(json.dumps({"way": name, "number": int(number), "round": repetition, "bytes": share.bytes, **record}),
                      flush=True)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main(json.loads(sys.argv[1]))
