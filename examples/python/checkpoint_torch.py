"""A small transformer on all ranks with FSDP, saved in shards of rows and loaded in shards of columns. Training
continues with the same losses, bit for bit.

mpiexec -n 4 python checkpoint_torch.py
"""

import os

import penstock.torch
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from mpi4py import MPI
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Shard

comm = MPI.COMM_WORLD
os.environ.setdefault("MASTER_ADDR", "127.0.0.1")  # on several hosts: rank 0's
os.environ.setdefault("MASTER_PORT", "29500")
dist.init_process_group("gloo", rank=comm.rank, world_size=comm.size)
mesh = init_device_mesh("cpu", (comm.size,))
torch.set_num_threads(1)
# All ranks have the same batch, so that it does not matter in which order their gradients are added.
text = torch.randint(48, (8, 33), generator=torch.Generator().manual_seed(2))


class Model(torch.nn.Module):
    """Says which of 48 words comes next."""

    def __init__(self) -> None:
        super().__init__()
        self.words = torch.nn.Embedding(48, 32)
        layer = torch.nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
        self.layers = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = torch.nn.Linear(32, 48)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        mask = torch.nn.Transformer.generate_square_subsequent_mask(words.shape[1])
        return self.out(self.layers(self.words(words), mask, is_causal=True))


def build(seed: int, dimension: int) -> tuple[Model, torch.optim.Optimizer]:
    """Its matrices are in shards of that dimension."""
    torch.manual_seed(seed)
    model = Model()
    fully_shard(model, mesh=mesh, shard_placement_fn=lambda p: Shard(dimension if p.dim() == 2 else 0))
    return model, torch.optim.Adam(model.parameters(), lr=3e-3 * seed)


def train(model: Model, optimizer: torch.optim.Optimizer, steps: int) -> list[float]:
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(text[:, :-1]).reshape(-1, 48), text[:, 1:].reshape(-1))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def state_of(model: Model, optimizer: torch.optim.Optimizer) -> dict:
    weights, moments = get_state_dict(model, optimizer)
    return {"model": weights, "optimizer": moments}


model, optimizer = build(seed=1, dimension=0)
before = train(model, optimizer, 10)
dcp.save(state_of(model, optimizer), storage_writer=penstock.torch.StorageWriter("model.safetensors", comm=comm))
expected = train(model, optimizer, 5)

model, optimizer = build(seed=2, dimension=1)
state = state_of(model, optimizer)
dcp.load(state, storage_reader=penstock.torch.StorageReader("model.safetensors", comm=comm))
set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
resumed = train(model, optimizer, 5)
assert resumed == expected, (resumed, expected)
if comm.rank == 0:
    print(f"loss {before[0]:.3f}, after 10 steps {before[-1]:.3f}; then, without a break and from the checkpoint, "
          f"{expected[-1]!r} and {resumed[-1]!r}")
dist.destroy_process_group()
