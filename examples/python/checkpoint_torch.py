"""A small transformer, saved in shards of rows and loaded in shards of columns. Training continues with the same
losses, bit for bit.

mpiexec -n 4 python checkpoint_torch.py
"""

import os

import penstock.torch
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from mpi4py import MPI
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor

comm = MPI.COMM_WORLD
os.environ.setdefault("MASTER_ADDR", "127.0.0.1")  # on several hosts: rank 0's
os.environ.setdefault("MASTER_PORT", "29500")
dist.init_process_group("gloo", rank=comm.rank, world_size=comm.size)
mesh = init_device_mesh("cpu", (comm.size,))
torch.set_num_threads(1)
torch.manual_seed(1)
text = torch.randint(50, (8, 33), generator=torch.Generator().manual_seed(2))  # what is learned by heart


class Model(torch.nn.Module):
    """Says which of 50 words comes next."""

    def __init__(self) -> None:
        super().__init__()
        self.words = torch.nn.Embedding(50, 32)
        layer = torch.nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
        self.layers = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = torch.nn.Linear(32, 50)

    def loss(self) -> torch.Tensor:
        mask = torch.nn.Transformer.generate_square_subsequent_mask(32)
        said = self.out(self.layers(self.words(text[:, :-1]), mask, is_causal=True))
        return torch.nn.functional.cross_entropy(said.reshape(-1, 50), text[:, 1:].reshape(-1))


def train(model: Model, optimizer: torch.optim.Optimizer, steps: int) -> list[float]:
    """Every rank does the same here; a real program would share the work."""
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model.loss()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def sharded(model: Model, optimizer: torch.optim.Optimizer, dimension: int) -> dict:
    """What is saved, and what is loaded into: this rank's shards of all matrices, and of Adam's state."""

    def shard(value: object) -> object:
        if isinstance(value, torch.Tensor):
            value = value.detach()
            return distribute_tensor(value, mesh, [Shard(dimension)]) if value.dim() == 2 else value
        return value

    state = optimizer.state_dict()
    names = [name for name, _ in model.named_parameters()]
    moments = {names[i]: {key: shard(value) for key, value in one.items()} for i, one in state["state"].items()}
    return {"model": {name: shard(value) for name, value in model.state_dict().items()}, "moments": moments,
            "learning rate": state["param_groups"][0]["lr"]}


def restore(model: Model, optimizer: torch.optim.Optimizer, state: dict) -> None:
    def full(value: object) -> object:
        return value.full_tensor() if hasattr(value, "full_tensor") else value

    model.load_state_dict({name: full(value) for name, value in state["model"].items()})
    names = [name for name, _ in model.named_parameters()]
    whole = optimizer.state_dict()
    whole["state"] = {i: {key: full(value) for key, value in state["moments"][name].items()}
                      for i, name in enumerate(names)}
    whole["param_groups"][0]["lr"] = state["learning rate"]
    optimizer.load_state_dict(whole)


model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
before = train(model, optimizer, 10)
dcp.save(sharded(model, optimizer, 0), storage_writer=penstock.torch.StorageWriter("model.safetensors", comm=comm))
expected = train(model, optimizer, 5)

torch.manual_seed(3)
other = Model()
optimizer = torch.optim.Adam(other.parameters(), lr=1.0)
train(other, optimizer, 1)  # Adam has its state after the first step
state = sharded(other, optimizer, 1)
dcp.load(state, storage_reader=penstock.torch.StorageReader("model.safetensors", comm=comm))
restore(other, optimizer, state)
resumed = train(other, optimizer, 5)
assert resumed == expected, (resumed, expected)
if comm.rank == 0:
    print(f"loss {before[0]:.3f}, after 10 steps {before[-1]:.3f}; then, without a break and from the checkpoint, "
          f"{expected[-1]!r} and {resumed[-1]!r}")
dist.destroy_process_group()
