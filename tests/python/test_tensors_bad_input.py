"""Invalid tensors and invalid safetensors files: one error, on all ranks, which names the tensor."""

import json
import subprocess
import sys

import numpy as np
import penstock as ps
import pytest

from penstock._tensors import header
from scripts import HEAD

safetensors = pytest.importorskip("safetensors")


@pytest.mark.parametrize("ranks", (1, 3))
def test_what_cannot_be_saved(mpirun, tmp_path, ranks):
    mpirun(HEAD + """
last = rank == size - 1
rows = np.arange(12, dtype="f4").reshape(6, 2)
ps.save_tensors("there", {"a": rows}, comm=comm)
old = open("there", "rb").read()
def refused(kind, words, tensors, **how):
    same(kind, words, lambda: ps.save_tensors("there", tensors, **{"comm": comm, **how}))
def here(bad, good=rows):  # on one rank alone
    return {"good": rows, "a": bad if last else good}
refused(ps.ArgumentError, "tensor 'a': dtype object", here(np.array([None])))
refused(ps.ArgumentError, "tensor 'a'.*little-endian.*'<f4'", here(rows.astype(">f4")))
refused(ps.ArgumentError, "tensor 'a'.*U5", here(np.array(["words"])))
refused(ps.ArgumentError, "tensor 'a'.*needs the shape", here(ps.Shard(rows, np.s_[:6])))
refused(ps.ArgumentError, "tensor 'a'.*not the bits of BF16", here(ps.Shard(rows, dtype="BF16")))
refused(ps.ArgumentError, "tensor 'a'.*not a type of safetensors", here(ps.Shard(rows, dtype="F128")))
refused(ps.ArgumentError, "tensor 'a'.*has shape \\\\(6, 2\\\\), its section", here(ps.Shard(rows, np.s_[:5], (6, 2))))
refused(ps.SectionError, "tensor 'a'.*out of the array", here(ps.Shard(rows[0], 6, (6, 2))))
refused(ps.SectionError, "tensor 'a'.*not a mask", here(ps.Shard(rows[rows > 3], rows > 3, (6, 2))))
refused(ps.ArgumentError, "tensor 'a'.*whole number of bytes", here(ps.Shard(np.zeros(1, "u1"), None, (3,), "F4")))
refused(ps.ArgumentError, "tensor 3.*must be text", {3: rows} if last else {})
refused(ps.ArgumentError, "__metadata__", {"__metadata__": rows} if last else {})
refused(ps.ArgumentError, "surrogates", {"\\udcff": rows} if last else {})
refused(ps.ArgumentError, "dictionary", [rows] if last else {})
refused(ps.ArgumentError, "metadata 'n': 3", {"a": rows}, metadata={"n": 3})
refused(ps.ArgumentError, "max_file_size", {"a": rows}, max_file_size=0)
refused(ps.ArgumentError, "hint", {"a": rows}, hints={"no such hint": 1})
refused(ps.ArgumentError, "tensor 'a'.*have 4 of its 12 elements.*every element", {"a": ps.Shard(rows[:2], np.s_[:2], (6, 2))})
refused(ps.ArgumentError, "tensor 'a'.*overlap", {"a": [ps.Shard(rows[:4], np.s_[:4], (6, 2)), ps.Shard(rows[3:], np.s_[3:], (6, 2))]})
refused(ps.ArgumentError, "tensor 'a'.*overlap", {"a": [ps.Shard(rows[::2], np.s_[::2], (6, 2)), ps.Shard(rows[2:], np.s_[2:], (6, 2))]})
if size > 1:
    refused(ps.DisagreementError, "tensor 'a': rank 0 has F32 of shape \\\\(6, 2\\\\), rank 2 has F64", here(rows.astype("f8")))
    refused(ps.DisagreementError, "tensor 'a': rank 0 has F32.*rank 2 has F32 of shape \\\\(2, 6\\\\)", here(rows.T))
    refused(ps.DisagreementError, "tensor 'a': ranks 0 and 2 both have all of it, with different", here(rows + 1))
    block = np.s_[3 * (rank == 0) :3 + 3 * (rank == 0)]
    refused(ps.DisagreementError, "tensor 'a': ranks 1 and 2 both have \\\\(0:3, 0:2\\\\), with different",
            {"a": ps.Shard(rows[block] + last, (block, np.s_[:]), (6, 2))})
    refused(ps.ArgumentError, "tensor 'a'.*rank 0 has \\\\(0:3, 0:2\\\\), rank 1 has all of it, which overlap",
            {"a": ps.Shard(rows[:3], np.s_[:3], (6, 2)) if rank == 0 else rows})
    refused(ps.DisagreementError, "metadata", {"a": rows}, metadata={"rank": str(rank)})
    same(ps.DisagreementError, "the call", lambda: ps.load_tensors("there", comm=comm) if last else
         ps.save_tensors("there", {"a": rows}, comm=comm))
same(ps.StorageError, "no/folder", lambda: ps.save_tensors("no/folder/a", {"a": rows}, comm=comm))
same(ps.StorageError, "there", lambda: ps.save_tensors("there/a", {"a": rows}, comm=comm, max_file_size="1M"))
assert open("there", "rb").read() == old and len(os.listdir(".")) == 2
ps.save_tensors("cyclic", {"a": ps.Shard(rows[rank::size], np.s_[rank::size], (6, 2))}, comm=comm)
assert np.array_equal(ps.load_tensors("cyclic", comm=comm)["a"], rows)
""", ranks)


@pytest.mark.parametrize("ranks", (1, 3))
def test_what_cannot_be_loaded(mpirun, tmp_path, ranks):
    mpirun(HEAD + """
last = rank == size - 1
rows = np.arange(12, dtype="f4").reshape(6, 2)
ps.save_tensors("there", {"a": rows, "b": np.ones(3, "i8")}, comm=comm)
def refused(kind, words, wanted, path="there"):
    same(kind, words, lambda: ps.load_tensors(path, wanted if last else (), comm=comm))
refused(ps.ArgumentError, "'there' has no tensor 'x'; it has 'b', 'a'", ["a", "x"])
refused(ps.ArgumentError, "'a' is one name", "a")
refused(ps.ArgumentError, "text, not 3", [3])
refused(ps.ArgumentError, "tensor 'a'.*F32 in the file, and the array to fill float64", {"a": rows.astype("f8")})
refused(ps.ArgumentError, "tensor 'a'.*has shape \\\\(2, 6\\\\), the tensor \\\\(6, 2\\\\)", {"a": np.zeros((2, 6), "f4")})
refused(ps.ArgumentError, "tensor 'a'.*not writable", {"a": np.broadcast_to(np.float32(1), (6, 2))})
refused(ps.ArgumentError, "tensor 'a'.*not \\\\(7, 2\\\\)", {"a": ps.Shard(None, None, (7, 2))})
refused(ps.ArgumentError, "tensor 'a'.*must be a NumPy array", {"a": ps.Shard([1, 2])})
refused(ps.SectionError, "tensor 'a'.*out of the array", {"a": 6})
refused(ps.SectionError, "tensor 'b'.*dimensions", {"b": np.s_[1:, 1:]})
same(ps.FileNotFoundError, "nowhere", lambda: ps.load_tensors("nowhere", comm=comm))
if rank == 0:
    whole = open("there", "rb").read()
    for length in 0, 7, 8, 60, len(whole) - 1:
        open(f"cut {length}", "wb").write(whole[:length])
    open("longer", "wb").write(whole + b"x")
    os.mkdir("folder")
    open("folder/model.safetensors.index.json", "w").write('{"weight_map": {"a": "../there"}}')
    os.mkdir("torn")
    open("torn/model.safetensors.index.json", "w").write('{"weight_map": {"a": "1.safetensors", "c": "2.safetensors"}}')
    open("torn/1.safetensors", "wb").write(whole)
comm.Barrier()
for length in 0, 7, 8, 60:
    same(ps.FormatError, f"cut {length}' is (truncated|not a safetensors)", lambda: ps.load_tensors(f"cut {length}", comm=comm))
same(ps.FormatError, "tensor 'a' ends at byte .*truncated", lambda: ps.load_tensors(f"cut {os.path.getsize('there') - 1}", comm=comm))
same(ps.FormatError, "the tensors end at byte", lambda: ps.load_tensors("longer", comm=comm))
same(ps.FormatError, "not the name of a .safetensors file", lambda: ps.load_tensors("folder", comm=comm))
same(ps.FileNotFoundError, "2.safetensors", lambda: ps.load_tensors("torn", comm=comm))
assert np.array_equal(ps.load_tensors("torn", ["a"], comm=comm)["a"], rows)
""", ranks)


def test_arrays_lie_within_the_file(tmp_path):
    """The engine's interface for the package: parts of any arrays in the bytes of a raw file."""
    array = np.arange(6, dtype="u2")
    with ps.open(tmp_path / "raw", "w", shape=(20,), dtype="u1") as f:
        f._inner.write_placed([array[:2], array[2:]], [(0,), (2,)], [(2,), (6,)], [16, 0], None)
        assert f[...].tolist() == [0] * 4 + [2, 0, 3, 0, 4, 0, 5, 0] + [0] * 6 + [1, 0]
        for words, given in (("bytes 16 to 28 are outside of 0 to 20", ([array], [(0,)], [(6,)], [16], None)),
                             ("offset must not be negative", ([array], [(0,)], [(6,)], [-1], None)),
                             ("1 places for 2 parts", ([array, array], [(0,), (0,)], [(6,)], [0], None)),
                             ("a block of 2 dimensions for an array of 1", ([array], [(0, 0)], [(6,)], [0], None))):
            with pytest.raises(ps.ArgumentError, match=words):
                f._inner.write_placed(*given)
        with pytest.raises(ps.SectionError):
            f._inner.write_placed([array], [(1,)], [(6,)], [0], None)
    with ps.open(tmp_path / "a.npy", "w", shape=(20,), dtype="u1") as f, pytest.raises(ps.ArgumentError, match="no raw file"):
        f._inner.write_placed([array], [(0,)], [(6,)], [0], None)


def command(path):
    done = subprocess.run([sys.executable, "-m", "penstock", "verify", str(path)], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    return done.returncode, " ".join(done.stdout.split())


def test_a_damaged_tensor_is_found(tmp_path):
    path = tmp_path / "a.safetensors"
    ps.save_tensors(path, {"a": np.arange(5000), "b": np.ones(3)}, checksums=True)
    assert ps.verify_tensors(path) == ps.Verified(1, 2, 40024, 2)
    code, output = command(path)
    assert code == 0 and "whole. Tensors: 2, of 40024 bytes, in files: 1; compared with a checksum: 2" in output
    text = bytearray(path.read_bytes())
    text[-20] ^= 4
    path.write_bytes(text)
    with pytest.raises(ps.FormatError, match="tensor 'b' is damaged.*CRC-32C"):
        ps.verify_tensors(path)
    code, output = command(path)
    assert code == 2 and "tensor 'b' is damaged" in output
    path.write_bytes(text[:-1])
    with pytest.raises(ps.FormatError, match="truncated"):
        ps.verify_tensors(path)


def test_headers_are_limited(tmp_path, monkeypatch):
    monkeypatch.setattr(header, "MOST", 200)
    with pytest.raises(ps.ArgumentError, match="more than 200"):
        ps.save_tensors(tmp_path / "a", {f"tensor {i}": np.ones(1) for i in range(4)})
    assert not (tmp_path / "a").exists()
    monkeypatch.undo()
    (tmp_path / "a").write_bytes((100_000_001).to_bytes(8, "little") + b"{}")
    with pytest.raises(ps.FormatError, match="100000001 bytes, more than"):
        ps.load_tensors(tmp_path / "a")


VALID = {"__metadata__": {"format": "np"}, "a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
         "b": {"dtype": "U8", "shape": [], "data_offsets": [24, 25]},
         "c": {"dtype": "BF16", "shape": [0, 5], "data_offsets": [25, 25]}}
STRANGE = [None, True, -1, 0, 1, 25, 26, 1.0, 1e30, 2**63, 2**64, 10**30, "", "a", "F32", "BF16", "F4", [], [0], [0, 25], [24, 0],
           [2**62, 4], [-2, -3], [25, 25], {}, {"a": 1}, "\ud800"]


def verdict(text, data):
    """The result of reading a file with this JSON, by both; None: refused."""
    try:
        ours = header.parsed(text, 8 + len(text) + data, "a").tensors
        ours = {name: (e.dtype, list(e.shape), e.end - e.begin) for name, e in ours.items()}
    except ps.FormatError:
        ours = None
    try:
        theirs = {name: (item["dtype"], item["shape"], len(item["data"])) for name, item in
                  safetensors.deserialize(len(text).to_bytes(8, "little") + text + bytes(data))}
    except Exception:
        theirs = None
    return ours, theirs


def test_a_header_that_lies_is_refused_as_the_reference_does():
    hypothesis = pytest.importorskip("hypothesis")
    from hypothesis import strategies as st

    @hypothesis.settings(max_examples=300, deadline=None, derandomize=True, database=None)
    @hypothesis.given(st.data())
    def check(data):
        said = json.loads(json.dumps(VALID))
        for _ in range(data.draw(st.integers(0, 3))):
            at = said
            while isinstance(at, (dict, list)) and at and data.draw(st.integers(0, 3)):
                key = data.draw(st.sampled_from(sorted(at) if isinstance(at, dict) else range(len(at))))
                if not isinstance(at[key], (dict, list)) or data.draw(st.booleans()):
                    break
                at = at[key]
            if not at:
                continue
            key = data.draw(st.sampled_from(sorted(at) if isinstance(at, dict) else range(len(at))))
            if data.draw(st.integers(0, 4)):
                at[key] = json.loads(json.dumps(data.draw(st.sampled_from(STRANGE))))
            else:
                del at[key]
        text = bytearray(json.dumps(said).encode())
        for _ in range(data.draw(st.integers(0, 2)) if data.draw(st.integers(0, 3)) == 0 else 0):
            text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(0, 255))
        text += b" " * data.draw(st.integers(0, 2))
        ours, theirs = verdict(bytes(text), data.draw(st.sampled_from([25, 25, 25, 24, 26, 0])))
        if ours is not None or theirs is not None:
            hypothesis.event("accepted")
        assert ours == theirs, bytes(text)

    check()


@pytest.mark.parametrize("text", [b'{"a": ' * 100000, b"[" * 200000, b'{"a":{"dtype":"U8","shape":[' + b"9" * 5000 + b'],"data_offsets":[0,1]}}',
                                  b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}',
                                  b"\xff\xfe{}", b"", b"null", b' {"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}'])
def test_strange_headers_are_refused_quickly(text):
    with pytest.raises(ps.FormatError, match="not that of a safetensors file"):
        header.parsed(text, 8 + len(text) + 1, "a")
