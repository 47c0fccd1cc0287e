"""Page caches that do not agree: each rank has a mount of its own, as each host has of NFS, FUSE or SMB."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import run_once

from penstock._launch import environment, find_mpiexec

OWN_CACHE = Path(__file__).resolve().parents[1] / "support" / "own_cache.sh"
LOCAL_LOCKS = "--no-allow-other"  # any option: locks are not forwarded then

MODEL = (Path(__file__).resolve().parents[1] / "support" / "cache_model.py").read_text()


@pytest.fixture
def own_caches(tmp_path):
    """own_caches(program, ranks, words...): runs it; each rank has tmp_path/back at tmp_path/m."""
    if os.geteuid() != 0 or not os.path.exists("/dev/fuse") or not shutil.which("bindfs"):
        pytest.skip("needs root, /dev/fuse and bindfs")
    for name in ("back", "m"):
        (tmp_path / name).mkdir()
    trial = subprocess.run([OWN_CACHE, "true"], env={**environment(), "CACHES": str(tmp_path)}, timeout=60)
    if trial.returncode != 0:
        pytest.skip("FUSE file systems cannot be mounted here")

    def run(program, ranks, *words, options="", before=()):
        (tmp_path / "program.py").write_text(program)
        variables = [f"CACHES={tmp_path}", *([f"CACHE_OPTIONS={options}"] if options else [])]
        command = [*before, find_mpiexec(), "-n", str(ranks), "env", *variables, str(OWN_CACHE), sys.executable,
                   str(tmp_path / "program.py"), f"{tmp_path}/m", *words]
        status, output = run_once(tmp_path, command, 120)
        assert status == 0, output
        return output

    return run


def test_collective_calls_are_right(own_caches):
    own_caches(MODEL + """
for path in (folder, f"{folder}/new.npy"):
    place = ps.explain((8, 8), "i4", [...], nodes=2, path=path)
    assert place["file_system"]["type"] == "fuse" and not place["file_system"]["caches_agree"]
    assert place["file_system"]["locks"] and not place["file_system"]["whole_pages"], place["file_system"]
    for text in ("of its hosts do not agree (by the type)", "without a sync", "sync on both sides", "can be had (tried)"):
        assert text in place["text"], place["text"]
collective, all_methods = ["auto", "extended", "two-phase", "gather"], ["auto", "extended", "direct", "sieved"]
for seed, hints in enumerate([{}, {"ranks_per_node": 1}, {"ranks_per_node": 1, "storage": "direct"},
                              {"ranks_per_node": 2, "storage": "uring"}, {"active_buffer_size": 0}]):
    facts, device = run(f"{folder}/x{seed}.npy", seed, hints, collective)
    assert facts["type"] == "fuse" and not facts["caches_agree"] and facts["several_caches"] and facts["locks_exclude"]
    assert device in ("past the page cache", "O_DIRECT"), device
run(f"{folder}/all.npy", 11, {"ranks_per_node": 1}, all_methods)
""", 4)


def test_chunks_are_right(own_caches):
    own_caches(MODEL + """
run(f"{folder}/x.zarr", 1, {"ranks_per_node": 1}, ["auto", "extended"], chunks=(7, 9))
run(f"{folder}/y.zarr", 2, {}, ["auto"], chunks=(4, 8), shards=(16, 16))
""", 3)


def test_files_grow_and_are_replaced(own_caches):
    own_caches(MODEL + """
hints = {"ranks_per_node": 1}
name = f"{folder}/grows.npy"
f = ps.open(name, "w", shape=(None, 3 * size), dtype="i4", comm=comm, hints=hints)
for step in range(6):
    f.append(np.full(3, 100 * step + rank, "i4"), slice(3 * rank, 3 * rank + 3))
    got = f[...]
    assert got.shape == (step + 1, 3 * size), got.shape
    assert (got[:, ::3] == 100 * np.arange(step + 1)[:, None] + np.arange(size)).all(), got
    if step == 3:
        f.close()
        f = ps.open(name, "r+", shape=(None, 3 * size), dtype="i4", comm=comm, hints=hints)
f.close()
for value in (7, 8):
    with ps.open(name, "w", shape=(size, 4), dtype="i4", comm=comm, hints=hints, replace=True) as f:
        f.write(np.full((1, 4), value, "i4"), (slice(rank, rank + 1), slice(None)))
    with ps.open(name, comm=comm, hints=hints) as f:
        assert (f[...] == value).all()
""", 3)


MPI_IO = """
import sys
import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
path = sys.argv[1] + "/data"


def written(f, offset, value, count=10):
    f.Write_at(offset, np.full(count, value, "u1"))


def read(f, offset, count=10):
    got = np.full(count, 255, "u1")
    f.Read_at(offset, got)
    return got


def sync_barrier_sync(files):
    for f in files:
        f.Sync()
    comm.Barrier()
    for f in files:
        f.Sync()
"""


def test_mpi_io_is_consistent_as_the_standard_says(own_caches, tmp_path):
    """Sync, barrier, sync; with the common handle, and with a separate one per rank (MPI 4.1, section 14.6.1)."""
    output = own_caches(MPI_IO + """
f = MPI.File.Open(comm, path, MPI.MODE_CREATE | MPI.MODE_RDWR)
own = MPI.File.Open(MPI.COMM_SELF, path, MPI.MODE_RDWR)
f.Write_at_all(rank * 1000, np.full(1000, 200, "u1"))
sync_barrier_sync([f, own])
other = (rank + 1) % size
for step in range(1, 30):
    for handle in (f, own):
        read(handle, other * 10, 10), read(handle, 0, size * 1000)  # what is there now is in this rank's cache
    sync_barrier_sync([f, own])
    written(f if step % 2 else own, rank * 10 + 100 * (step % 7), step)
    sync_barrier_sync([f, own])
    for handle in (f, own):
        assert (read(handle, other * 10 + 100 * (step % 7)) == step).all(), step
    sync_barrier_sync([f, own])
# A view with holes, which other ranks write: sieved, under locks.
one = MPI.BYTE.Create_vector(200, 1, size).Create_resized(0, 200 * size)
one.Commit()
f.Set_view(rank, MPI.BYTE, one)
f.Write_at(0, np.full(200, rank, "u1"))
f.Sync(), comm.Barrier(), f.Sync()
f.Set_view(0, MPI.BYTE, MPI.BYTE)
assert (read(f, 0, 200 * size).reshape(200, size) == np.arange(size)).all()
f.Set_atomicity(True)
counter = np.zeros(1000, "u1")
for step in range(10):
    f.Write_at(3, np.full(1000, 10 * rank + step, "u1"))
    f.Read_at(3, counter)
    assert len(set(counter.tolist())) == 1, counter
own.Close()
f.Close()
""", 3, before=[sys.executable, "-m", "penstock", "run", "--report"])
    assert "file system: fuse: the page caches of its hosts do not agree, by its type; ranks have several" in output
    assert "all ranks have the same one" in output  # of each rank's own handle


def test_locks_that_keep_nobody_out_are_found_out(own_caches):
    """Then holes are not written back, and atomic mode is refused."""
    output = own_caches(MPI_IO + """
f = MPI.File.Open(comm, path, MPI.MODE_CREATE | MPI.MODE_RDWR)
one = MPI.BYTE.Create_vector(200, 1, size).Create_resized(0, 200 * size)
one.Commit()
f.Set_view(rank, MPI.BYTE, one)
for step in range(5):
    f.Write_at(0, np.full(200, rank + step, "u1"))
    f.Sync(), comm.Barrier(), f.Sync()
    whole = np.empty(200, "u1")
    f.Read_at_all(0, whole)
    assert (whole == rank + step).all()
f.Set_view(0, MPI.BYTE, MPI.BYTE)
f.Set_atomicity(True)
try:
    f.Write_at(0, np.zeros(10, "u1"))
except MPI.Exception as error:
    print("refused:", error)
else:
    raise SystemExit("atomic mode without locks")
f.Set_atomicity(False)
f.Close()
""", 2, options=LOCAL_LOCKS, before=[sys.executable, "-m", "penstock", "run", "--report"])
    assert "needs byte-range locks" in output
    assert "do not keep others out" in output


def test_ranks_with_one_cache_use_it(own_caches, tmp_path):
    """Ranks of one host with one mount: as on a local file system."""
    program = tmp_path / "one.py"
    program.write_text(MODEL + """
facts, device = run(f"{folder}/x.npy", 1, {}, ["auto"])
assert not facts["caches_agree"] and not facts["several_caches"] and device == "page cache", (facts, device)
""")
    command = ["env", f"CACHES={tmp_path}", str(OWN_CACHE), find_mpiexec(), "-n", "2", sys.executable, str(program),
               f"{tmp_path}/m"]
    status, output = run_once(tmp_path, command, 120)
    assert status == 0, output


def test_where_caches_agree_nothing_is_more(tmp_path):
    """On a local file system, the system calls that only other file systems need are not made."""
    if not shutil.which("strace"):
        pytest.skip("needs strace")
    (tmp_path / "program.py").write_text(MODEL + """
with ps.open(folder + "/type.npy", "w", shape=(1,), dtype="i4", comm=comm) as f:
    print("agree", f.file_system["caches_agree"])
run(f"{folder}/x.npy", 1, {"ranks_per_node": 1}, ["auto", "extended", "direct"])
run(f"{folder}/x.zarr", 1, {"ranks_per_node": 1}, ["auto"], chunks=(7, 9))
""")
    log = tmp_path / "calls"
    command = ["strace", "-f", "-qq", "-y", "-o", str(log), "-e", "trace=statx,fcntl,fadvise64,link,linkat,openat",
               find_mpiexec(), "-n", "2", sys.executable, str(tmp_path / "program.py"), str(tmp_path)]
    status, output = run_once(tmp_path, command, 120)
    if "not permitted" in output:
        pytest.skip("needs to trace processes")
    assert status == 0, output
    if "agree False" in output:
        pytest.skip("the caches of this file system do not agree")
    text = log.read_text()
    assert text.count("x.npy") > 10  # the log has what it should
    for more in ("AT_STATX_FORCE_SYNC", "F_SETFL.*O_DIRECT", "POSIX_FADV_DONTNEED", "F_OFD_GETLK", r"\blink(at)?\(",
                 r"/proc/self/fd/\d"):
        found = [line for line in text.splitlines() if str(tmp_path) in line and re.search(more, line)]
        assert not found, found[:5]
