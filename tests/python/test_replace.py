"""replace=True: the old file stays unchanged until all ranks have closed the new one, whatever happens before."""

import json
import os
import stat
import subprocess
import sys
import time

import numpy as np
import penstock as ps
import pytest

from conftest import kill_at_some_time, left_over
from scripts import HEAD

RANKS = (1, 3, 4)
KINDS = {"npy": ("f.npy", {}), "raw": ("f.raw", {}), "offset": ("f.raw", {"offset": 40})}
START = HEAD + """
def put(generation, name="f.npy", **how):  # as another program does
    if rank == 0:
        ps.save(name, np.full((12, 8), float(generation)), comm=MPI.COMM_SELF)
        with ps.open(name, "r+", comm=MPI.COMM_SELF) as f:
            f.attrs["generation"] = generation
    comm.Barrier()
def found(name="f.npy"):
    comm.Barrier()
    with ps.open(name, comm=comm) as f:
        whole, attrs = f[...], dict(f.attrs)
    values = set(whole.flat)
    assert len(values) == 1, values
    value = values.pop()
    assert attrs in ({"generation": value}, {}), (attrs, value)
    return value
def left():
    comm.Barrier()
    names = sorted(name for name in os.listdir(".") if ".penstock-" in name or ".attrs.json." in name)
    comm.Barrier()
    return names
def opened(name="f.npy", **how):
    return ps.open(name, "w", **{"shape": (12, 8), "dtype": "f8", "comm": comm, "replace": True, **how})
d = ps.distribute((12, 8), comm)
def mine(value):
    return np.full(d.section.shape, float(value))
"""


def leftovers(folder):
    return sorted(name for name in os.listdir(folder) if ".penstock-" in name or ".attrs.json." in name)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("storage", ["auto", "direct", "uring"])
def test_the_old_file_is_whole_until_close(tmp_path, kind, storage):
    name, how = KINDS[kind]
    path, how = tmp_path / name, {"shape": (4, 3), "dtype": "i4", **how}
    ps.open(path, "w", **how).close()
    old, inode = path.read_bytes(), path.stat().st_ino
    with ps.open(path, "w", replace=True, hints={"storage": storage}, **how) as f:
        assert (f.mode, f.replace, f.path) == ("w", True, str(path)) and "'w'" in repr(f)
        f[...] = 7
        f.sync()
        assert (f[...] == 7).all() and path.read_bytes() == old and len(leftovers(tmp_path)) == 1
    assert not leftovers(tmp_path) and path.stat().st_ino != inode
    with ps.open(path, **how) as f:
        assert (f[...] == 7).all() and not f.replace
    assert len(path.read_bytes()) == len(old)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("wait", [True, False])
@pytest.mark.parametrize("budget", [0, 64 << 20])
def test_ranks_replace_together(mpirun, ranks, wait, budget):
    mpirun(START + f"""
put(1)
f = opened(hints={{"active_buffer_size": {budget}}})
f.write(mine(2), d)
h = f.write_begin(mine(2), d)
f.attrs["generation"] = 2
assert f[0, 0] == 2 and f.attrs["generation"] == 2 and found() == 1
if {wait}:
    f.close()
else:
    h.wait()
    pending = f.close(wait=False)
    assert f.closed and np.load("f.npy")[0, 0] == 1
    comm.Barrier()
    pending.wait()
assert found() == 2 and left() == []
with opened() as f:  # no attributes of the file before
    f.write(mine(3), d)
assert found() == 3 and not os.path.exists("f.npy.attrs.json")
with opened("new.npy") as f:
    assert not os.path.exists("new.npy")
    comm.Barrier()
    f.write(mine(4), d)
assert found("new.npy") == 4 and left() == []
""", ranks)


@pytest.mark.parametrize("ranks", RANKS)
def test_fields_and_arrays_that_grow(mpirun, ranks):
    mpirun(START + """
fields = [("a", (12, 8), "f4"), ("b", 3, "i8")]
for generation in (1, 2):
    with ps.open("f.dat", "w", fields=fields, comm=comm, replace=True) as f:
        assert (f.mode, f.replace) == ("w", True)
        f["a"].write(mine(generation), d)
        f["b"].write(np.full(3, generation), ...)
        comm.Barrier()
        assert generation == 1 or set(np.fromfile("f.dat", "f4", 96)) == {1.0}
    comm.Barrier()
    assert set(np.fromfile("f.dat", "f4", 96)) == {float(generation)} and os.path.getsize("f.dat") == 96 * 4 + 24
    comm.Barrier()
put(1, "g.npy")
with ps.open("g.npy", "w", shape=(None, 12, 8), dtype="f8", comm=comm, replace=True) as f:
    for step in range(3):
        f.append(mine(step), d)
    f.sync()
    assert found("g.npy") == 1
comm.Barrier()
assert [set(step.flat) for step in np.load("g.npy")] == [{0.0}, {1.0}, {2.0}] and left() == []
""", ranks)


@pytest.mark.parametrize("who", ["all", "last"])
@pytest.mark.parametrize("ranks", RANKS)
def test_an_exception_keeps_the_old_file(mpirun, tmp_path, ranks, who):
    mpirun(START + f"""
put(1)
try:
    with opened() as f:
        f.write(mine(2), d)
        f.attrs["generation"] = 2
        if {who == 'all'} or rank == size - 1:
            raise KeyError("the program's own")
except KeyError as error:
    notes = getattr(error, "__notes__", ["left as it was"])
    assert "left as it was" in notes[-1], notes
except ps.Error as error:  # of close, where another rank does not come
    assert "left as it was" in str(error), error
assert found() == 1 and left() == []
""", ranks)


def test_a_file_that_is_never_closed_says_so(tmp_path):
    ps.save(tmp_path / "f.npy", np.zeros(3))
    script = """
import numpy as np, penstock as ps
f = ps.open("f.npy", "w", shape=3, dtype="f8", replace=True)
f[...] = 1
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert "'f.npy' is left as it was before it was opened" in done.stderr and done.returncode == 0
    assert np.load(tmp_path / "f.npy")[0] == 0 and not leftovers(tmp_path)


@pytest.mark.parametrize("budget", [0, 64 << 20])
@pytest.mark.parametrize("fault", ["write@*=EIO", "sync@*=EIO", "write@1=ENOSPC", "resize@0=ENOSPC"])
@pytest.mark.parametrize("ranks", [1, 3])
def test_storage_that_fails_keeps_the_old_file(mpirun, ranks, fault, budget):
    mpirun(START + f"""
put(1)
for failing in range(size):
    calls = []
    def run():
        device = "fault:{fault},rank=" + str(failing)
        f = opened(hints={{"device": device, "active_buffer_size": {budget}, "method": "direct"}})
        for _ in range(2):
            try:
                f.write(mine(2), d)
            except ps.StorageError as error:  # a program that goes on all the same
                calls.append(str(error))
        f.close()
    if failing and ("resize" in "{fault}" or "@1" in "{fault}" and {budget}):
        continue  # calls of rank 0, or that are not made then
    error = same(ps.StorageError, "No space|Input/output", run)
    assert error.errno in (errno.EIO, errno.ENOSPC), error
    if not ("resize" in "{fault}" or failing == 0 and "write@*" in "{fault}"):  # these fail at open
        assert "'f.npy' is left as it was before it was opened" in str(error), error
    assert found() == 1 and left() == []
with opened() as f:
    f.write(mine(5), d)
assert found() == 5
""", ranks)


@pytest.mark.parametrize("stage", ["resize@0", "write@0", "write@1", "sync@0"])
@pytest.mark.parametrize("ranks, rank", [(1, 0), (3, 0), (3, 2)])
def test_a_rank_that_is_killed_at_each_stage(mpirun, tmp_path, ranks, rank, stage):
    """The old file is there, with its attributes; leftovers are removed by the next replacement."""
    if rank and stage in ("resize@0", "write@1"):
        pytest.skip("this rank does not get there")
    mpirun(START + f"""
put(1)
f = opened(hints={{"device": "fault:{stage}=kill,rank={rank}", "active_buffer_size": 0, "method": "direct"}})
f.write(mine(2), d)
f.attrs["generation"] = 2
f.close()
print("nobody was killed")
""", ranks, expect=None)
    assert len(leftovers(tmp_path)) == 1
    output = mpirun(START + """
assert found() == 1
with opened() as f:
    comm.Barrier()
    assert len(left()) == 1  # its own
    f.write(mine(3), d)
assert found() == 3 and left() == []
print("replaced")
""", ranks)
    assert "replaced" in output


LOOP = START + """
if rank == 0:
    open("pids", "w").close()
comm.Barrier()
with open(f"pid.{rank}", "w") as file:
    file.write(str(os.getpid()))
for generation in range(1, 10**9):
    with opened() as f:
        f.write(mine(generation), d)
        f.attrs["generation"] = generation
    if rank == 0:
        with open("done", "w") as file:
            file.write(str(generation))
"""


@pytest.mark.parametrize("ranks, one", [(1, True), (3, True), (3, False)])
def test_a_program_that_is_killed_at_any_time(tmp_path, ranks, one):
    (tmp_path / "loop.py").write_text(LOOP)
    for _ in range(6):
        kill_at_some_time(tmp_path, ["loop.py"], ranks, one)
        whole = np.load(tmp_path / "f.npy")
        with ps.open(tmp_path / "f.npy") as f:
            assert (f[...] == f[0, 0]).all() and f.attrs["generation"] == f[0, 0] == whole[0, 0]
    ps.save(tmp_path / "f.npy", np.zeros(3), replace=True)
    deadline = time.monotonic() + 20
    while leftovers(tmp_path) and time.monotonic() < deadline:  # until killed ranks are gone, they have their lock
        time.sleep(0.1)
        ps.save(tmp_path / "f.npy", np.zeros(3), replace=True)
    assert not leftovers(tmp_path) and not (tmp_path / "f.npy.attrs.json").exists()


def test_a_crash_between_the_file_and_its_attributes(tmp_path):
    """The record that was prepared counts once the file has its inode."""
    path = tmp_path / "f.npy"
    ps.save(path, np.zeros(3))
    with ps.open(path, "r+") as f:
        f.attrs["old"] = 1
    prepared = tmp_path / f"f.npy.attrs.json.{path.stat().st_ino}"
    other = tmp_path / f"f.npy.attrs.json.{path.stat().st_ino + 1}"
    other.write_text(json.dumps({"another": "file"}))
    prepared.write_text(json.dumps({"new": 2}))
    with ps.open(path) as f:
        assert f.attrs == {"new": 2} and prepared.exists()
    with ps.open(path, "r+") as f:
        f.attrs["more"] = 3
        assert not prepared.exists()
    with ps.open(path) as f:
        assert f.attrs == {"new": 2, "more": 3}
    prepared.write_text("")  # the new file has none
    with ps.open(path) as f:
        assert f.attrs == {}
    ps.save(path, np.zeros(3), replace=True)
    assert not prepared.exists() and not (tmp_path / "f.npy.attrs.json").exists()


def test_permissions_links_and_leftovers(tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    real, link, hard = folder / "real.npy", tmp_path / "link.npy", tmp_path / "hard.npy"
    ps.save(real, np.zeros(3))
    os.chmod(real, 0o640)
    link.symlink_to("elsewhere/real.npy")
    os.link(real, hard)
    stale = left_over(real)
    others = [folder / (stale.name + "3"), folder / stale.name.replace("real", "another")]
    for other in others:
        other.write_text("not its own")
    with ps.open(link, "w", shape=3, dtype="f8", replace=True) as first:
        assert not stale.exists()
        ps.save(link, np.full(3, 2.0), replace=True)  # somebody else's does not take it for a leftover
        first[...] = 1
    assert link.is_symlink() and np.load(real)[0] == 1 and np.load(hard)[0] == 0
    assert stat.S_IMODE(real.stat().st_mode) == 0o640 and all(other.exists() for other in others)
    old_mask = os.umask(0o027)
    try:
        ps.save(tmp_path / "fresh.npy", np.zeros(3), replace=True)
    finally:
        os.umask(old_mask)
    assert stat.S_IMODE((tmp_path / "fresh.npy").stat().st_mode) == 0o640
    (tmp_path / "dangling.npy").symlink_to("elsewhere/made.npy")
    ps.save(tmp_path / "dangling.npy", np.ones(3), replace=True)
    assert (tmp_path / "dangling.npy").is_symlink() and np.load(folder / "made.npy")[0] == 1


def test_what_is_left_of_new_attributes_goes_where_none_are_written(tmp_path):
    record = tmp_path / left_over(tmp_path / "f.npy").name.replace("f.npy", "f.npy.attrs.json")
    record.write_text("of a program that was killed")
    ps.save(tmp_path / "f.npy", np.zeros(3), replace=True)
    assert os.listdir(tmp_path) == ["f.npy"]


def test_no_link_is_followed_beside_the_file(tmp_path):
    path, victim = tmp_path / "f.npy", tmp_path / "victim"
    victim.write_text("precious")
    with ps.open(path, "w", shape=3, dtype="f8", replace=True) as f:
        (new,) = leftovers(tmp_path)
        os.symlink(victim, f"{path}.attrs.json.{(tmp_path / new).stat().st_ino}")
        f.attrs["a"] = 1
    assert victim.read_text() == "precious" and not leftovers(tmp_path)
    with ps.open(path) as f:
        assert f.attrs == {"a": 1}


def test_a_forked_child_removes_nothing(tmp_path):
    child = """
import os, sys, numpy as np, penstock as ps
f = ps.open("f.npy", "w", shape=3, dtype="f8", replace=True)
f[...] = 1
pid = os.fork()
if pid == 0:
    f = None
    sys.exit(0)
os.waitpid(pid, 0)
f.close()
assert np.load("f.npy")[0] == 1
"""
    subprocess.run([sys.executable, "-c", child], cwd=tmp_path, check=True, timeout=60)


@pytest.mark.parametrize("ranks", RANKS)
def test_what_is_refused_is_refused_on_all_ranks(mpirun, ranks):
    mpirun(START + """
put(1)
for mode in ("r", "r+", "a", "replace"):
    same(ps.ArgumentError, "replace|mode 'a'", lambda: ps.open("f.npy", mode, shape=(12, 8), dtype="f8", comm=comm, replace=True))
same(ps.ArgumentError, "neither True nor False", lambda: opened(replace="yes"))
same(ps.ArgumentError, "replace=True is for mode 'w'",
     lambda: ps.open("f.dat", "r+", fields=[("a", 3, "f8")], comm=comm, replace=True))
same(ps.StorageError, "make its folder first", lambda: opened("nowhere/f.npy"))
if rank == 0:
    os.makedirs("folder", exist_ok=True)
comm.Barrier()
same(ps.StorageError, "this is a folder", lambda: opened("folder"))
same(ps.StorageError, "is a device, which no file can replace", lambda: opened("/dev/null", container="raw"))
if size > 1:
    same(ps.DisagreementError, "mode", lambda: opened(replace=rank == 0))
assert found() == 1 and left() == []
""", ranks)


@pytest.mark.parametrize("there", [True, False])
def test_a_folder_without_write_permission(tmp_path, there):
    folder = tmp_path / "closed"
    folder.mkdir()
    if there:
        ps.save(folder / "f.npy", np.zeros(3))
        os.chmod(folder / "f.npy", 0o666)
    os.chmod(tmp_path, 0o755)
    os.chmod(folder, 0o555)
    script = """
import os, sys, numpy as np, penstock as ps
if os.getuid() == 0:
    os.seteuid(65534)
try:
    ps.open(sys.argv[1], "w", shape=3, dtype="f8", replace=True)
except ps.StorageError as error:
    print(error)
"""
    for parent in tmp_path.parents:  # pytest's folders are for their user alone
        if parent.stat().st_uid == os.getuid() and parent.name.startswith("pytest"):
            os.chmod(parent, 0o755)
    output = subprocess.run([sys.executable, "-c", script, folder / "f.npy"], cwd="/", capture_output=True, text=True,
                            timeout=60).stdout
    os.chmod(folder, 0o755)
    assert "Permission denied" in output and "replace makes a new file in its folder" in output
    assert sorted(os.listdir(folder)) == (["f.npy"] if there else [])
