"""A nested state dict of tensors in all kinds of shardings, for programs of the tests. Importing it sets torch up."""

import numpy as np
import penstock.torch
import torch
import torch.distributed as dist
from mpi4py import MPI
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
dist.init_process_group("gloo", rank=rank, world_size=size)
mesh = init_device_mesh("cpu", (size,))
grid = init_device_mesh("cpu", (2, size // 2)) if size % 2 == 0 else mesh

#: All of each tensor: element i is i, in a type of torch.
TENSORS = {"rows": ("float32", (5, 7)), "columns": ("bfloat16", (4, 6)), "blocks": ("int64", (6, 8, 3)),
           "copies": ("float64", (9,)), "scalar": ("float32", ()), "empty": ("float32", (0, 4)),
           "eight bits": ("float8_e4m3fn", (6, 2)), "truth": ("bool", (4,))}
PLACES = {"rows": Shard(0), "columns": Shard(1), "copies": Replicate(), "eight bits": Shard(0)}
TURNED = {"rows": Shard(1), "columns": Shard(0), "copies": Shard(0), "eight bits": Replicate()}


def whole(name):
    dtype, shape = TENSORS[name]
    return torch.arange(int(np.prod(shape))).reshape(shape).to(getattr(torch, dtype))


def state(places, blank=False):
    """Nested, with what is no tensor. `blank`: of the same form, to load into."""
    made = {}
    for name in TENSORS:
        tensor = torch.zeros_like(whole(name)) if blank else whole(name)
        if name in places:
            tensor = distribute_tensor(tensor, mesh, [places[name]], src_data_rank=None)
        elif name == "blocks" and size % 2 == 0:
            tensor = distribute_tensor(tensor, grid, [Shard(0), Shard(1)], src_data_rank=None)
        made[name] = tensor
    step, lr = (0, None) if blank else (17, 1e-3)
    return {"model": {name: made[name] for name in ("rows", "columns", "blocks")}, "step": step,
            "rest": [made[name] for name in list(TENSORS)[3:]], "optimizer": {"groups": [{"lr": lr}]}}


def same(one, other):
    """Whether state dicts are equal to the last bit."""
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if not isinstance(one, torch.Tensor):
        return type(one) is type(other) and one == other
    one, other = (t.full_tensor() if hasattr(t, "full_tensor") else t for t in (one, other))
    bits = [t.reshape(-1).view(torch.uint8) for t in (one, other)]
    return one.dtype == other.dtype and one.shape == other.shape and torch.equal(*bits)


def writer(path, **how):
    return penstock.torch.StorageWriter(path, comm=comm, **how)


def reader(path, **how):
    return penstock.torch.StorageReader(path, comm=comm, **how)
