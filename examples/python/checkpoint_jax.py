"""A linear model whose weights are sharded over the devices of all processes. They are saved in shards of rows and
loaded in shards of columns, and training continues with the same losses, bit for bit.

mpiexec -n 4 python checkpoint_jax.py
"""

import os

import jax
import jax.numpy as jnp
import numpy as np
import penstock as ps
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from mpi4py import MPI

comm = MPI.COMM_WORLD
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(f"{os.environ.get('MASTER_ADDR', '127.0.0.1')}:{os.environ.get('MASTER_PORT', '29500')}",
                           comm.size, comm.rank)
mesh = Mesh(np.array(jax.devices()), ("devices",))
rows, columns, everywhere = (NamedSharding(mesh, PartitionSpec(*spec)) for spec in
                             (("devices",), (None, "devices"), ()))
random = np.random.default_rng(1)
inputs, wanted = (jax.device_put(random.standard_normal((64, 32), "f4"), everywhere) for _ in range(2))


@jax.jit
def loss_of(weights: jax.Array, inputs: jax.Array, wanted: jax.Array) -> jax.Array:
    return jnp.mean((inputs @ weights - wanted) ** 2)


step = jax.jit(lambda weights, *data: weights - 0.5 * jax.grad(loss_of)(weights, *data), out_shardings=rows)
spread = jax.jit(lambda weights: weights, out_shardings=rows)  # into the sharding of the steps


def train(weights: jax.Array, steps: int) -> tuple[jax.Array, list[float]]:
    losses = []
    for _ in range(steps):
        losses.append(float(loss_of(weights, inputs, wanted)))
        weights = step(weights, inputs, wanted)
    return weights, losses


def load(path: str, names: dict[str, tuple[tuple[int, ...], NamedSharding]]) -> dict[str, jax.Array]:
    """Each process reads the shards of its devices."""
    places = {name: sharding.addressable_devices_indices_map(shape) for name, (shape, sharding) in names.items()}
    parts = ps.load_tensors(path, {name: [ps.Shard(None, index) for index in where.values()]
                                   for name, where in places.items()}, comm=comm)
    return {name: jax.make_array_from_single_device_arrays(
        *names[name], [jax.device_put(part, device) for part, device in zip(parts[name], where)])
        for name, where in places.items()}


weights, before = train(jax.device_put(np.zeros((32, 32), "f4"), rows), 10)
ps.save_tensors("model.safetensors", {"weights": weights}, comm=comm)
_, expected = train(weights, 5)

loaded = load("model.safetensors", {"weights": ((32, 32), columns)})["weights"]
_, resumed = train(spread(loaded), 5)
assert resumed == expected, (resumed, expected)
if comm.rank == 0:
    print(f"loss {before[0]:.3f}, after 10 steps {before[-1]:.3f}; then, without a break and from the checkpoint, "
          f"{expected[-1]!r} and {resumed[-1]!r}")
