"""A model whose weights are sharded by columns, saved on the way; the last checkpoint is loaded in shards of rows.

mpiexec -n 4 python checkpoint.py
"""

import numpy as np
import penstock as ps
from mpi4py import MPI

comm = MPI.COMM_WORLD
layers, width, steps = 6, 256, 30
shape = (width, width)
columns = ps.distribute(shape, comm, kind=("*", "block"))
rows = ps.distribute(shape, comm, kind=("block", "*"))
weights = [np.full(columns.section.shape, layer, "f4") for layer in range(layers)]
checkpoints = ps.Checkpoints("checkpoints", comm=comm, keep=2, checksums=True)


def state(step: int) -> dict[str, ps.Shard | np.ndarray]:
    """This rank's part of a checkpoint: its columns of each weight, and a scale that all ranks have."""
    shards: dict[str, ps.Shard | np.ndarray] = {
        f"layers.{layer}.weight": ps.Shard(weight, columns) for layer, weight in enumerate(weights)}
    return {**shards, "scale": np.array(1.0 / (1 + step), "f4")}


pending = None
for step in range(steps):
    for weight in weights:
        weight += 1
    if step % 10 == 9:
        # Returns when the weights are copied: they may change while the checkpoint is written.
        pending = checkpoints.save(step, state(step), metadata={"format": "np"}, wait=False)
if pending is not None:
    pending.wait()

latest = checkpoints.latest()
assert latest == steps - 1
wanted = {f"layers.{layer}.weight": rows for layer in range(layers)}
loaded = checkpoints.load(wanted)
for layer in range(layers):
    assert (loaded[f"layers.{layer}.weight"] == layer + steps).all()
if comm.rank == 0:
    checked = ps.verify_tensors(checkpoints.path(latest))
    print(f"step {latest}: {checked.tensors} tensors, {checked.bytes} bytes, {checked.checksums} checksums are right; "
          f"kept are {checkpoints.path(19)} and {checkpoints.path(29)}")
