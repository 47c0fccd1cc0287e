"""Files of several variables: what is refused, on all ranks alike, before anything changes."""

import errno
import os

import numpy as np
import pytest

import penstock as ps
from conftest import case_outcomes
from scripts import CASES

pytestmark = pytest.mark.ranks

h5py = pytest.importorskip("h5py")
pytest.importorskip("h5netcdf")


def files_in(path):
    return {name.relative_to(path): name.read_bytes() for name in path.rglob("*") if name.is_file()}


@pytest.mark.parametrize("how,kind,words", [
    ({"name": "u"}, ps.ArgumentError, "has u already"), ({"name": "a/../b"}, ps.ArgumentError, "must have a name"),
    ({"name": "zarr.json"}, ps.ArgumentError, "must have a name"), ({"name": "u/v"}, ps.FormatError, "no array can lie"),
    ({"shape": (4,)}, ps.FormatError, "'x' has 3 elements, not 4"), ({"dims": {"x": [1.0, 2, 3]}}, ps.ArgumentError, "of their own"),
    ({"dims": ("x", "y")}, ps.ArgumentError, "dimension"), ({"shape": (0,), "dims": ("t",)}, ps.FormatError, "'t' grows"),
    ({"compressors": "lzf"}, ps.ArgumentError, "lzf"), ({"attributes": {"a": object()}}, ps.ArgumentError, "JSON")])
def test_arrays_that_cannot_be_made(tmp_path, how, kind, words):
    path = tmp_path / "n.zarr"
    with ps.open_dataset(path, "w") as ds:
        ds.create("u", (3,), "f8", ("x",))
        ds.create("t", (None,), "f8", ("t",))
        before = files_in(path)
        with pytest.raises(kind, match=words):
            ds.create(**{"name": "w", "shape": (3,), "dtype": "f8", "dims": ("x",), **how})
        assert files_in(path) == before and list(ds) == ["u", "t"]


def test_groups_that_are_made_anew(tmp_path):
    path = tmp_path / "w.zarr"
    with ps.open_dataset(path, "w", attributes={"a": 1}) as ds:
        ds.create("u", (3,), "f8", ("x",))[:] = 1
    (path / "notes.txt").write_text("mine")
    before = files_in(path)
    with pytest.raises(ps.FormatError, match="notes.txt, nothing of Zarr 3"):
        ps.open_dataset(path, "w")
    assert files_in(path) == before
    (path / "notes.txt").unlink()
    with ps.open_dataset(path, "w") as ds:
        assert not list(ds) and not ds.attrs
    assert sorted(os.listdir(path)) == ["zarr.json"]
    ps.open(tmp_path / "array.zarr", "w", shape=3, dtype="f8").close()
    os.mkdir(tmp_path / "empty.zarr")
    (tmp_path / "file.zarr").write_text("text")
    for name, words in (("array.zarr", "is a Zarr array, no group"), ("empty.zarr", "has no zarr.json"), ("file.zarr", "is no folder")):
        for mode in ("w", "r"):
            with pytest.raises(ps.FormatError, match=words):
                ps.open_dataset(tmp_path / name, mode)
    with pytest.raises(FileNotFoundError):
        ps.open_dataset(tmp_path / "missing.zarr", "r+")


BAD = [
    ({"name": "u"}, ps.ArgumentError, "has a variable u already"), ({"name": 3}, ps.ArgumentError, "must be a name"),
    ({"name": "u/w"}, ps.FormatError, "/u is a dataset"), ({"shape": (4,)}, ps.FormatError, "'x' has 3 elements, not 4"),
    ({"shape": None}, ps.ArgumentError, "shape= is needed"), ({"dtype": None}, ps.ArgumentError, "dtype= is needed"),
    ({"shape": (3, None), "dims": ("x", "t")}, ps.ArgumentError, "only the first dimension"),
    ({"shape": (None,), "dims": ("x",)}, ps.FormatError, "'x' is not unlimited"), ({"dims": None}, ps.ArgumentError, "dims= is needed"),
    ({"dims": {"x": [1.0, 2.0, 3.0]}}, ps.FormatError, "other coordinates or none"), ({"dtype": "c8"}, ps.ArgumentError, "complex64"),
    ({"chunks": (0,)}, ps.ArgumentError, "an extent of 1 or more"), ({"chunks": 1 << 30}, ps.ArgumentError, "1 GiB"),
    ({"compressors": "gzip:11"}, ps.ArgumentError, "level must be"), ({"compressors": "lzf"}, ps.ArgumentError, "no filter"),
    ({"fill_value": "q"}, ps.ArgumentError, "fill_value"), ({"attributes": {"CLASS": 1}}, ps.ArgumentError, "CLASS"),
]


@pytest.mark.parametrize("how,kind,words", BAD)
def test_variables_that_cannot_be_made(tmp_path, how, kind, words):
    path = tmp_path / "n.nc"
    with ps.open_dataset(path, "w") as ds:
        ds.create("u", (3,), "f8", ("x",))[:] = 1
        ds.sync()
        before = path.read_bytes()
        with pytest.raises(kind, match=words):
            ds.create(**{"name": "w", "shape": (3,), "dtype": "f8", "dims": ("x",), **how})
        assert path.read_bytes() == before and list(ds) == ["u"]
        ds.create("w", (3,), "f8", ("x",))


def test_opens_that_fail(tmp_path):
    (tmp_path / "text.nc").write_text("no file of HDF5")
    with h5py.File(tmp_path / "old.h5", "w") as file:
        file["old"] = [1.0]
    before = (tmp_path / "old.h5").read_bytes()
    for name, mode, how, kind, words in (
            ("u.npy", "w", {}, ps.ArgumentError, "no file of several variables"), ("a.nc", "r", {}, FileNotFoundError, "a.nc"),
            ("a.nc", "q", {}, ps.ArgumentError, "mode 'q'"), ("a.nc", "w", {"container": "npy"}, ps.ArgumentError, "container="),
            ("old.h5", "r+", {"attributes": {"a": 1}}, ps.ArgumentError, "ds.attrs"), ("a.nc", "w", {"attributes": {"a": {}}}, ps.ArgumentError, "'a'"),
            ("old.h5", "w", {"hints": {"nix": 1}}, ps.ArgumentError, "no hint 'nix'"), ("text.nc", "r+", {}, ps.FormatError, "text.nc"),
            (".", "w", {"container": "hdf5"}, ps.StorageError, "directory")):
        with pytest.raises(kind, match=words):
            ps.open_dataset(tmp_path / name, mode, **how)
    assert sorted(os.listdir(tmp_path)) == ["old.h5", "text.nc"] and (tmp_path / "old.h5").read_bytes() == before


@pytest.mark.parametrize("name,kind", [("new.h5", "hdf5.Hdf5.make_file"), ("new.nc", "netcdf.NetCdf.make_file"), ("new.zarr", "zarr.GroupFile.write")])
def test_a_new_file_for_which_there_is_no_space(tmp_path, monkeypatch, name, kind):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(f"penstock._formats.{kind}", full)
    with pytest.raises(ps.StorageError, match=f"{name}.*No space left"):
        ps.open_dataset(tmp_path / name, "w")
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_open_for_writing(tmp_path):
    path, how = tmp_path / "l.h5", {"shape": (None, 4), "dtype": "f8"}
    with h5py.File(path, "w"), pytest.raises(ps.StorageError, match="open in another program"):
        ps.open_dataset(path, "w")
    with ps.open_dataset(path, "w") as ds:
        ds.create("u", **how)[0] = 1
        ds.sync()
        for refused in (lambda: ps.open_dataset(path, "r+"), lambda: ps.open_dataset(path, "w"),
                        lambda: ps.open(path, "r+", dataset="u", **how), lambda: ps.open(path, "r+", dataset="v", **how)):
            with pytest.raises(ps.StorageError, match="open in another program"):
                refused()
        with pytest.raises(OSError):
            h5py.File(path, "r+")
        with ps.open_dataset(path) as seen, h5py.File(path) as file:
            assert seen["u"].shape == (1, 4) == file["u"].shape
    with ps.open_dataset(path, "r+"), ps.open_dataset(path):
        pass
    h5py.File(path, "r+").close()


def test_reading_and_closed_files(tmp_path):
    path = tmp_path / "c.nc"
    with ps.open_dataset(path, "w") as ds:
        ds.create("u", (None, 2), "f8", ("t", "x")).append(np.ones(2))
    with ps.open_dataset(path) as ds:
        u = ds["u"]
        assert u.last_method == ""
        for change in (lambda: u.append(np.ones(2)), lambda: u.write(np.ones((1, 2)), ...), lambda: ds.create("v", (2,), "f8", ("x",)),
                       lambda: ds.attrs.update(a=1), lambda: u.attrs.update(a=1), lambda: u.__setitem__(1, 1)):
            with pytest.raises(ps.StateError):
                change()
        with pytest.raises(KeyError, match="no variable 'v'; it has u"):
            ds["v"]
    ds.close()
    for change in (lambda: u[...], lambda: ds.sync(), lambda: ds.create("v", (2,), "f8", ("x",)), lambda: ds.attrs.update(a=1)):
        with pytest.raises(ps.StateError, match="closed"):
            change()


# ---- several ranks are told alike


DIFFERENT = CASES + """
import h5py
def make(name="s.nc", mode="w", **how):
    return ps.open_dataset(name, mode, **{"comm": comm, **how})
cases["path"] = lambda: record(lambda: make("other.nc" if last else "s.nc"))
cases["mode"] = lambda: record(lambda: make(mode="r+" if last else "w"))
cases["container"] = lambda: record(lambda: make(container="hdf5" if last else "netcdf"))
cases["attributes"] = lambda: record(lambda: make(attributes={"a": int(last)}))
cases["bad attributes"] = lambda: record(lambda: make(attributes={"a": object() if last else 1}))
cases["bad mode"] = lambda: record(lambda: make(mode="q" if last else "w"))
cases["hint"] = lambda: record(lambda: make(hints={"method": "direct"} if last else None))
@case
def nothing_is_left():
    comm.Barrier()
    record(lambda: " ".join(n for n in sorted(os.listdir()) if n.endswith(".nc")))
@case
def creates():
    with make("a.nc") as ds:
        ds.create("u", (4,), "f8", ("x",))
        comm.Barrier()
        before = open("a.nc", "rb").read()
        for by_last in ({"name": "w"}, {"shape": (5,)}, {"dtype": "f4"}, {"dims": ("z",)}, {"chunks": 2}, {"compressors": "gzip"},
                        {"attributes": {"a": 1}}, {"fill_value": 3}):
            record(lambda: ds.create(**{"name": "v", "shape": (4,), "dtype": "f8", "dims": ("x",), **(by_last if last else {})}))
        record(lambda: ds.create("v", (4,), object if last else "f8", ("x",)))
        record(lambda: ds.create("v", (4,), "f8", ("x",)) if last else ds.attrs.update(a=1))
        record(lambda: ds.attrs.update(a=int(last)))
        comm.Barrier()
        record(lambda: open("a.nc", "rb").read() == before and list(ds) == ["u"])
@case
def variables():
    with make("b.nc") as ds:
        for name in "uv":
            ds.create(name, (None, 4), "f8", ("t", "x"))
        record(lambda: ds["v" if last else "u"].read(...))
        record(lambda: ds["u"].__setitem__(0 if last else 1, 1))
        record(lambda: ds["u"].__setitem__(None if last else 0, 1))
        record(lambda: ds["u"].__setitem__((0, slice(0, 0) if last else rank), rank))
        record(lambda: str(ds["u"][...].tolist()))
        record(lambda: ds.create("w", (1,), "f8", ("y",)) if last else ds.close())
@case
def groups():
    record(lambda: make("a.zarr", attributes={"a": int(last)}))
    with make("a.zarr") as ds:
        for by_last in ({"name": "w"}, {"shape": (5,)}, {"dims": ("z",)}, {"compressors": "gzip"}, {"dtype": object}):
            record(lambda: ds.create(**{"name": "v", "shape": (4,), "dtype": "f8", "dims": ("x",), **(by_last if last else {})}))
        record(lambda: ds.attrs.update(a=int(last)))
        record(lambda: str(sorted(os.listdir("a.zarr"))))
@case
def rights():
    if rank == 0:
        with h5py.File("old.nc", "w") as file:
            file["old"] = np.full(5, 7.0)
        os.chmod(".", 0o755)
        os.chmod("old.nc", 0o600)
    comm.Barrier()
    if last:
        os.seteuid(65534)
    for mode in ("w", "r+"):
        record(lambda: make("old.nc", mode))
    os.seteuid(0)
    comm.Barrier()
    record(lambda: h5py.File("old.nc")["old"][()].tolist() == [7] * 5)
"""


@pytest.fixture(scope="module")
def different(tmp_path_factory):
    script = DIFFERENT if os.geteuid() == 0 else DIFFERENT.replace("@case\ndef rights", "def rights")
    return case_outcomes(tmp_path_factory.mktemp("different"), script)[0]


@pytest.mark.parametrize("name,kinds", [
    *((name, ["DisagreementError"]) for name in ("path", "mode", "container", "attributes", "hint")),
    ("bad attributes", ["ArgumentError"]), ("bad mode", ["ArgumentError"]), ("nothing_is_left", [""]),
    ("creates", ["DisagreementError"] * 8 + ["ArgumentError", "DisagreementError", "DisagreementError", ""]),
    ("groups", ["DisagreementError"] * 5 + ["ArgumentError", "DisagreementError", ""]),
    ("variables", ["DisagreementError", "DisagreementError", "DisagreementError", "", "", "DisagreementError"])])
def test_ranks_that_differ(different, name, kinds):
    told = different[name]
    assert told[0] == told[1] == told[2] and [kind for kind, _ in told[0]] == kinds, told


def test_what_differing_ranks_leave(different):
    assert different["nothing_is_left"][0] == [["", ""]] and different["creates"][0][-1] == ["", True]
    assert different["groups"][0][-1][1] == "['zarr.json']"
    assert different["variables"][0][4][1] == str([[0.0, 1.0, 0.0, 0.0]])


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to take a right away from a rank")
def test_a_rank_without_rights(different):
    told = different["rights"]
    assert told[0] == told[1] == told[2] and all("Permission denied" in words for _, words in told[0][:2]) and told[0][2] == ["", True], told
