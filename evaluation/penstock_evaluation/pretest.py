"""The pre-test of Ma and others: how much a writing thread slows down computation and broadcasts.

Each rank has a file of its own and writes its data in requests of one size; meanwhile it computes
on an array as large, or takes part in broadcasts of 1 MiB. Nothing is exchanged.

- serial: all writes, then the foreground, as long as the writes alone (calibrated).
- parallel: all writes are begun with background="storage", then the foreground runs, then they are
  waited for.
- slowdown: the foreground's seconds in parallel / those alone - 1, means of the ranks.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import penstock as ps
from mpi4py import MPI
from penstock._bench.devices import of_file
from penstock._bench.patterns import size_text
from penstock._bench.ranks import BenchError, Worker

from .foreground import ArrayComputation, Broadcasts, calibrate
from .overlap_worker import Way

FOREGROUNDS: dict[str, Callable[[MPI.Intracomm, int], Any]] = {"computation": ArrayComputation, "broadcast": Broadcasts}


class Handles:
    """Writes that were begun one after the other."""

    def __init__(self, begun: list[Any]):
        self._begun = begun

    def wait(self) -> None:
        for handle in self._begun:
            handle.wait()


class Requests:
    """One rank's writes of its data into its own file, in requests of one size."""

    def __init__(self, worker: Worker, device: Any, size: int, request: int):
        self._path, self._worker = f"{worker.path}.{worker.comm.rank}", worker
        self._data = (np.arange(size) % 251 + 1).astype(np.uint8)
        self._cuts = [(at, min(at + request, size)) for at in range(0, size, request)]
        hints = {**device.hints, **worker.job["hints"], "active_buffer_size": str(2 * size)}
        self.file = ps.open(self._path, "w", shape=(size,), dtype="u1", comm=MPI.COMM_SELF, hints=hints, container="raw")

    def begin(self, background: str) -> Handles:
        return Handles([self.file.write_begin(self._data[a:b], slice(a, b), background=background) for a, b in self._cuts])

    def close(self) -> None:
        """Checks the content of the file."""
        self.file.close()
        good = np.array_equal(np.fromfile(self._path, np.uint8), self._data)
        Path(self._path).unlink()
        bad = [rank for rank, right in enumerate(self._worker.comm.allgather(good)) if not right]
        if bad:
            raise BenchError(f"writes of {len(self._data)} bytes in {len(self._cuts)} requests: rank {bad[0]} has a wrong file")


def pretest(worker: Worker, device: Any, size: int) -> None:
    """`size`: bytes of a rank."""
    for name, make in FOREGROUNDS.items():
        foreground = make(worker.comm, size)
        for request in worker.job["requests"]:
            _measure(worker, device, foreground, (size, request))
            worker.tell(f"pretest, {name}, {size_text(request)} a request")
        foreground.close()


def _measure(worker: Worker, device: Any, foreground: Any, sizes: tuple[int, int]) -> None:
    requests, comm = Requests(worker, device, *sizes), worker.comm
    io = Way("io", comm, lambda: requests.begin("none"), lambda: None)
    seconds = float(comm.bcast(float(np.median(worker.elapsed(worker.take_turns([io], 1))))))
    units = calibrate(worker, foreground, seconds)
    work: Callable[[], None] = lambda: foreground.run(units)
    ways = [io, Way("alone", comm, lambda: None, work), Way("serial", comm, lambda: requests.begin("none"), work),
            Way("parallel", comm, lambda: requests.begin("storage"), work)]
    parts: list[list[float]] = []
    stamps = worker.take_turns(ways, worker.job["repeat"], lambda: parts.append([way.seconds[1] for way in ways]))
    words = of_file(requests.file, device)
    requests.close()
    _record(worker, ways, worker.elapsed(stamps), worker.mean(parts),
            {**worker.about(), "experiment": "pretest", "foreground": foreground.name, "device": words, "on": device.name,
             "size": sizes[0], "rank_bytes": sizes[0], "request": sizes[1]})


def _record(worker: Worker, ways: list[Way], times: np.ndarray, foreground: np.ndarray, common: dict[str, Any]) -> None:
    """`times` of [repetition, way], and the seconds of the foreground in them."""
    serial, alone = times[:, 2], foreground[:, 1]
    for i, way in enumerate(ways):
        line = {**common, "method": way.name, "seconds": float(np.median(times[:, i])), "times": times[:, i].tolist(),
                "repeat": len(times)}
        if way.name in ("serial", "parallel"):
            pairs = times[:, i] / serial
            slower = foreground[:, i] / alone - 1
            line |= {"of_serial": float(np.median(pairs)), "of_serial_pairs": pairs.tolist(),
                     "slowdown": float(np.median(slower)), "slowdowns": slower.tolist()}
        worker.append(line)
