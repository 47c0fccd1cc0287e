"""What torch.distributed.checkpoint and JAX hand over, replayed with NumPy: frameworks_protocol.json has what they
asked for, and tests/frameworks compares it with what they ask for."""

import json
from pathlib import Path

import numpy as np
import penstock as ps
import pytest

from penstock._tensors import dcp
from penstock._tensors.header import Entry
from scripts import HEAD

PROTOCOL = json.loads((Path(__file__).parent / "frameworks_protocol.json").read_text())
safetensors = pytest.importorskip("safetensors")

START = HEAD + f"PROTOCOL = {PROTOCOL!r}" + """
from penstock._tensors import dcp
from penstock._tensors.load import read_entries
SAID = {"float32": "F32", "float64": "F64", "int64": "I64", "bfloat16": "BF16", "float8_e4m3fn": "F8_E4M3", "bool": "BOOL"}
BITS = {"float32": "f4", "float64": "f8", "int64": "i8", "bfloat16": "u2", "float8_e4m3fn": "u1", "bool": "?"}
items = [item for told in PROTOCOL["save"] for item in told["items"]]
tensors = {item["name"]: item for item in items if "shape" in item}
def whole(name):
    item = tensors[name]
    return np.arange(int(np.prod(item["shape"]))).reshape(item["shape"]).astype(BITS[item["dtype"]])
def part(name, item):
    return whole(name)[tuple(slice(o, o + n) for o, n in zip(item["offsets"], item["sizes"]))]
"""


def test_the_recorded_parts_are_saved_and_loaded(mpirun, tmp_path):
    mpirun(START + """
mine = {}
for item in PROTOCOL["save"][rank]["items"]:
    name = item["name"]
    if "shape" in item:
        dcp.put_part(mine, name, part(name, item), item["offsets"], item["shape"], SAID[item["dtype"]])
    else:
        dcp.put_bytes(mine, name, name.encode() * 3)
if rank == 0:
    mine[dcp.PATHS] = np.frombuffer(dcp.paths_text([told["paths"] for told in PROTOCOL["save"]]), "u1")
ps.save_tensors("x.safetensors", mine, comm=comm, metadata={"format": "pt"})
entries = read_entries("x.safetensors", comm, None)
found = dcp.contents(entries, "x.safetensors")
assert {name: [SAID[item["dtype"]], tuple(item["shape"])] for name, item in tensors.items()} == {
    name: [entry.dtype, entry.shape] for name, entry in found.tensors.items()}
objects = sorted(item["name"] for item in items if "shape" not in item)
assert sorted(found.bytes) == objects and found.has_paths
""", 4)
    # On another number of ranks, in other parts.
    mpirun(START + """
wanted, arrays = {}, []
objects = [dcp.BYTES + item["name"] for item in PROTOCOL["load"][rank]["items"] if "sizes" not in item]
for item in PROTOCOL["load"][rank]["items"]:
    if "sizes" in item:
        name = item["name"]
        arrays.append((item, np.zeros(item["sizes"], BITS[tensors[name]["dtype"]])))
        dcp.put_part(wanted, name, arrays[-1][1], item["offsets"], tensors[name]["shape"], SAID[tensors[name]["dtype"]])
got = ps.load_tensors("x.safetensors", {**wanted, **dict.fromkeys([*objects, dcp.PATHS], ...)}, comm=comm)
assert arrays and all(np.array_equal(array, part(item["name"], item)) for item, array in arrays)
assert objects and all(got[name].tobytes() == name.removeprefix(dcp.BYTES).encode() * 3 for name in objects)
told = {name: tuple(path) for one in PROTOCOL["save"] for name, path in one["paths"].items()}
assert dcp.paths_of(got[dcp.PATHS].tobytes(), told, "x") == told
""", 3)
    with safetensors.safe_open(tmp_path / "x.safetensors", "np") as file:
        assert file.metadata() == {"format": "pt"} and np.array_equal(file.get_tensor("model.rows").ravel(), np.arange(35))


def test_recorded_shards_of_jax_are_saved(mpirun, tmp_path):
    """Of replicas one is written, also where a rank has nothing else."""
    mpirun(START + """
from types import SimpleNamespace
arrays = {}
for name, told in PROTOCOL["jax"].items():
    whole = np.arange(int(np.prod(told["shape"]))).reshape(told["shape"]).astype("u2" if told["dtype"] == "bfloat16" else told["dtype"])
    shards = []
    for one in told["shards"][rank]:
        index = tuple(slice(*bounds) for bounds in one["index"])
        replica = one["replica_id"]
        shards.append(SimpleNamespace(data=whole[index] if replica == 0 else whole[index] + 99, index=index, replica_id=replica))
    arrays[name] = SimpleNamespace(addressable_shards=shards, shape=whole.shape)
ps.save_tensors("j.safetensors", arrays, comm=comm)
""", 2)
    got = ps.load_tensors(tmp_path / "j.safetensors")
    assert sorted(got) == sorted(PROTOCOL["jax"])
    for name, told in PROTOCOL["jax"].items():
        assert got[name].shape == tuple(told["shape"]) and np.array_equal(got[name].ravel(), np.arange(got[name].size)), name
    replicas = [one["replica_id"] for told in PROTOCOL["jax"].values() for shards in told["shards"] for one in shards]
    assert max(replicas) == 3 and replicas.count(0) > len(PROTOCOL["jax"])


@pytest.mark.parametrize("ranks", (1, 3))
def test_lists_of_shards_are_loaded(mpirun, ranks):
    """Also where they overlap, and on one rank only."""
    mpirun(HEAD + """
whole = np.arange(48.0).reshape(6, 8)
ps.save_tensors("x.safetensors", {"a": whole}, comm=comm)
sections = [np.s_[0:4, 0:4], np.s_[2:6, 2:7], np.s_[:, rank], np.s_[3]]
out = np.zeros((6, 1))
shards = [ps.Shard(None, section) for section in sections] + [ps.Shard(out, np.s_[:, 7:])]
got = ps.load_tensors("x.safetensors", {"a": shards if rank == 0 else [1, 3]}, comm=comm)["a"]
if rank == 0:
    assert all(np.array_equal(array, whole[section]) for array, section in zip(got, sections)) and got[4] is out
    assert np.array_equal(out, whole[:, 7:])
else:
    assert np.array_equal(got, whole[[1, 3]])
same(ps.SectionError, "tensor 'a'", lambda: ps.load_tensors("x.safetensors", {"a": [shards[0], ps.Shard(None, np.s_[6])]}, comm=comm))
""", ranks)


def test_reserved_names():
    parts = {}
    with pytest.raises(ps.ArgumentError, match="begin with 'penstock.'"):
        dcp.put_part(parts, "penstock.x", np.zeros(3), (0,), (3,))
    for name, dtype, shape in (("penstock.x", "U8", (3,)), ("penstock.bytes.x", "F32", (3,)), ("penstock.paths", "U8", ())):
        with pytest.raises(ps.FormatError, match=f"'f': tensor '{name}', {dtype}"):
            dcp.contents({"a": Entry("F32", (), 0, 4), name: Entry(dtype, shape, 4, 5)}, "f")


def test_paths_of_names():
    mappings = [{"a.b": ("a", "b"), "c": ("c",)}, None, {"l.0": ("l", 0)}]
    text = dcp.paths_text(mappings)
    assert json.loads(text) == {"a.b": ["a", "b"], "l.0": ["l", 0]}
    assert dcp.paths_of(text, ["a.b", "l.0", "c"], "f") == {"a.b": ("a", "b"), "l.0": ("l", 0), "c": ("c",)}
    assert dcp.paths_text([None, {"c": ("c",)}]) == b"" and dcp.paths_of(b"", ["c"], "f") == {"c": ("c",)}
    for wrong in ({"a": object()}, {"a": ()}, {"a": (1.5,)}, 7):
        with pytest.raises(ps.ArgumentError, match="planner_data must be paths"):
            dcp.paths_text([wrong])
    for damaged in (b"[1]", b'{"a": "b"}', b'{"a": [null]}', b"\xff", b'{"a"', b"[" * 100000):
        with pytest.raises(ps.FormatError, match="'f': the paths"):
            dcp.paths_of(damaged, ["a"], "f")
