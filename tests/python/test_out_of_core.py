"""Arrays larger than the given memory: loops over their tiles."""

import os
import subprocess
import sys

import numpy as np
import pytest

import penstock as ps
from conftest import INTERRUPTIBLE, run_ranks
from penstock._launch import environment, find_mpiexec
from scripts import HEAD

ARRAY = HEAD + """
def opened(name, mode="r", **how):
    how = {"memory": "24K", **how}
    return ps.OutOfCoreArray(name, mode, (37, 23) if mode == "w" else None, "f8" if mode == "w" else None,
                             comm=comm, **how)
whole = np.arange(37 * 23.0).reshape(37, 23)
def make(name, order="C"):
    with opened(name, "w", order=order) as a:
        for tile in a.tiles():
            tile.values[...] = whole[tile.section.index]
def there(name):
    comm.Barrier()
    return np.load(name)
"""

LOOPS = """
for order in "CF":
    make("a.npy", order)
    assert (there("a.npy") == whole).all()
    for shape in (None, "block", ("*", "block"), ("cyclic", "*"), ("block-cyclic(3)", "block"),
                  ps.section((rank, 37, size), (0, 23)), ps.section((0, 0), (0, 0)) if rank == size - 1 else ps.section(
                      (37 * rank // max(size - 1, 1), 37 * (rank + 1) // max(size - 1, 1)), (0, 23))):
        seen = np.zeros((37, 23), int)
        with opened("a.npy", "r", distribution=shape) as a:
            for axis in (None, 0, 1):
                for tile in a.tiles(axis=axis):
                    assert (tile.values == whole[tile.section.index]).all()
                    seen[tile.section.index] += 1
            total = comm.allreduce(seen)
            assert (total == 3).all() or size == 1, (shape, total)
        with opened("b.npy", "w", order=order) as b, opened("a.npy", "r+", distribution=shape) as a:
            for tile in a.tiles(tile_shape=(5, 4)):
                assert tile.shape <= (5, 4)
                tile.values[...] += 1
            for tile in a.tiles("r", into=b):
                tile.out[...] = tile.values * 2
            for tile in a.tiles("w"):
                tile.values[...] = whole[tile.section.index]
        if size > 1:
            assert (there("b.npy") == (whole + 1) * 2).all(), shape
            assert (there("a.npy") == whole).all()
"""

HALO = """
make("a.npy")
with opened("a.npy") as a, opened("b.npy", "w") as b:
    for halo in (1, (2, 0), (0, 3), (5, 5)):
        for how in ({}, {"axis": 1}, {"tile_shape": (4, 5)}):
            if halo == (5, 5) and how:
                continue
            for tile in a.tiles("r", halo=halo, into=b, **how):
                assert (tile.ghosted == whole[tile.with_halo.index]).all()
                assert (tile.ghosted[tile.interior] == whole[tile.section.index]).all()
                wide = halo if isinstance(halo, tuple) else (halo, halo)
                for (low, up, _, _), (l, u, _, _), w, n in zip(tile.section.dimensions, tile.with_halo.dimensions, wide, (37, 23)):
                    assert (l, u) == (max(low - w, 0), min(up + w, n))
                tile.out[...] = -tile.values
assert (there("b.npy") == -whole).all()
"""

EVEN = """
make("a.npy")
with opened("a.npy", distribution=ps.section((0, 37 if rank == 0 else 3), (0, 23))) as a:
    sums, steps, done = 0.0, 0, 0
    for tile in a.tiles(even=True):
        sums += comm.allreduce(tile.values.sum())  # every rank is in every step
        steps += 1
        assert (tile and done == 0) or tile.values.shape == (0, 0)
        done += not tile  # the tiles of no element are the last
    assert comm.allgather(steps) == [steps] * size and (done > 0) == (rank > 0)
    expected = whole.sum() + (size - 1) * whole[:3].sum()
    assert sums == expected, (sums, expected)
"""

BACKGROUND = """
make("a.npy")
for background in ("none", "storage"):
    with opened("a.npy", "r+", background=background) as a:
        for tile in a.tiles(tile_shape=(3, 23)):
            assert (tile.values == whole[tile.section.index]).all()
            tile.values[...] *= 1
same(ps.ArgumentError, "background", lambda: next(opened("a.npy", background="magic").tiles()))
if size > 1:
    same(ps.DisagreementError, "background", lambda: opened("a.npy", background="none" if rank else "storage"))
assert (there("a.npy") == whole).all()
"""

ALIKE = """
make("a.npy")
with opened("a.npy", distribution=("*", "block"), memory="12K") as a:
    seen = comm.allgather([tile.section.dimensions[0][:2] for tile in a.tiles(even=True)])
    assert all(rows == seen[0] for rows in seen), seen
"""

REUSE = """
make("a.npy")
with opened("a.npy", "r+", memory="64K") as a:
    for round in range(3):
        before = a.file.statistics.reads
        for tile in a.tiles(reuse=True):
            assert (tile.values == whole[tile.section.index] + round).all()
            tile.values[...] += 1
        if round:
            assert a.file.statistics.reads == before, "what is kept is not read again"
    for tile in a.tiles("r", reuse=True):
        assert (tile.values == whole[tile.section.index] + 3).all()
    a.write_behind(np.zeros((1, 23)) if rank == 0 else None, ps.section((0, 1), (0, 23)) if rank == 0 else None)
    for tile in a.tiles("r", reuse=True):  # what was kept is out of date
        expected = whole[tile.section.index] + 3
        if tile.section.dimensions[0][0] == 0:
            expected[0] = 0
        assert (tile.values == expected).all()
with opened("a.npy", memory="9K") as a:
    same(ps.ArgumentError, "reuse keeps .* tiles .* has no room; give at least", lambda: next(a.tiles(reuse=True)))
"""

BEHIND = """
with opened("c.npy", "w") as c:
    local = np.empty((1, 23))
    for row in range(rank, 37 + (-37) % size, size):
        local[...] = whole[min(row, 36)]
        c.write_behind(local if row < 37 else None, ps.section((row, row + 1), (0, 23)) if row < 37 else None)
        local[...] = -1  # it may be changed at once
    same(ps.ArgumentError, "write_behind: .* leaves .* for it; give smaller sections, or",
         lambda: c.write_behind(whole, ps.section((0, 37), (0, 23))))
    same(ps.ArgumentError, "local has shape .*, the section", lambda: c.write_behind(whole[0], ps.section((0, 1), (0, 23))))
assert (there("c.npy") == whole).all()
"""

ERRORS = """
make("a.npy")
last = rank == size - 1
same(ps.ArgumentError, "leave nothing for tiles beside 8 KiB of staging memory", lambda: opened("a.npy", memory="8K" if last else "24K")
     if size == 1 else opened("a.npy", memory="8K"))
same(ps.ArgumentError, "memory 'much' is no number of bytes", lambda: opened("a.npy", memory="much"))
same(ps.ArgumentError, "more than the .* that are free; give less, or start fewer ranks", lambda: opened("a.npy", memory="1000G"))
same(ps.StorageError, "the array has 72.8 TiB, and the disk has .* free; nothing was changed",
     lambda: ps.OutOfCoreArray("new.npy", "w", (10**7, 10**6), "f8", comm=comm))
same(ps.ArgumentError, "distribution must be", lambda: opened("a.npy", distribution=3.5 if last else None))
same(ps.ArgumentError, r"distribution: it is one of \\(9, 9\\)", lambda: opened("a.npy", distribution=ps.distribute((9, 9), comm)))
for wrong in (3.5, "blocks", ps.section((0, 38), (0, 23)), ps.distribute((9, 9), comm)):
    same((ps.ArgumentError, ps.SectionError), "", lambda: ps.OutOfCoreArray(
        "a.npy", "w", (37, 23), "f8", memory="24K", comm=comm, distribution=wrong if last else "block"))
if size > 1:
    same(ps.DisagreementError, "memory", lambda: opened("a.npy", memory="24K" if last else "25K"))
    same(ps.DisagreementError, "distribution", lambda: opened("a.npy", distribution="block" if last else None))
assert not os.path.exists("new.npy") and (there("a.npy") == whole).all()
with opened("a.npy") as a:
    loop = lambda **how: lambda: next(a.tiles(**how))
    same(ps.ArgumentError, "mode 'x' is none of", loop(mode="x"))
    same(ps.ArgumentError, "halo and into are for loops that read", loop(mode="r+", halo=1))
    same(ps.ArgumentError, "reuse is for loops that read", loop(mode="w", reuse=True))
    same(ps.ArgumentError, "axis 2 is none of an array of 2 dimensions", loop(axis=2 if last else 0))
    same(ps.ArgumentError, "memory=24576 is too little, this loop needs at least", loop(tile_shape=(37, 23)))
    same(ps.StateError, "was opened|read only|for reading", lambda: list(a.tiles("w")))
with opened("a.npy") as a, opened("b.npy", "w", order="F") as b:
    same(ps.ArgumentError, "into has shape", lambda: next(a.tiles(into=b)))
    first = a.tiles()
    next(first)
    same(ps.StateError, "a loop over its tiles is under way", lambda: next(a.tiles()))
    same(ps.StateError, "a loop over its tiles is under way", a.close)
    first.close()
    for tile in a.tiles(tile_shape=(2, 23)):  # after a loop that was left, another one begins anew
        if tile.index == 1:
            break
    assert comm.allreduce(len(list(a.tiles(tile_shape=(2, 23))))) == 19
with opened("a.npy", distribution=ps.section((0, 37), (0, 23, 2))) as a:
    same(ps.ArgumentError, "its indices must be neighbours", lambda: next(a.tiles(halo=(0, 1))))
needed = 37 * 23 * 8 * 3 + 2 * 4096  # what an error says is enough
with opened("a.npy", memory=needed, hints={"buffer_size": 4096}) as a:
    assert [tile.shape for tile in a.tiles(tile_shape=(37, 23))] == ([(37, 23)] if rank == 0 else [])
"""

EXCEPTION = """
make("a.npy")
try:
    with opened("a.npy", "r+") as a:
        for tile in a.tiles(tile_shape=(1, 23)):
            tile.values[...] += 1000
            if tile.index == 2:
                raise KeyError("what a body may raise")
except KeyError:
    pass
found = there("a.npy")
changed = found != whole
assert (found[changed] == whole[changed] + 1000).all()
rows = changed.all(axis=1)
assert changed.any(axis=1).tolist() == rows.tolist() and rows.sum() == 2 * size and rows[: 2 * size].all()
"""


@pytest.mark.parametrize("ranks", [1, 3, pytest.param(2, marks=pytest.mark.slow), pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("case", ["LOOPS", "HALO", "EVEN", "BACKGROUND", "ALIKE", "REUSE", "BEHIND", "ERRORS", "EXCEPTION"])
def test_loops(mpirun, case, ranks):
    mpirun(ARRAY + globals()[case], ranks)


def test_one_rank_that_fails_ends_the_loops_of_the_others(mpirun):
    mpirun(ARRAY + """
make("a.npy")
try:
    with opened("a.npy", "r+") as a:
        for tile in a.tiles(tile_shape=(1, 23), even=True):
            tile.values[...] += 1000
            if tile.index == 1 and rank == 1:
                raise KeyError("on this rank alone")
    assert False
except (KeyError, ps.StateError) as error:
    assert isinstance(error, KeyError) == (rank == 1), error
found = there("a.npy")
assert np.isin(found - whole, (0, 1000)).all(), "the file is whole, each element old or new"
""", 3)


@pytest.mark.parametrize("device", ["", "paced:bandwidth=4M,latency=1ms"])
def test_interrupted_runs_keep_what_was_done(tmp_path, device):
    """^C at a run that does not end by itself."""
    script = tmp_path / "script.py"
    script.write_text(HEAD.replace("sys.excepthook = ended", "") + f"""
with ps.OutOfCoreArray("a.npy", "w", (4000, 64), "f8", memory="64K", comm=comm, hints={{"device": {device!r}}}) as a:
    for tile in a.tiles():
        tile.values[...] = 7
        if tile.index == 5 and rank == 0:
            print("going", flush=True)
        if tile.index >= 5:
            time.sleep(0.5)
""")
    command = [*INTERRUPTIBLE, find_mpiexec(), "-n", "2", sys.executable, str(script)]
    process = subprocess.Popen(command, cwd=tmp_path, env=environment(), text=True, start_new_session=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        assert process.stdout.readline() == "going\n"
        os.killpg(process.pid, 2)
        process.communicate(timeout=30)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, 9)
    # Not by the launcher's exit code: that of Debian's MPICH may be 0.
    found = np.load(tmp_path / "a.npy")
    done = (found == 7).all(axis=1)
    assert np.isin(found, (0, 7)).all() and 4000 > done.sum() > 0


def test_it_works_alone_without_mpi(tmp_path):
    text = """
import numpy as np, penstock as ps
with ps.OutOfCoreArray("a.npy", "w", (100, 10), "i4", memory=16384) as a:
    for tile in a.tiles():
        tile.values[...] = tile.index
    print(a, len(list(a.tiles("r"))) > 1)
from mpi4py import MPI as _; import mpi4py
"""
    output = run_ranks(tmp_path, "import mpi4py\nmpi4py.rc.initialize = False\n" + text, 1)
    assert "16 KiB of memory> True" in output
    assert np.load(tmp_path / "a.npy")[0, 0] == 0


def test_memory_stays_within_its_bounds(tmp_path):
    """Anonymous and shared pages of a process, beside those that it had before."""
    output = run_ranks(tmp_path, HEAD + """
import re
def used():
    text = open("/proc/self/smaps_rollup").read()
    return sum(int(re.search(kind + r":\\s+(\\d+)", text)[1]) * 1024 for kind in ("Pss_Anon", "Pss_Shmem"))
def grown(name, mode, memory):
    before, most = used(), 0
    with ps.OutOfCoreArray(name, mode, (4096, 1024) if mode == "w" else None, "f8" if mode == "w" else None, memory=memory,
                           comm=comm, hints={"device": "paced:bandwidth=2G,latency=1us"}) as a:
        for tile in a.tiles():
            tile.values[...] = 1 if mode == "w" else 2 * tile.values
            most = max(most, used() - before)
    return max(most, used() - before)
grown("small.npy", "w", "64K")  # what a first loop leaves behind, of whatever size
sizes = [grown("a.npy", mode, "8M") for mode in ("w", "r+")]
most = comm.allreduce(max(sizes), MPI.MAX)
if rank == 0:
    print(most)
""", 3)
    assert 1 << 20 < int(output.split()[-1]) < 9 << 20, output  # of an array of 32 MiB


def test_sizes_are_read_as_people_write_them():
    from penstock._tile_memory import bytes_of, text_of

    assert [bytes_of(v, "memory") for v in (4096, "4096", "64K", "64KiB", "2MB", "1G")] == [4096, 4096, 65536, 65536, 2 << 20, 1 << 30]
    assert [text_of(n) for n in (10, 1536, 3 << 30)] == ["10 bytes", "1.5 KiB", "3 GiB"]
    with pytest.raises(ps.ArgumentError, match="memory '64X' is no number of bytes; expected one as 64M or 64MiB"):
        bytes_of("64X", "memory")
