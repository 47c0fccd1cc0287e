"""Arrays in all kinds of shardings over processes of two devices each, for programs of the tests. Importing it sets
JAX up."""

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402  after its settings
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402
from mpi4py import MPI  # noqa: E402

comm = MPI.COMM_WORLD
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}", comm.size, comm.rank)
mesh = Mesh(np.array(jax.devices()).reshape(comm.size, 2), ("x", "y"))

SPECS = {"rows": ("x",), "columns": (None, ("x", "y")), "blocks": ("x", "y"), "copies": (), "scalar": (), "bf": ("y",)}
TURNED = {"rows": ("y", "x"), "columns": ("x",), "blocks": (), "copies": (("x", "y"),), "scalar": (), "bf": ("x",)}
SHAPES = {"rows": (8, 6), "columns": (2, 16), "blocks": (4, 4), "copies": (8,), "scalar": (), "bf": (8, 2)}
DTYPES = {"columns": "int32", "bf": "bfloat16"}


def whole(name):
    count = int(np.prod(SHAPES[name]))
    return np.arange(count).reshape(SHAPES[name]).astype(jnp.dtype(DTYPES.get(name, "float32")))


def sharding(spec):
    return NamedSharding(mesh, PartitionSpec(*spec))


def arrays(specs):
    return {name: jax.make_array_from_callback(SHAPES[name], sharding(specs[name]), whole(name).__getitem__)
            for name in specs}
