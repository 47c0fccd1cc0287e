"""Exhausted resources: threads, memory, shared memory. All ranks leave a call with the same result."""

import re
import shutil
import subprocess
import sys

import pytest

from penstock._core import mpi_library_version
from penstock._launch import environment, find_mpiexec
from scripts import CASES

pytestmark = pytest.mark.ranks

# Limits of processes are not for root. A process that gives up being root cannot be looked into by its own kind
# unless it says so again.
NO_THREADS = CASES + """
import ctypes, resource, threading
def refuse_threads():
    resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
    try:
        threading.Thread(target=print).start()
    except RuntimeError:
        return
    raise AssertionError("threads can be had all the same")
files = {}
for method in ("extended", "direct"):
    for background in (None, "storage", "all"):
        name = f"{method}-{background}.npy"
        files[name] = (ps.open(name, "w", shape=(256 * size, 64), dtype="f8", comm=comm), method, background)
if os.getuid() == 0:
    os.setresuid(65534, 65534, 65534)
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
comm.Barrier()
if not only_last or last:
    refuse_threads()
section = (slice(rank, 256 * size, size), slice(0, 64))
values = np.full((256, 64), 1.0 + rank)
for f, method, background in files.values():
    if background is None:
        f.write(values, section, method=method)
    else:
        f.write_begin(values, section, method=method, background=background).wait()
    f.sync()
    assert (f.read(section, method=method) == values).all()
    f.close()
comm.Barrier()
for name in files:
    content = np.load(name)
    assert (content == 1 + np.arange(256 * size)[:, None] % size).all(), name
"""


@pytest.mark.parametrize("only_last", [False, True])
def test_without_threads_a_call_does_the_work_itself(mpirun, tmp_path, only_last):
    tmp_path.chmod(0o777)
    output = mpirun(f"only_last = {only_last}\n" + NO_THREADS, 2)
    assert "RuntimeError" not in output, output


# A limit of the address space, set for each call: so many MiB above what is used.
NO_MEMORY = CASES + """
import errno, resource
n = 1024
section = (slice(rank, n * size, size), slice(0, n))
values, out = np.full((n, n), 1.0 + rank), np.zeros((n, n))
def within(mib, ranks, call):
    comm.Barrier()
    if rank in ranks:
        used = int(next(line for line in open("/proc/self/status") if line.startswith("VmSize")).split()[1]) << 10
        resource.setrlimit(resource.RLIMIT_AS, (used + (mib << 20), resource.RLIM_INFINITY))
    try:
        call()
        result = ["", 0, ""]
    except ps.Error as error:
        result = [type(error).__name__, error.errno, str(error)]
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    every = comm.allgather(result)
    assert all(other == result for other in every), every
    return result
def is_whole(name):
    comm.Barrier()
    return bool((np.load(name) == 1 + np.arange(n * size)[:, None] % size).all())
everybody, one = range(size), (size - 1,)
for background in (None, "storage", "all"):
    for ranks in (everybody, one):
        f = ps.open("m.npy", "w", shape=(n * size, n), dtype="f8", comm=comm)
        def write(**how):
            how = {"exchange": "sparse", "method": "extended", "buffer_size": "64M", **how}
            f.write(values, section, **how) if background is None else f.write_begin(
                values, section, background=background, **how).wait()
        def read():
            f.read(section, out=out, exchange="sparse", method="extended", buffer_size="64M")
        for call in (write, read):
            kind, number, text = within(4, ranks, call)
            assert kind == "StorageError" and number == errno.ENOMEM, (background, call, kind, text)
            named = any(f"rank {one} can get" in text for one in ranks)  # the one that can get least
            assert named and "a smaller buffer_size than 64 MiB" in text, text
        kind, _, text = within(4, ranks, lambda: write(exchange="node"))
        assert kind in ("", "StorageError"), text
        write()
        read()
        assert (out == values).all()
        f.close()
        assert is_whole("m.npy")
# Whatever can be had: it works, or all ranks say that it does not.
for mib in (0, 4, 40, 120):
    for exchange in ("auto", "node", "sparse", "step3", "alltoallw"):
        g = ps.open("a.npy", "w", shape=(n * size, n), dtype="f8", comm=comm)
        kind, number, text = within(mib, everybody, lambda: g.write(values, section, exchange=exchange, buffer_size="8M"))
        assert kind == "" or (kind, number) == ("StorageError", errno.ENOMEM), text
        if kind:
            g.write(values, section, exchange=exchange, buffer_size="8M")
        g.close()
        assert is_whole("a.npy")
# What the package itself needs for a read: its array, and a mask's elements in their order.
b = ps.open("b.npy", "w", shape=(2048, 4096), dtype="f8", comm=comm)
mask = np.arange(2048 * 4096).reshape(2048, 4096) % 2 == 0
for index in ((slice(0, 2048), slice(0, 4096)), mask):
    kind, number, text = within(4, one, lambda: b.read(index))
    assert (kind, number) == ("StorageError", errno.ENOMEM) and text.startswith(f"rank {size - 1}: "), text
b.close()
"""


def test_memory_that_is_not_there_is_found_out_before_bytes_are_exchanged(mpirun):
    output = mpirun(NO_MEMORY, 2)
    assert "the program ends" not in output, output


# MPI libraries cannot begin without some of it: it is taken away from ranks that have begun.
LITTLE_SHM = CASES + """
import ctypes, subprocess
libc = ctypes.CDLL(None, use_errno=True)
assert libc.unshare(0x20000) == 0, ctypes.get_errno()  # CLONE_NEWNS
subprocess.run("mount --make-rprivate / && mount -t tmpfs -o %s tmpfs /dev/shm", shell=True, check=True)
"""
IN_A_CONTAINER = CASES + """
f = ps.open("c.npy", "w", shape=(64 * size, 64), dtype="f8", comm=comm)
section = (slice(rank, 64 * size, size), slice(0, 64))
values = np.full((64, 64), 1.0 + rank)
for exchange in ("auto", "sparse"):
    f.write(values, section, method="extended", exchange=exchange)
    f.write_begin(values, section, method="extended").wait()
    f.sync()
    assert (f.read(section, method="extended", exchange=exchange) == values).all()
f.close()
assert (np.load("c.npy") == 1 + np.arange(64 * size)[:, None] % size).all()
"""


def can_unshare():
    command = ["unshare", "--pid", "--fork", "--mount-proc", "true"]
    return shutil.which("unshare") and subprocess.run(command, capture_output=True).returncode == 0


@pytest.mark.skipif("not can_unshare()", reason="no namespaces may be made here")
@pytest.mark.parametrize("options", ["size=1m", "ro"])
def test_ranks_share_memory_whatever_dev_shm_has(mpirun, options):
    output = mpirun(LITTLE_SHM % options + IN_A_CONTAINER, 3)
    assert "penstock:" not in output, output


@pytest.mark.skipif("MPICH" not in mpi_library_version(), reason="other launchers know ranks by their process ids")
@pytest.mark.skipif("not can_unshare()", reason="no PID namespaces may be made here")
def test_ranks_that_do_not_see_each_others_processes_exchange_by_messages(tmp_path):
    (tmp_path / "script.py").write_text(IN_A_CONTAINER)
    command = [find_mpiexec(), "-n", "3", "unshare", "--pid", "--fork", "--mount-proc", sys.executable, "script.py"]
    # MPICH itself copies out of other processes, by ids that mean others here.
    alone = {"MPIR_CVAR_CH4_CMA_ENABLE": "0"}
    run = subprocess.run(command, cwd=tmp_path, env={**environment(), **alone}, capture_output=True, text=True, timeout=120)
    said = [line for line in run.stderr.splitlines() if line.startswith("penstock:")]
    assert run.returncode == 0, run.stdout + run.stderr
    assert len(said) == 1 and re.search("do not see each other's processes", said[0]), said
