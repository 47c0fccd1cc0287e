"""Tensors in safetensors files: from any sharding to any other, checked with the safetensors package."""

import json
import os
from pathlib import Path

import numpy as np
import penstock as ps
import pytest

from scripts import HEAD

safetensors = pytest.importorskip("safetensors")
RANKS = (1, 3, 4)

#: Tensors of all kinds, and a share of each: of rows, of columns, of both, or all on one rank.
START = HEAD + """
import json
try:
    import ml_dtypes
    extended = {"bf": np.arange(10).astype(ml_dtypes.bfloat16), "f8": np.arange(5).astype(ml_dtypes.float8_e4m3fn),
                "f8 e5": np.arange(4).astype(ml_dtypes.float8_e5m2).reshape(2, 2)}
except ImportError:
    extended = {}
whole = {f"type {kind}": (np.arange(30) % 2).astype(kind).reshape(5, 6) for kind in
         ("?", "i1", "u1", "i2", "u2", "f2", "i4", "u4", "f4", "i8", "u8", "f8", "c8")}
whole.update(extended)
whole.update({"rows": np.arange(8 * 6, dtype="f4").reshape(8, 6), "columns": np.arange(8 * 12, dtype="i8").reshape(8, 12),
              "blocks": np.arange(6 * 7 * 5, dtype="f8").reshape(6, 7, 5), "cyclic": np.arange(23, dtype="i2"),
              "scalar": np.array(3.5), "empty": np.zeros((0, 4), "f4"), "one's own": np.arange(9, dtype="u2"),
              "nine": np.arange(2.0 ** 9, dtype="f4").reshape((2,) * 9), "Ünï\\n\\"cøde": np.ones(3, "u1")})
kinds = {"rows": ("block", "*"), "columns": ("*", "block"), "blocks": ("block", "*", "block"), "cyclic": ("cyclic",)}
turned = {"rows": ("*", "block"), "columns": ("block", "*"), "blocks": ("*", "block", "*"), "cyclic": ("block",)}
def shares(kinds):
    return {name: ps.distribute(whole[name].shape, comm, kind=kind) for name, kind in kinds.items()}
def own():
    mine = {name: array for name, array in whole.items() if name != "one's own" or rank == size - 1}
    for name, d in shares(kinds).items():
        mine[name] = ps.Shard(whole[name][d.section.index], d.section if name == "rows" else d, whole[name].shape)
    return mine
def equal(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
"""


def contents(path):
    return {name: (item["dtype"], tuple(item["shape"]), bytes(item["data"]))
            for name, item in safetensors.deserialize(path.read_bytes())}


@pytest.mark.parametrize("ranks", RANKS)
def test_any_sharding_is_saved_and_loaded_on_any_other(mpirun, tmp_path, ranks):
    mpirun(START + """
ps.save_tensors("a.safetensors", own(), comm=comm, metadata={"format": "np"}, checksums=True)
if rank == 0:
    np.save("names.npy", sorted(whole))
    for name, array in whole.items():
        np.save(f"{sorted(whole).index(name)}.npy", array.reshape(-1).view("u1") if array.ndim else array)
got = ps.load_tensors("a.safetensors", comm=comm)  # everything, whole, on every rank
assert sorted(got) == sorted(whole)
for name, array in whole.items():
    assert equal(got[name], array), name
wanted = {name: d for name, d in shares(turned).items()}  # another sharding
out = np.full((3, 12), -1, "i8")[:, ::2]
local = np.zeros_like(whole["rows"])
wanted.update({"columns": ps.Shard(out, np.s_[2:5, ::2]), "rows": local, "scalar": ...})
if rank == 0:
    wanted = {"type f4": np.s_[-1], "type i4": [3, 1], **wanted}
got = ps.load_tensors("a.safetensors", wanted, comm=comm)
assert list(got) == list(wanted) and got["rows"] is local and got["columns"] is out
assert equal(local, whole["rows"]) and np.array_equal(out, whole["columns"][2:5, ::2]) and got["scalar"] == 3.5
for name in "blocks", "cyclic":
    assert equal(got[name], whole[name][wanted[name].section.index]), name
assert rank or equal(got["type f4"], whole["type f4"][-1]) and equal(got["type i4"], whole["type i4"][[3, 1]])
nothing = ps.load_tensors("a.safetensors", () if rank else ["empty"], comm=comm)
assert list(nothing) == ([] if rank else ["empty"])
""", ranks)
    found = contents(tmp_path / "a.safetensors")
    names = list(np.load(tmp_path / "names.npy"))
    assert sorted(found) == names
    for number, name in enumerate(names):
        assert found[name][2] == np.load(tmp_path / f"{number}.npy").tobytes(), name
    assert found["rows"][:2] == ("F32", (8, 6)) and found["scalar"][:2] == ("F64", ())
    assert "bf" not in found or [found[name][0] for name in ("bf", "f8", "f8 e5")] == ["BF16", "F8_E4M3", "F8_E5M2"]
    with safetensors.safe_open(tmp_path / "a.safetensors", "np") as f:
        assert f.metadata()["format"] == "np"
        assert np.array_equal(f.get_slice("blocks")[1:3, :, 2], np.arange(210.0).reshape(6, 7, 5)[1:3, :, 2])
    checked = ps.verify_tensors(tmp_path / "a.safetensors")
    assert (checked.tensors, checked.checksums) == (len(names), len(names))
    text = (tmp_path / "a.safetensors").read_bytes()
    assert int.from_bytes(text[:8], "little") % 8 == 0


@pytest.mark.parametrize("ranks", (1, 3))
def test_files_of_the_safetensors_package_are_loaded(mpirun, tmp_path, ranks):
    from safetensors.numpy import save_file

    arrays = {"a": np.arange(24, dtype="f4").reshape(4, 6), "b": np.arange(5, dtype="i8"), "c": np.array(7, "u1")}
    save_file(arrays, tmp_path / "theirs.safetensors", metadata={"step": "3"})
    mpirun(HEAD + """
got = ps.load_tensors("theirs.safetensors", comm=comm)
assert list(got) == ["b", "a", "c"] and np.array_equal(got["a"], np.arange(24).reshape(4, 6)) and got["c"] == 7
d = ps.distribute((4, 6), comm, kind=("*", "block"))
assert np.array_equal(ps.load_tensors("theirs.safetensors", {"a": d}, comm=comm)["a"], got["a"][d.section.index])
""", ranks)
    assert ps.verify_tensors(tmp_path / "theirs.safetensors") == ps.Verified(1, 3, 96 + 40 + 1, 0)


@pytest.mark.parametrize("ranks", (1, 3))
def test_the_same_tensors_are_saved_again_and_again(mpirun, ranks):
    """The layout of the first save is reused, unless something has changed."""
    mpirun(HEAD + """
from penstock._tensors import layout
rows = slice(2 * rank, 2 * rank + 2)
def tensors(value, extent=2 * size):
    return {"a": ps.Shard(np.full((2, 5), value, "f4"), rows, (extent, 5)), "b": np.array(value)}
for checksums in False, True:
    for value in 1, 2, 3:
        known = [one.id for _, one in layout._known]
        ps.save_tensors("x", tensors(value), comm=comm, checksums=checksums, metadata={"step": "s" * 9 ** value})
        assert value == 1 and not checksums or [one.id for _, one in layout._known] == known
        found = ps.load_tensors("x", comm=comm)
        assert (found["a"] == value).all() and found["a"].shape == (2 * size, 5) and found["b"] == value
        assert ps.verify_tensors("x").checksums == 2 * checksums
if size > 1:
    same(ps.DisagreementError, "tensor 'b'.*ranks 0 and 2", lambda: ps.save_tensors("x", tensors(4 + (rank == 2)), comm=comm))
    same(ps.ArgumentError, "tensor 'a'.*have 30 of its 35", lambda: ps.save_tensors("x", tensors(4, 7), comm=comm))
    if rank == 0:
        ps.save_tensors("alone", tensors(5, 2), comm=MPI.COMM_SELF)  # of this rank alone: known to no other
    ps.save_tensors("x", tensors(6) if rank else {**tensors(6), "more": np.ones(3)}, comm=comm)
    ps.save_tensors("x", tensors(7), comm=comm)
    assert (ps.load_tensors("x", comm=comm)["a"] == 7).all()
""", ranks)


def test_types_that_numpy_lacks_are_saved_by_their_bits(tmp_path):
    path = tmp_path / "raw"
    bits = np.arange(12, dtype="u2").reshape(3, 4)
    ps.save_tensors(path, {"bf": ps.Shard(bits, dtype="BF16"), "part": [ps.Shard(bits[:1], np.s_[:1], (3, 4), "BF16"),
                                                                        ps.Shard(bits[1:], np.s_[1:], (3, 4), "BF16")],
                           "four": ps.Shard(np.arange(6, dtype="u1"), None, (3, 4), "F4")})
    found = contents(path)
    assert found["bf"] == found["part"] == ("BF16", (3, 4), bits.tobytes()) and found["four"][2] == bytes(range(6))
    out = {"bf": np.zeros((3, 4), "u2"), "four": np.zeros(6, "u1")}
    ps.load_tensors(path, out)
    assert np.array_equal(out["bf"], bits) and out["four"].tolist() == [0, 1, 2, 3, 4, 5]
    assert ps.load_tensors(path, ["bf"])["bf"].tobytes() == bits.tobytes()


def test_the_example(mpirun):
    text = (Path(__file__).resolve().parents[2] / "examples/python/checkpoint.py").read_text()
    assert "step 29: 7 tensors, 1572868 bytes, 7 checksums are right" in mpirun(text, 4)


@pytest.mark.parametrize("ranks", (1, 3))
def test_several_files_with_an_index(mpirun, tmp_path, ranks):
    mpirun(START + """
ps.save_tensors("model", own(), comm=comm, max_file_size=500, metadata={"format": "np"}, checksums=True)
for name, array in ps.load_tensors("model", comm=comm).items():
    assert equal(array, whole[name]), name
d = shares(turned)["columns"]
got = ps.load_tensors("model", {"columns": d} if rank == 0 else ["scalar"], comm=comm)
assert rank or equal(got["columns"], whole["columns"][d.section.index])
same(ps.ArgumentError, "index.json' has no tensor 'x'", lambda: ps.load_tensors("model", ["x"] if rank == size - 1 else (), comm=comm))
first = set(os.listdir("model"))
comm.Barrier()
ps.save_tensors("model", {"scalar": np.array(4.5)}, comm=comm, max_file_size="1M")
assert ps.load_tensors("model", comm=comm) == {"scalar": 4.5} and len(os.listdir("model")) == 2
comm.Barrier()
ps.save_tensors("model", {"scalar": np.array(5.5)}, comm=comm, max_file_size="1M")  # the same name is in use
assert ps.load_tensors("model", comm=comm) == {"scalar": 5.5} and len(os.listdir("model")) == 2
ps.save_tensors("model", own(), comm=comm, max_file_size=500)
""", ranks)
    index = json.loads((tmp_path / "model" / "model.safetensors.index.json").read_text())
    files = set(index["weight_map"].values())
    assert files | {"model.safetensors.index.json"} == set(os.listdir(tmp_path / "model")) and len(files) > 3
    assert index["metadata"]["total_size"] == sum(len(data) for name in files
                                                  for _, _, data in contents(tmp_path / "model" / name).values())
    for tensor, name in index["weight_map"].items():
        assert tensor in contents(tmp_path / "model" / name)
    assert ps.verify_tensors(tmp_path / "model").files == len(files)


@pytest.mark.parametrize("ranks", (1, 3))
def test_each_tensor_is_written_and_read_once_and_all_in_one_operation(mpirun, ranks):
    """Counted: a replicated tensor of many bytes, and thousands of small ones."""
    mpirun(HEAD + """
from penstock._tensors import files
calls, counts = [], []
for name in "write", "read":
    def counted(file, *what, to=getattr(files, name), name=name):
        result = to(file, *what)
        calls.append(name)
        counts.append(file.statistics)
        return result
    setattr(files, name, counted)
many = {f"layer.{i}": np.full(256, i, "f4") for i in range(2000)}
many["replicated"] = np.arange(1 << 18, dtype="f4")
ps.save_tensors("many", many, comm=comm, hints={"active_buffer_size": 0, "buffer_size": "4M"})
bytes_written, writes = (comm.allreduce(getattr(counts[-1], name)) for name in ("bytes_written", "writes"))
assert bytes_written == os.path.getsize("many") and writes <= 8, (bytes_written, writes)
got = ps.load_tensors("many", comm=comm, hints={"buffer_size": "4M", "method": "extended"})
assert all(np.array_equal(got[name], array) for name, array in many.items())
assert calls == ["write", "read"]
if size > 1:  # alone, a rank may read as it likes
    assert comm.allreduce(counts[-1].bytes_read) < 1.2 * os.path.getsize("many"), counts[-1]
""", ranks)
