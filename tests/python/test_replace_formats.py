"""replace=True of HDF5, netCDF-4 and Zarr: the old file or folder stays until all ranks have closed the new one."""

import os
import subprocess
import sys
import time

import numpy as np
import penstock as ps
import pytest

from conftest import kill_at_some_time
from scripts import HEAD

pytest.importorskip("h5netcdf")
NAMES = ("f.h5", "f.nc", "f.zarr", "chunks.h5")
RANKS = (1, 3)
START = HEAD + """
d = ps.distribute((12, 8), comm)
def mine(value):
    return np.full(d.section.shape, float(value))
def how(name):
    return {"dataset": "u", "dims": ("y", "x")} if name.endswith((".h5", ".nc")) else {"dims": ("y", "x")}
def opened(name, replace=True, **more):
    chunks = {"chunks": (4, 8), "compressors": "gzip"} if name.startswith("chunks") else {}
    given = {"shape": (12, 8), "dtype": "f8", **how(name), **chunks, **more}
    return ps.open(name, "w", comm=comm, replace=replace, **given)
def put(name, value, replace=False):
    with opened(name, replace) as f:
        f.write(mine(value), d)
        f.attrs["value"] = value
def dataset(name, value, replace=True, fails=False):
    with ps.open_dataset(name, "w", comm=comm, replace=replace, attributes={"value": value}) as ds:
        v = ds.create("u", (None, 12, 8), "f8", dims=("t", "y", "x"))
        ds.create("y", (12,), "f8", dims=("y",))[:] = value
        for step in range(2):
            v[step, d.section] = mine(value)
        if fails and rank == size - 1:
            raise KeyError("the program's own")
def found(name):
    comm.Barrier()
    with ps.open(name, comm=comm, **({"dataset": "u"} if "z" not in name else {})) as f:
        whole, value = f[...], int(np.ravel(f.attrs["value"])[0])
    comm.Barrier()
    assert set(whole.flat) == {float(value)}, (value, whole)
    return value
def in_dataset(name):
    comm.Barrier()
    with ps.open_dataset(name, comm=comm) as ds:
        value = int(np.ravel(ds.attrs["value"])[0])
        assert set(ds["u"][...].flat) == set(ds["y"][...].flat) == {float(value)} and ds["u"].shape == (2, 12, 8)
    comm.Barrier()
    return value
def left():
    comm.Barrier()
    names = sorted(name for name in os.listdir(".") if "penstock-" in name)
    comm.Barrier()
    return names
"""


def leftovers(folder):
    return sorted(name for name in os.listdir(folder) if "penstock-" in name)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("ranks", RANKS)
def test_the_old_one_is_whole_until_close(mpirun, name, ranks):
    mpirun(START + f"""
name = {name!r}
put(name, 1)
for wait in (True, False):
    old = found(name)
    f = opened(name)
    assert (f.path, f.mode, f.replace) == (name, "w", True) and f.shape == (12, 8) and f.dims == ("y", "x")
    f.write(mine(old + 1), d)
    f.attrs["value"] = old + 1
    f.sync()
    assert (f[...] == old + 1).all() and found(name) == old and left()
    if wait:
        f.close()
        f.close()
    else:
        h = f.close(wait=False)
        assert f.closed and found(name) == old
        h.wait()
    assert found(name) == old + 1 and not left(), left()
put("new" + name, 4, replace=True)
assert found("new" + name) == 4 and not left()
ps.save(name, mine(7), d, replace=True, dataset=None if "z" in name else "u")
with ps.open(name, comm=comm) as f:
    assert (f[...] == 7).all() and "value" not in f.attrs
""", ranks)


@pytest.mark.parametrize("name", NAMES[:3])
@pytest.mark.parametrize("ranks", RANKS)
def test_files_of_several_variables(mpirun, name, ranks):
    mpirun(START + f"""
name = {name!r}
dataset(name, 1, replace=False)
dataset(name, 2)
assert in_dataset(name) == 2 and not left()
with ps.open_dataset(name, "w", comm=comm, replace=True) as ds:
    ds.create("v", (3,), "i4", dims=("x",))[...] = 5
    ds.sync()
    assert ds.path == name and in_dataset(name) == 2 and left()
with ps.open_dataset(name, comm=comm) as ds:
    assert list(ds) == ["v"] and (ds["v"][...] == 5).all()
assert not left()
dataset("new" + name, 3)
assert in_dataset("new" + name) == 3 and not left()
""", ranks)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("ranks", RANKS)
def test_an_exception_keeps_the_old_one(mpirun, name, ranks):
    output = mpirun(START + f"""
name = {name!r}
put(name, 1)
def failing(kind, begin):
    try:
        begin()
    except KeyError as error:
        assert "left as it was" in "".join(getattr(error, "__notes__", ["left as it was"])), error.__notes__
    except ps.Error as error:
        assert "left as it was" in str(error) or "abandoned" in str(error) or "gone" in str(error), error
def one():
    with opened(name) as f:
        f.write(mine(2), d)
        if rank == size - 1:
            raise KeyError("the program's own")
failing(KeyError, one)
assert found(name) == 1
put(name, 3, replace=True)  # of Zarr a rank may have written after rank 0 had removed all
assert found(name) == 3 and not left(), left()
if "chunks" not in name:
    comm.Barrier()
    if rank == 0:
        import shutil
        shutil.rmtree(name) if os.path.isdir(name) else os.remove(name)
    comm.Barrier()
    dataset(name, 1, replace=False)
    failing(KeyError, lambda: dataset(name, 2, fails=True))
    assert in_dataset(name) == 1
    dataset(name, 3)
    assert in_dataset(name) == 3 and not left(), left()
print("kept")
""", ranks)
    assert "kept" in output


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("fault", ["write@*=EIO", "sync@*=EIO"])
@pytest.mark.parametrize("ranks", RANKS)
def test_storage_that_fails_keeps_the_old_one(mpirun, name, fault, ranks):
    mpirun(START + f"""
name, fault = {name!r}, {fault!r}
put(name, 1)
def run():
    with_fault = {{"device": f"fault:{{fault}},rank=0", "active_buffer_size": 0, "aggregators": 1}}
    f = opened(name, hints=with_fault)
    for _ in range(2):
        try:
            f.write(mine(2), d)
        except ps.StorageError:  # a program that goes on all the same
            pass
    f.close()
error = same(ps.StorageError, "left as it was before it was opened", run)
assert error.errno == errno.EIO, error.errno
assert found(name) == 1 and not left(), left()
put(name, 5, replace=True)
assert found(name) == 5
""", ranks)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("ranks, rank", [pytest.param(1, 0, marks=pytest.mark.slow), (3, 0), (3, 2)])
def test_a_rank_that_is_killed_before_close(mpirun, tmp_path, name, ranks, rank):
    mpirun(START + f"""
put({name!r}, 1)
f = opened({name!r})
f.write(mine(2), d)
f.sync()
if rank == {rank}:
    os.kill(os.getpid(), signal.SIGKILL)
f.close()
print("nobody was killed")
""", ranks, expect=None)
    assert leftovers(tmp_path)
    output = mpirun(START + f"""
assert found({name!r}) == 1
put({name!r}, 3, replace=True)
assert found({name!r}) == 3 and not left(), left()
print("replaced")
""", ranks)
    assert "replaced" in output


LOOP = START + """
name = sys.argv[1]
with open(f"pid.{rank}", "w") as file:
    file.write(str(os.getpid()))
for generation in range(1, 10**9):
    put(name, generation, replace=True)
    if rank == 0:
        with open("done", "w") as file:
            file.write(str(generation))
"""


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("ranks, one", [pytest.param(1, True, marks=pytest.mark.slow), (3, True),
                                        pytest.param(3, False, marks=pytest.mark.slow)])
def test_a_program_that_is_killed_at_any_time(tmp_path, name, ranks, one):
    (tmp_path / "loop.py").write_text(LOOP)
    for _ in range(3):
        kill_at_some_time(tmp_path, ["loop.py", name], ranks, one)
        with ps.open(tmp_path / name) as f:
            assert (f[...] == np.ravel(f.attrs["value"])[0]).all() and f[0, 0] > 0
    deadline = time.monotonic() + 20
    told = {} if "z" in name else {"dataset": "u"}
    ps.save(tmp_path / name, np.zeros(3), replace=True, **told)
    while leftovers(tmp_path) and time.monotonic() < deadline:  # until killed ranks are gone, they have their lock
        time.sleep(0.1)
        ps.save(tmp_path / name, np.zeros(3), replace=True, **told)
    assert not leftovers(tmp_path) and (ps.load(tmp_path / name) == 0).all()


def test_links_permissions_and_folders_of_others(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    for name in ("f.h5", "f.zarr"):
        real, link = tmp_path / "elsewhere" / name, tmp_path / name
        ps.save(real, np.zeros(3))
        os.chmod(real, 0o750 if real.is_dir() else 0o640)
        link.symlink_to(f"elsewhere/{name}")
        mode = real.stat().st_mode
        ps.save(link, np.ones(3), replace=True)
        assert link.is_symlink() and real.stat().st_mode == mode and (ps.load(real) == 1).all()
    victim = tmp_path / "elsewhere" / "f.zarr"
    (victim / "notes.txt").write_text("of somebody")
    with pytest.raises(ps.FormatError, match="holds notes.txt.*would be lost"):
        ps.save(victim, np.zeros(3), replace=True)
    (tmp_path / "other.zarr").mkdir()
    (tmp_path / "other.zarr" / "a").write_text("")
    for call in (lambda path: ps.save(path, np.zeros(3), replace=True), lambda path: ps.open_dataset(path, "w", replace=True)):
        with pytest.raises(ps.FormatError, match="no Zarr array|not a Zarr group"):
            call(tmp_path / "other.zarr")
    assert (victim / "notes.txt").exists() and not leftovers(tmp_path) and not leftovers(tmp_path / "elsewhere")


def test_a_file_system_that_does_not_exchange_folders(tmp_path):
    """As the kernel has it where a filter lets renameat2 fail, in a process of its own."""
    ps.save(tmp_path / "f.zarr", np.ones(3))
    script = """
import ctypes, platform, struct, numpy as np, penstock as ps
renameat2 = {"x86_64": 316, "aarch64": 276}[platform.machine()]
steps = b"".join(struct.pack("HBBI", *step) for step in (
    (0x20, 0, 0, 0), (0x15, 0, 1, renameat2), (6, 0, 0, 0x50000 | 22), (6, 0, 0, 0x7FFF0000)))
memory = ctypes.create_string_buffer(steps)
class Program(ctypes.Structure):
    _fields_ = [("count", ctypes.c_ushort), ("steps", ctypes.c_void_p)]
call = ctypes.CDLL(None, use_errno=True).prctl
assert call(38, 1, 0, 0, 0) == 0 and call(22, 2, ctypes.byref(Program(4, ctypes.addressof(memory)))) == 0
try:
    ps.save("f.zarr", np.zeros(3), replace=True)
except ps.StorageError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert "cannot be replaced in one step" in done.stdout, done
    assert (ps.load(tmp_path / "f.zarr") == 1).all() and not leftovers(tmp_path)


@pytest.mark.parametrize("ranks", RANKS)
def test_what_is_refused_is_refused_on_all_ranks(mpirun, ranks):
    mpirun(START + """
for name in ("f.h5", "f.nc", "f.zarr"):
    put(name, 1)
    for mode in ("r", "r+", "x"):
        same(ps.ArgumentError, "replace=True is for mode 'w'", lambda: ps.open_dataset(name, mode, comm=comm, replace=True))
    same(ps.ArgumentError, "neither True nor False", lambda: ps.open_dataset(name, "w", comm=comm, replace="yes"))
    same(ps.ArgumentError, "dtype <U3|dtype '<U3'", lambda: opened(name, dtype="U3"))
    same(ps.StorageError, "make its folder first|No such file", lambda: opened("nowhere/" + name))
    if size > 1:
        same(ps.DisagreementError, "mode|in different calls", lambda: opened(name, replace=rank == 0))
        same(ps.DisagreementError, "mode|in different calls",
             lambda: ps.open_dataset(name, "w", comm=comm, replace=rank == 0))
        same(ps.DisagreementError, "shape", lambda: opened(name, shape=(12, 8 + rank)))
        same(ps.ArgumentError, "dims|neither", lambda: opened(name, replace="yes" if rank == 1 else True))
    assert found(name) == 1 and not left(), left()
if rank == 0:
    os.mkdir("folder.h5")
comm.Barrier()
same(ps.StorageError, "folder|Is a directory", lambda: opened("folder.h5"))
""", ranks)
