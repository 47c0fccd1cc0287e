"""penstock.torch with PyTorch itself, on CPUs."""

import json
import sys
from pathlib import Path

import numpy as np
import penstock as ps
import pytest
import safetensors

torch = pytest.importorskip("torch")
ROOT = Path(__file__).resolve().parents[2]
HEAD = """
import os, sys
import penstock as ps
import torch.distributed.checkpoint as dcp
from state import *
def refused(words, call):
    try:
        call()
    except dcp.CheckpointException as error:
        told = {str(failure[0]) for failure in error.failures.values()}
        assert len(told) == 1 and words in told.pop(), told
    else:
        raise AssertionError(f"nothing was raised: {words}")
"""


def recorded(folder, name):
    return json.loads((folder / name).read_text())


def test_the_recorded_protocol_is_that_of_torch(tmp_path, request):
    """Saved by 4 ranks, loaded by 3 in other shardings; and what the gate replays is what torch asks for."""
    for ranks, what in ((4, "save"), (3, "load")):
        run = f"import runpy, sys\nsys.argv = ['', '{what}', 'x.safetensors', '{what}.json']\nrunpy.run_module('protocol')"
        request.getfixturevalue("mpirun")(run, ranks)
    known = json.loads((ROOT / "tests/python/frameworks_protocol.json").read_text())
    assert known["save"] == recorded(tmp_path, "save.json") and known["load"] == recorded(tmp_path, "load.json")


def test_the_file_is_one_of_safetensors(mpirun, tmp_path):
    """With all options, and without those: what torch's and Hugging Face's own readers make of it is the same."""
    mpirun(HEAD + """
flat = state(PLACES)["model"]
dcp.save(flat, storage_writer=writer("model.safetensors", checksums=True))
dcp.save(flat, checkpoint_id="model", storage_writer=writer("elsewhere", max_file_size=300, metadata={"by": "test"}))
for path in "model", "model.safetensors":
    got = state(TURNED, blank=True)["model"]
    dcp.load(got, checkpoint_id=path, storage_reader=reader("elsewhere"))
    assert same(got, flat) and not os.path.exists("elsewhere"), path
    wider = {"rows": torch.zeros(7, 5, dtype=torch.float64).T}  # another dtype, other strides
    dcp.load(wider, storage_reader=reader(path))
    assert torch.equal(wider["rows"], whole("rows").double())
""", 4)
    from safetensors.torch import load_file

    got = load_file(tmp_path / "model.safetensors")
    assert {name: (t.dtype, tuple(t.shape)) for name, t in got.items()} == {
        "rows": (torch.float32, (5, 7)), "columns": (torch.bfloat16, (4, 6)), "blocks": (torch.int64, (6, 8, 3))}
    assert all(torch.equal(t.ravel().double(), torch.arange(t.numel()).double()) for t in got.values())
    with safetensors.safe_open(tmp_path / "model.safetensors", "pt") as file:
        assert file.metadata()["format"] == "pt"
    assert ps.verify_tensors(tmp_path / "model.safetensors").checksums == 3
    assert ps.verify_tensors(tmp_path / "model").files > 1


def test_without_a_template(mpirun, tmp_path):
    """One process, with no torch.distributed, rebuilds the nested state dict from the file alone."""
    mpirun(HEAD + "dcp.save(state(PLACES), storage_writer=writer('x.safetensors'))", 4)
    mpirun("""
import penstock.torch, torch
from torch.distributed.checkpoint.default_planner import _EmptyStateDictLoadPlanner
from torch.distributed.checkpoint.state_dict_loader import _load_state_dict
got = {}
_load_state_dict(got, penstock.torch.StorageReader("x.safetensors"), no_dist=True, planner=_EmptyStateDictLoadPlanner())
assert got["step"] == 17 and got["optimizer"] == {"groups": [{"lr": 1e-3}]}, got
assert sorted(got["model"]) == ["blocks", "columns", "rows"]
assert torch.equal(got["model"]["rows"], torch.arange(35.0).reshape(5, 7)) and len(got["rest"]) == 5
assert got["rest"][1].shape == () and got["rest"][2].shape == (0, 4)
""", 1)


def test_files_of_others_are_loaded(mpirun, tmp_path):
    from safetensors.torch import save_file

    save_file({"a": torch.arange(12.0).reshape(3, 4), "b": torch.ones(2, dtype=torch.bfloat16)}, tmp_path / "x.safetensors")
    mpirun(HEAD + """
got = {"a": distribute_tensor(torch.zeros(3, 4), mesh, [Shard(1)]), "b": torch.zeros(2, dtype=torch.bfloat16)}
dcp.load(got, storage_reader=reader("x.safetensors"))
assert torch.equal(got["a"].full_tensor(), torch.arange(12.0).reshape(3, 4)) and bool((got["b"] == 1).all())
alone = {"b": torch.zeros(2)}  # each process for itself
dcp.load(alone, storage_reader=penstock.torch.StorageReader("x.safetensors"))
assert bool((alone["b"] == 1).all())
""", 2)


def test_in_the_background_and_with_cached_plans(mpirun):
    """Tensors may be changed when save returns; the next save puts the one before in place first."""
    mpirun(HEAD + """
planner = dcp.DefaultSavePlanner(enable_plan_caching=True)
for step in range(3):
    one = {"a": {"w": distribute_tensor(torch.full((8, 8), float(step)), mesh, [Shard(0)])}, "step": step}
    w = writer(f"{step}.safetensors", wait=False)
    dcp.save(one, storage_writer=w, planner=planner)
    one["a"]["w"].to_local().fill_(-1)
w.pending.wait()
for step in range(3):
    got = {"a": {"w": torch.zeros(8, 8)}, "step": -1}
    dcp.load(got, storage_reader=reader(f"{step}.safetensors"))
    assert got["step"] == step and bool((got["a"]["w"] == step).all()), got
""", 2)


def test_async_save(mpirun):
    """Torch saves in a thread, with a communicator of its own, while the program uses MPI."""
    mpirun(HEAD + """
own = comm.Dup()
for step in range(3):
    one = {"w": distribute_tensor(torch.full((64, 64), float(step)), mesh, [Shard(0)]), "step": step}
    future = dcp.async_save(one, storage_writer=penstock.torch.StorageWriter("x.safetensors", comm=own))
    one["w"].to_local().fill_(-1)
    assert comm.allreduce(step) == size * step
    future.result()
    got = {"w": torch.zeros(64, 64), "step": -1}
    dcp.load(got, storage_reader=reader("x.safetensors"))
    assert got["step"] == step and bool((got["w"] == step).all()), got
""", 2)


def test_what_is_wrong_is_raised_on_all_ranks(mpirun):
    mpirun(HEAD + """
good = {"a": torch.ones(3)}
def save(what, planner=None, **how):
    dcp.save(what, storage_writer=writer("x.safetensors", **how), planner=planner)
def load(what, planner=None):
    dcp.load(what, storage_reader=reader("x.safetensors"), planner=planner)
refused("cannot open 'x.safetensors'", lambda: load(good))
save(good)
refused("tensor 'c': torch.complex128 is not a type of safetensors", lambda: save({"c": torch.ones(2, dtype=torch.complex128)}))
refused("tensor 'penstock.x': names that begin with", lambda: save({"penstock.x": torch.ones(2)}))
refused("tensor 's': ", lambda: save({"s": torch.eye(3).to_sparse()}))
refused("max_file_size=0", lambda: save(good, max_file_size=0))
class OneFails(dcp.DefaultSavePlanner):
    def resolve_data(self, item):
        if rank == size - 1:
            raise KeyError("on one rank")
        return super().resolve_data(item)
sharded = {"d": distribute_tensor(torch.ones(6, 6), mesh, [Shard(0)])}
refused(f"rank {size - 1}", lambda: save(sharded, OneFails()))
class OneFailsToLoad(dcp.DefaultLoadPlanner):
    def resolve_tensor(self, item):
        if rank == size - 1:
            raise KeyError("on one rank")
        return super().resolve_tensor(item)
refused(f"rank {size - 1}", lambda: load(good, OneFailsToLoad()))
refused("Missing key", lambda: load({"b": torch.ones(3)}))
refused("Size mismatch", lambda: load({"a": torch.ones(4)}))
class Elsewhere(dcp.DefaultSavePlanner):
    def create_local_plan(self):
        import dataclasses
        return dataclasses.replace(super().create_local_plan(), planner_data={"a": object})
refused("must be paths by name", lambda: save(good, Elsewhere(flatten_state_dict=True)))
got = {"a": torch.zeros(3)}
load(got)
assert bool((got["a"] == 1).all())  # as it was
try:
    dcp.save(good, storage_writer=writer("x.safetensors"), use_collectives=False)
except ps.ArgumentError as error:
    assert "use_collectives=False" in str(error)
else:
    raise AssertionError
half = dist.new_group([0])
if rank == 0:
    refused("has 1 ranks in this call, and the MPI communicator 2", lambda: dcp.save(
        good, storage_writer=writer("y.safetensors"), process_group=half))
""", 2)


def test_torchrun_is_told_how_to_launch(tmp_path):
    from conftest import run_once

    (tmp_path / "program.py").write_text("""
import penstock.torch, torch, torch.distributed as dist, torch.distributed.checkpoint as dcp
from mpi4py import MPI
dist.init_process_group("gloo")
for call, how in ((dcp.save, {"storage_writer": penstock.torch.StorageWriter("x.safetensors", comm=MPI.COMM_WORLD)}),
                  (dcp.load, {"storage_reader": penstock.torch.StorageReader("there.safetensors", comm=MPI.COMM_WORLD)})):
    try:
        call({"a": torch.ones(3)}, **how)
    except dcp.CheckpointException as error:
        print(f"{call.__name__}: {[str(failure[0]) for failure in error.failures.values()]}", flush=True)
""")
    ps.save_tensors(tmp_path / "there.safetensors", {"a": np.ones(3, "f4")})
    # Its workers are in sessions of their own: it is what ends them.
    status, output = run_once(tmp_path, ["timeout", "-k", "10", "100", sys.executable, "-m", "torch.distributed.run",
                                         "--standalone", "--nproc-per-node", "2", "program.py"], 120)
    assert status == 0, output
    for call in "save", "load":
        assert output.count(f"{call}: [\"torch.distributed has 2 ranks, and the MPI communicator one process") == 2, output
    assert "'mpiexec -n 2 python program.py'" in output and not (tmp_path / "x.safetensors").exists()


def test_the_example(mpirun):
    assert "from the checkpoint" in mpirun((ROOT / "examples/python/checkpoint_torch.py").read_text(), 4)


def test_copies_in_pieces():
    from penstock.torch import _copy_in_pieces

    source = torch.arange(105).reshape(15, 7)
    for stage in 1, 10, 104, 105, 1000:
        target = torch.zeros(7, 15, dtype=torch.int64)
        _copy_in_pieces(source.T, target, torch.empty(stage, dtype=torch.int64))
        assert torch.equal(target, source.T)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_tensors_of_a_gpu(tmp_path, monkeypatch):
    import penstock.torch
    import torch.distributed.checkpoint as dcp

    monkeypatch.setattr(penstock.torch, "_STAGE", 4096)
    state = {"a": torch.arange(30000.0, device="cuda").reshape(100, 300), "b": torch.arange(6, device="cuda").reshape(2, 3).T,
             "bf": torch.ones(5000, dtype=torch.bfloat16, device="cuda"), "s": torch.tensor(2.5, device="cuda")}
    dcp.save(state, storage_writer=penstock.torch.StorageWriter(tmp_path / "x.safetensors"))
    got = {name: torch.zeros_like(tensor) for name, tensor in state.items()}
    dcp.load(got, storage_reader=penstock.torch.StorageReader(tmp_path / "x.safetensors"))
    assert all(torch.equal(got[name], state[name]) and got[name].is_cuda for name in state)
