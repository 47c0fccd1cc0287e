"""A model in memory of one array, which all ranks have; STEPS calls, and what each rank reads is compared.

The beginning of programs of tests: python PROGRAM FOLDER. What is below a folder m is as the server has it below back.
"""

import random
import sys

import numpy as np
import penstock as ps
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
STEPS, SHAPE = 12, (48, 64)


def section(rng):
    out = []
    for n in SHAPE:
        low = rng.randrange(n)
        out.append(slice(low, rng.randrange(low + 1, n + 1), rng.choice([1, 1, 2, 3])))
    return tuple(out)


def rows(rng):
    # Apart, and next to each other within pages: for methods without an exchange.
    step = rng.choice([1, 2])
    low = SHAPE[0] // size
    return [(slice(r * low, (r + 1) * low, step), slice(rng.randrange(8), rng.randrange(40, 64))) for r in range(size)]


def run(name, seed, hints, methods, **how):
    rng, model, wrong = random.Random(seed), np.zeros(SHAPE, "i4"), 0
    f = ps.open(name, "w", shape=SHAPE, dtype="i4", comm=comm, hints=hints, **how)
    f.write(model[rank::size], (slice(rank, None, size), slice(None)))
    for _ in range(STEPS):
        method = rng.choice(methods)
        apart = method in ("direct", "sieved")
        wants = rows(rng) if apart else [section(rng) for _ in range(size)]
        values = [rng.randrange(1 << 30) for _ in range(size)]
        f.write(np.full(model[wants[rank]].shape, values[rank], "i4"), wants[rank], method=method)
        for want, value in zip(wants, values):
            model[want] = value
        if rng.random() < 0.2:
            f.sync()
        if rng.random() < 0.2:
            f.close()
            f = ps.open(name, "r+", comm=comm, hints=hints, **{k: v for k, v in how.items() if k == "container"})
        want = section(rng)
        got = f.read(want, method=rng.choice(methods))
        wrong += not np.array_equal(got, model[want])
    facts, device = f.file_system, f.device
    f.close()
    with ps.open(name, comm=comm, hints=hints) as f:
        wrong += not np.array_equal(f[...], model)
    wrong = comm.allreduce(wrong)
    comm.Barrier()
    if rank == 0:
        with ps.open(name.replace("/m/", "/back/")) as f:
            right = np.array_equal(f[...], model)
        assert right and not wrong, f"{name} {hints}: {wrong} reads wrong, the file is {'right' if right else 'WRONG'}"
    return facts, device


folder = sys.argv[1]
