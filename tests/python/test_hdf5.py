"""Datasets of HDF5 files: h5py reads what Penstock writes, and the other way round."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import penstock as ps

h5py = pytest.importorskip("h5py")

TYPES = ["u1", "i8", "?", "f2", "<f4", ">f8", ">i2", "c8", ">c16", "S7", "V5", "g",
         [("a", "<f4"), ("b", ">i2", (3,))], {"names": ["a", "b"], "formats": ["i1", "f8"], "offsets": [0, 8], "itemsize": 24}]


def random_array(shape, dtype, seed=3):
    dtype = np.dtype(dtype)
    raw = np.random.default_rng(seed).integers(0, 2, size=(*shape, dtype.itemsize), dtype="u1")
    return raw.view(dtype).reshape(shape)


def same(one, other):  # h5py leaves the gaps between fields out
    return np.array_equal(one, other) if one.dtype.fields else one.tobytes() == other.tobytes()


def contiguous(dataset):
    return dataset.chunks is None and dataset.id.get_offset() is not None


@pytest.mark.parametrize("dtype", TYPES)
def test_types_are_those_of_h5py(tmp_path, dtype):
    whole, path = random_array((4, 5), dtype), tmp_path / "t.h5"
    with ps.open(path, "w", dataset="/deep/er/u", shape=(4, 5), dtype=dtype) as f:
        assert (f.container, f.dataset, f.dims) == ("hdf5", "/deep/er/u", None)
        f.write(whole, ...)
    with h5py.File(path) as file:
        made = file["deep/er/u"]
        beside = h5py.File("x", "w", driver="core", backing_store=False).create_dataset("u", data=whole)
        assert made.id.get_type().equal(beside.id.get_type()) and contiguous(made)
        assert made[()].tobytes() == whole.tobytes()
    with ps.open(path, dataset="/deep/er/u") as f:
        assert f.dtype == np.dtype(dtype) and f.read(...).tobytes() == whole.tobytes()


@pytest.mark.parametrize("dtype", TYPES)
def test_what_h5py_wrote_is_read_and_written(tmp_path, dtype):
    whole, path = random_array((6, 3), dtype), tmp_path / "t.h5"
    with h5py.File(path, "w", userblock_size=512) as file:
        file["g/u"] = whole
    other = random_array((6, 3), dtype, 4)
    with ps.open(path, "r+") as f:  # the only dataset
        assert f.dataset == "/g/u" and same(f.read((slice(1, 6, 2), 0)), whole[1:6:2, 0])
        f.write(other[2:4], (slice(2, 4), slice(None)))
    whole[2:4] = other[2:4]
    with h5py.File(path) as file:
        assert same(file["g/u"][()], whole)


@pytest.mark.parametrize("dtype", ["U3", "M8[ns]", "m8[s]", [("a", "U2")], ("f4", (2,))])
def test_types_that_hdf5_does_not_have(tmp_path, dtype):
    path = tmp_path / "t.h5"
    with pytest.raises(ps.ArgumentError, match="dtype"):
        ps.open(path, "w", dataset="u", shape=(4,), dtype=dtype)
    assert not path.exists()


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_random_sections_of_several_datasets(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("random") / "many.h5"
    wholes = {}
    for n in range(data.draw(st.integers(1, 3))):
        shape = tuple(data.draw(st.lists(st.integers(0, 7), min_size=1, max_size=4)))
        wholes[f"g{n}/u"] = random_array(shape, data.draw(st.sampled_from(TYPES)), n)
    for n, (name, whole) in enumerate(wholes.items()):
        with ps.open(path, "r+" if n else "w", dataset=name, shape=whole.shape, dtype=whole.dtype) as f:
            f.write(whole, ...)
    with h5py.File(path) as file:
        for name, whole in wholes.items():
            assert file[name].shape == whole.shape and file[name][()].tobytes() == whole.tobytes()
    name = data.draw(st.sampled_from(sorted(wholes)))
    whole = wholes[name]
    at = tuple(slice(low, data.draw(st.integers(low, n)), data.draw(st.integers(1, 3)))
               for n in whole.shape for low in [data.draw(st.integers(0, n))])
    with ps.open(path, dataset=name) as f:
        assert f.read(at).tobytes() == whole[at].tobytes()


# ---- dimensions and attributes


def test_dimensions_units_and_attributes(tmp_path):
    path = tmp_path / "a.h5"
    with ps.open(path, "w", dataset="g/u", shape=(2, 3), dtype="f8", dims={"y": [10.0, 20.0], "x": None},
                 attributes={"units": "K"}) as f:
        assert f.dims == ("y", "x") and dict(f.attrs) == {"units": "K"}
        f.write(np.arange(6.0).reshape(2, 3), ...)
        f.attrs.update({"who": "ü", "n": 3, "v": [1, 2.5], "names": ["a", "bc"], "raw": b"xyz"})
        del f.attrs["n"]
        found = dict(f.attrs)
    with h5py.File(path) as file:
        u = file["g/u"]
        assert [d.label for d in u.dims] == ["y", "x"] and np.array_equal(u.dims[0]["y"][()], [10, 20])
        assert np.array_equal(u[()], np.arange(6.0).reshape(2, 3))
        assert u.attrs["who"] == "ü" and "n" not in u.attrs and list(u.attrs["names"]) == ["a", "bc"]
    with ps.open(path, dataset="g/u", dims=("y", "x"), attributes={"units": "K"}) as f:
        assert f.dims == ("y", "x") and set(f.attrs) == set(found)
        assert all(np.array_equal(f.attrs[name], found[name]) for name in ("who", "v", "names", "units"))
        with pytest.raises(ps.StateError, match="reading only"):
            f.attrs["n"] = 1


@pytest.mark.parametrize("name,value", [(3, 1), ("", 1), ("CLASS", "x"), ("a", object()), ("a", {"b": 1}), ("a", "x\0y"),
                                        ("a", np.zeros(8000)), ("a", np.datetime64("2020-01-01"))])
def test_attributes_that_cannot_be(tmp_path, name, value):
    path = tmp_path / "a.h5"
    with ps.open(path, "w", dataset="u", shape=(2,), dtype="f8") as f:
        with pytest.raises(ps.ArgumentError):
            f.attrs[name] = value
        assert not f.attrs and f.read(...).tolist() == [0, 0]


def test_attributes_of_others_need_not_be_understood(tmp_path):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        u = file.create_dataset("u", data=np.zeros(3))
        u.attrs["ref"], u.attrs["empty"], u.attrs["kept"] = u.ref, h5py.Empty("f4"), 7
    with ps.open(path) as f:
        assert f.attrs["kept"] == 7 and f.attrs["empty"].size == 0 and "ref" not in f.attrs


# ---- what is refused


def foreign(path, kind):
    if kind == "empty":
        path.write_bytes(b"")
    elif kind == "text":
        path.write_bytes(b"hello " * 1000)
    elif kind == "classic netCDF":
        path.write_bytes(b"CDF\1" + bytes(100))
    else:
        with h5py.File(path, "w") as file:
            file["u"] = np.arange(1000.0)
        content = bytearray(path.read_bytes())
        if kind == "cut":
            path.write_bytes(content[: len(content) // 2])
        else:
            content[96:800] = b"\x5a" * 704
            path.write_bytes(content)


@pytest.mark.parametrize("mode", ["r", "r+"])
@pytest.mark.parametrize("kind", ["empty", "text", "classic netCDF", "cut", "overwritten"])
def test_foreign_and_damaged_files(tmp_path, kind, mode):
    path = tmp_path / "f.h5"
    foreign(path, kind)
    content = path.read_bytes()
    with pytest.raises(ps.FormatError, match="f.h5") as caught:
        ps.open(path, mode, dataset="u", shape=(1000,), dtype="f8")
    assert path.read_bytes() == content
    if kind == "classic netCDF":
        assert "pass container='netcdf'" in str(caught.value)


def others(path):
    """A file with all kinds of datasets that cannot be used in place."""
    with h5py.File(path, "w") as file:
        file["plain"] = np.arange(12.0).reshape(3, 4)
        file.create_dataset("chunked", data=np.arange(5000).reshape(100, 50), chunks=(7, 9), fletcher32=True)
        file.create_dataset("lzf", data=np.arange(5000.0).reshape(100, 50), chunks=(7, 50), compression="lzf")
        layout = h5py.VirtualLayout((3, 4), "f8")
        layout[...] = h5py.VirtualSource(path, "plain", (3, 4))
        file.create_virtual_dataset("virtual", layout)
        file.create_dataset("external", (4,), "i4", external=[(str(path) + ".ext", 0, 16)])[...] = [1, 2, 3, 4]
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_layout(h5py.h5d.COMPACT)
        file.create_dataset("compact", data=np.arange(4), dcpl=properties)
        file.create_dataset("unwritten", (5,), "f4", fillvalue=7)
        padded = h5py.h5t.C_S1.copy()
        padded.set_size(4)
        padded.set_strpad(h5py.h5t.STR_SPACEPAD)
        space = h5py.h5s.create_simple((2,))
        h5py.h5d.create(file.id, b"padded", padded, space).write(h5py.h5s.ALL, h5py.h5s.ALL, np.array([b"ab", b"c"], "S4"))
        file["scalar"], file["text"] = 3.5, ["vlen", "text"]
        file["group/x"] = [1]
        file["dangling"] = h5py.SoftLink("/nowhere")
        file["elsewhere"] = h5py.ExternalLink(str(path) + ".other", "/u")
    with h5py.File(str(path) + ".other", "w") as file:
        file["u"] = [1, 2]
    return path


DECODED = {"chunked": "fletcher32", "lzf": "lzf", "virtual": "virtual", "external": "another file",
           "compact": "compact", "unwritten": "never written", "padded": "convert"}


@pytest.mark.parametrize("name", DECODED)
def test_datasets_that_are_not_in_one_piece(tmp_path, name):
    path = others(tmp_path / "o.h5")
    before = path.read_bytes()
    with pytest.raises(ps.FormatError, match=f"/{name} .*{DECODED[name]}.*decode=True"):
        ps.open(path, dataset=name)
    with h5py.File(path) as file:
        whole = file[name][()]
    listing = sorted(os.listdir(tmp_path))
    with ps.open(path, dataset=name, decode=True) as f:
        assert f.dtype == whole.dtype and np.array_equal(f.read(...), whole)
        assert np.array_equal(f.read((slice(1, None, 2), ...)), whole[1::2])
        assert sorted(os.listdir(tmp_path)) == listing
    assert path.read_bytes() == before


@pytest.mark.parametrize("fill", [None, 7.0])
def test_a_dataset_that_nobody_has_written_gets_its_space(tmp_path, fill):
    path = tmp_path / "e.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("g/u", (30, 20), "f8", fillvalue=fill).attrs["units"] = "K"
        file["v"] = np.arange(5.0)
    with ps.open(path, "r+", dataset="g/u") as f:
        assert f.attrs["units"] == "K" and (f.read(...) == (fill or 0)).all()
        f.write(np.ones((2, 20)), (slice(4, 6), slice(None)))
    with h5py.File(path) as file:
        assert file["g/u"][4:6].min() == 1 and (file["g/u"][6:] == (fill or 0)).all() and file["v"][4] == 4


def test_a_large_dataset_is_decoded_piece_by_piece(tmp_path, monkeypatch):
    from penstock._formats import decode

    path = others(tmp_path / "o.h5")
    monkeypatch.setattr(decode, "SLAB", 1000)
    os.mkdir(tmp_path / "scratch")
    with ps.open(path, dataset="chunked", decode=tmp_path / "scratch") as f:
        assert np.array_equal(f.read(...), np.arange(5000).reshape(100, 50))
    with pytest.raises(ps.StorageError, match="decode='FOLDER'"):
        ps.open(path, dataset="chunked", decode=tmp_path / "nowhere")


@pytest.mark.parametrize("name,words", [("text", "no fixed size"), ("group", "no dataset"),
                                        ("dangling", "target does not exist"), ("elsewhere", "other"), ("plain/x", "is a dataset"),
                                        ("nothing", "/chunked, /compact, .*/group/x, .*/virtual")])
def test_names_that_lead_to_no_array(tmp_path, name, words):
    path = others(tmp_path / "o.h5")
    with pytest.raises(ps.FormatError, match=words):
        ps.open(path, dataset=name, decode=True)


@pytest.mark.parametrize("how,kind,words", [
    ({"shape": (4, 3)}, ps.FormatError, r"shape \(3, 4\), not \(4, 3\)"),
    ({"dtype": "f4"}, ps.FormatError, "dtype float64, not float32"),
    ({"dims": ("a", "b")}, ps.FormatError, "dims None, not"),
    ({"attributes": {"units": "m"}}, ps.FormatError, "attribute units None, not 'm'"),
    ({"order": "F"}, ps.ArgumentError, "order 'F'"),
    ({"offset": 8}, ps.ArgumentError, "offset 8"),
    ({"container": "raw"}, ps.ArgumentError, "for container 'hdf5'"),
    ({"dataset": ""}, ps.ArgumentError, "must be a name"),
    ({"dataset": None}, ps.ArgumentError, "dataset= is needed .*/chunked"),
    ({"mode": "r+", "decode": True}, ps.ArgumentError, "for reading"),
    ({"decode": 3}, ps.ArgumentError, "folder"),
    ({"mode": "c"}, ps.ArgumentError, "mode 'c'"),
])
def test_arguments_that_do_not_fit(tmp_path, how, kind, words):
    path = others(tmp_path / "o.h5")
    before = path.read_bytes()
    with pytest.raises(kind, match=words):
        ps.open(path, **{"dataset": "plain", **how})
    assert path.read_bytes() == before


@pytest.mark.parametrize("how,words", [
    ({"dataset": None}, "dataset= is needed"), ({"shape": None}, "shape= is needed"), ({"dtype": None}, "dtype= is needed"),
    ({"shape": (1,) * 9, "dims": None}, "up to 8"), ({"dims": "xy"}, "one text"), ({"dims": ("x",)}, "1 names for 2"),
    ({"dims": ("x", "x")}, "twice"), ({"dims": {"x": [1, 2], "y": None}}, "2 coordinates and 3"),
    ({"dims": {"x": [[1]], "y": None}}, "one dimension"), ({"dataset": "a\0b"}, "name"),
    ({"dataset": "\udc80"}, "not valid text"),
])
def test_what_a_new_dataset_needs(tmp_path, how, words):
    path = tmp_path / "n.h5"
    good = {"dataset": "u", "shape": (3, 4), "dtype": "f8", "dims": ("x", "y")}
    with pytest.raises(ps.ArgumentError, match=words):
        ps.open(path, "w", **{**good, **how})
    assert not path.exists()
    ps.open(path, "w", **good).close()
    before = path.read_bytes()
    with pytest.raises(ps.ArgumentError, match=words):
        ps.open(path, "w", **{**good, **how})
    assert path.read_bytes() == before


def test_opens_that_the_system_refuses(tmp_path):
    how = {"dataset": "u", "shape": (3,), "dtype": "f8"}
    for path, mode, number in ((tmp_path / "no.h5", "r", 2), (tmp_path / "no.h5", "r+", 2), (tmp_path, "w", 21),
                               (tmp_path / "no" / "x.h5", "w", 2)):
        with pytest.raises(ps.StorageError, match=os.path.basename(path)) as caught:
            ps.open(path, mode, container="hdf5", **how)
        assert caught.value.errno == number
    assert os.listdir(tmp_path) == []


def test_a_file_that_another_program_has_open(tmp_path):
    path = tmp_path / "l.h5"
    with h5py.File(path, "w") as file:
        file["u"] = np.arange(3.0)
        file.flush()
        size = path.stat().st_size
        for mode in ("w", "r+"):
            with pytest.raises(ps.StorageError, match="open in another program"):
                ps.open(path, mode, dataset="v", shape=(3,), dtype="f8")
        assert path.stat().st_size == size
    with h5py.File(path) as file:
        assert file["u"][()].tolist() == [0, 1, 2]


def test_a_file_that_cannot_be_opened_is_taken_away(tmp_path):
    path = tmp_path / "h.h5"
    how = {"shape": (3,), "dtype": "f8", "hints": {"buffer_size": "3"}}
    with pytest.raises(ps.ArgumentError, match="buffer_size"):
        ps.open(path, "w", dataset="u", **how)
    assert not path.exists()
    with h5py.File(path, "w") as file:
        file["old"] = [1, 2]
    before = path.read_bytes()
    for mode in ("w", "r+"):
        with pytest.raises(ps.ArgumentError, match="buffer_size"):
            ps.open(path, mode, dataset="u", **how)
        assert path.read_bytes() == before


def test_without_h5py(tmp_path):
    script = f"""
import sys
sys.modules["h5py"] = None
import penstock as ps
for mode in "r", "w":
    try:
        ps.open({str(tmp_path / 'x.h5')!r}, mode, dataset="u", shape=(2,), dtype="f8")
    except ps.ArgumentError as error:
        assert "pip install h5py" in str(error), error
    else:
        raise SystemExit("opened")
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
    assert not (tmp_path / "x.h5").exists()
