#!/usr/bin/env python3
"""Every exchange between hosts, compared with `auto`:

    make evaluation [MPI=...] [ARGS="program hosts --layouts 2x1,2x2,2x4 --patterns block-block,column-block --repeat 15"]

Hosts are made on this machine (tests/hosts/hosts.py) and talk by TCP; their ranks share its cores. One
table for each layout (hosts x ranks each), as Markdown: times relative to `auto`, less than 1 is
quicker. All ways take turns within a round, and a ratio is of two times of one round.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

KINDS = {"block-block": ("block", "block"), "column-block": ("*", "block")}
WAYS = {"auto": {}, **{f"{exchange}": {"method": "extended", "exchange": exchange}
                       for exchange in ("node", "sparse", "step1", "step2", "step3", "step4", "step5", "alltoallw")},
        "direct": {"method": "direct"}}
SHAPE = (4096, 4096)  # of int32: 64 MiB


def barrier(comm) -> None:
    """Without spinning, which would slow down working ranks."""
    request = comm.Ibarrier()
    while not request.Test():
        os.sched_yield()


def measure(job: dict) -> None:
    """What each rank does: times of [repetition, way] of the slowest rank, printed by rank 0."""
    import penstock as ps
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    share = ps.distribute(SHAPE, comm, KINDS[job["pattern"]])
    local, got = np.full(share.local_shape, comm.rank + 1, "i4"), np.zeros(share.local_shape, "i4")
    rounds = []
    with ps.open(job["file"], "w", shape=SHAPE, dtype="i4", comm=comm, container="raw") as f:
        f.write(local, share, active_buffer_size=0)
        for repetition in range(job["repeat"] + 1):  # the first is not counted
            row = np.zeros(len(WAYS))
            for i in np.random.default_rng(repetition).permutation(len(WAYS)):
                hints = {"active_buffer_size": 0, **list(WAYS.values())[i]}
                barrier(comm)
                begin = time.perf_counter()
                f.write(local, share, **hints) if job["operation"] == "write" else f.read(share, out=got, **hints)
                row[i] = time.perf_counter() - begin
                if job["operation"] == "read":
                    assert np.array_equal(got, local), f"{list(WAYS)[i]} read something else"
                    got[...] = 0
            if repetition > 0:
                rounds.append(row)
    longest = np.zeros((len(rounds), len(WAYS)))
    comm.Allreduce(np.array(rounds), longest, MPI.MAX)
    if comm.rank == 0:
        print("@" + json.dumps(longest.tolist()), flush=True)


def row_of(pattern: str, operation: str, times: np.ndarray) -> str:
    """Milliseconds of `auto`; of the others' ratios to it the median, and half of what lies between the quartiles."""
    ratios = times / times[:, :1]
    low, median, high = np.percentile(ratios, [25, 50, 75], axis=0)
    cells = [f"{middle:.2f} ±{(upper - lower) / 2:.2f}" for lower, middle, upper in list(zip(low, median, high))[1:]]
    return f"| {pattern}, {operation} | {np.median(times[:, 0]) * 1e3:.0f} | " + " | ".join(cells) + " |"


def main() -> int:
    if len(sys.argv) == 3 and sys.argv[1] == "--job":
        measure(json.loads(sys.argv[2]))
        return 0
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("hosts", type=Path, help="tests/hosts/hosts.py")
    options.add_argument("--layouts", default="2x1,2x2,2x4")
    options.add_argument("--patterns", default="block-block,column-block")
    options.add_argument("--operations", default="write,read")
    options.add_argument("--transport", default="ofi", help="ofi, ucx (MPICH) or tcp (Open MPI)")
    options.add_argument("--repeat", type=int, default=15)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for layout in given.layouts.split(","):
            print(f"\n{layout.replace('x', ' hosts x ')} ranks:\n")
            print("| | auto (ms) | " + " | ".join(list(WAYS)[1:]) + " |")
            print("| --- |" + " --- |" * len(WAYS), flush=True)
            for pattern in given.patterns.split(","):
                for operation in given.operations.split(","):
                    job = {"pattern": pattern, "operation": operation, "repeat": given.repeat,
                           "file": f"{folder}/array"}
                    command = [sys.executable, str(given.hosts), layout, given.transport, "block",
                               sys.executable, os.path.abspath(__file__), "--job", json.dumps(job)]
                    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
                    told = next(line for line in done.stdout.splitlines() if line.startswith("@"))
                    print(row_of(pattern, operation, np.array(json.loads(told[1:]))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
