"""Modes "x", which makes a new file only, and "a", which is "r+" or "x" by what rank 0 finds."""

import numpy as np
import penstock as ps
import pytest

from scripts import HEAD

KINDS = {"raw": ("f.raw", {"dtype": "i4", "shape": (6, 4)}), "npy": ("f.npy", {"dtype": "i4", "shape": (6, 4)}),
         "zarr": ("f.zarr", {"dtype": "i4", "shape": (6, 4), "chunks": (2, 4)}),
         "hdf5": ("f.h5", {"dtype": "i4", "shape": (6, 4), "dataset": "/u"}),
         "hdf5 in chunks": ("c.h5", {"dtype": "i4", "shape": (None, 4), "dataset": "/u", "compressors": "gzip"}),
         "netcdf": ("f.nc", {"dtype": "i4", "shape": (6, 4), "dataset": "/u", "dims": ("y", "x")}),
         "fields": ("f.bin", {"fields": [("u", (6, 4), "i4")]})}
START = HEAD + f"kinds = {KINDS!r}" + """
def opens(kind, mode, **more):
    name, how = kinds[kind]
    return ps.open(name, mode, comm=comm, **{**how, **more})
"""


def opens(kind, path, mode, **more):
    name, how = KINDS[kind]
    return ps.open(path / name, mode, **{**how, **more})


def fill(f, kind):
    block = np.arange(24, dtype="i4").reshape(6, 4)
    if KINDS[kind][1].get("shape", (6,))[0] is None:
        for row in block:
            f.append(row)
    else:
        (f["u"] if kind == "fields" else f)[...] = block


def content(f, kind):
    return (f["u"] if kind == "fields" else f)[...].tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_x_makes_a_new_file_only(tmp_path, kind):
    with opens(kind, tmp_path, "x") as f:
        assert f.mode == "w"
        fill(f, kind)
    with pytest.raises(ps.FileExistsError, match=KINDS[kind][0]) as refused:
        opens(kind, tmp_path, "x")
    assert isinstance(refused.value, FileExistsError) and isinstance(refused.value, ps.StorageError)
    how = {"fields": KINDS[kind][1]["fields"]} if kind == "fields" else {}
    if kind == "raw":
        how = KINDS[kind][1]
    with ps.open(tmp_path / KINDS[kind][0], **how) as f:
        assert content(f, kind) == np.arange(24).reshape(6, 4).tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_a_goes_on_with_what_is_there(tmp_path, kind):
    with opens(kind, tmp_path, "a") as f:
        assert f.mode == "w"
        fill(f, kind)
    with opens(kind, tmp_path, "a") as f:
        assert f.mode == "r+"
        assert content(f, kind) == np.arange(24).reshape(6, 4).tolist()


def test_ranks_make_it_once_and_hear_of_one_that_is_there(mpirun):
    output = mpirun(START + """
for kind, (name, how) in kinds.items():
    opens(kind, "x").close()
    same(ps.FileExistsError, name, lambda: opens(kind, "x"))
    with opens(kind, "a") as f:
        assert f.mode == "r+"
    comm.Barrier()
    print("done", kind) if rank == 0 else None
""", 3)
    assert output.count("done") == len(KINDS), output


def test_ranks_with_other_modes_and_arguments_make_nothing(mpirun, tmp_path):
    output = mpirun(START + """
for kind in kinds:
    same(ps.DisagreementError, "on mode: rank 0 passed x, rank 1 passed a", lambda: opens(kind, "a" if rank else "x"))
    same(ps.DisagreementError, "on mode: rank 0 passed r", lambda: opens(kind, "a" if rank else "r+"))
    same(ps.ArgumentError, "hint|bytes", lambda: opens(kind, "a", hints={"buffer_size": "x" if rank == 1 else "1M"}))
    for mode in ("x", "a"):
        same(ps.FileNotFoundError, "none", lambda: ps.open("none/f.raw", mode, shape=3, dtype="i4", comm=comm))
assert os.listdir(".") == ["script.py"], os.listdir(".")
comm.Barrier()
print("done") if rank == 0 else None
""", 3)
    assert "done" in output, output


def test_a_link_that_leads_nowhere_is_no_new_file(tmp_path):
    (tmp_path / "f.raw").symlink_to("nowhere")
    for mode in ("x", "a"):
        with pytest.raises(ps.FileExistsError, match="f.raw"):
            ps.open(tmp_path / "f.raw", mode, shape=3, dtype="i4")
    assert not (tmp_path / "nowhere").exists()


def test_an_array_larger_than_memory_too(tmp_path):
    with ps.OutOfCoreArray(tmp_path / "u.npy", "a", (8, 8), "f8", memory="256K") as u:
        u.file[...] = np.ones((8, 8))
    with ps.OutOfCoreArray(tmp_path / "u.npy", "a", memory="256K") as u:
        assert u.file.mode == "r+" and (u.file[...] == 1).all()
    with pytest.raises(ps.FileExistsError):
        ps.OutOfCoreArray(tmp_path / "u.npy", "x", (8, 8), "f8", memory="256K")


def test_replace_is_for_w(tmp_path):
    with pytest.raises(ps.ArgumentError, match="replace=True is for mode 'w'.*'x'.*refuses"):
        ps.open(tmp_path / "f.raw", "x", shape=3, dtype="i4", replace=True)


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_file_of_several_variables(mpirun, ranks):
    output = mpirun(START + """
for name in ("d.h5", "d.nc", "d.zarr"):
    for mode, found in (("x", "w"), ("a", "r+")):
        with ps.open_dataset(name, mode, comm) as ds:
            assert ds.mode == found
            ds.create(mode, (3,), "i4", dims=("t",))[:] = np.arange(3)
    same(ps.FileExistsError, name, lambda: ps.open_dataset(name, "x", comm))
    with ps.open_dataset(name, comm=comm) as ds:
        assert sorted(ds) == ["a", "x"] and ds["x"][...].tolist() == [0, 1, 2]
with ps.open_dataset("new.nc", "a", comm) as ds:
    assert ds.mode == "w"
comm.Barrier()
print("done") if rank == 0 else None
""", ranks)
    assert "done" in output, output
