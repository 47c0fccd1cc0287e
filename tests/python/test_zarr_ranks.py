"""Zarr arrays on several ranks: shared chunks keep the bytes of all ranks."""

import json

import pytest

from conftest import case_outcomes
from scripts import CASES, HEAD

pytestmark = pytest.mark.ranks

pytest.importorskip("zarr", minversion="3.0")

# Each case: a random array, some collective writes of random sections that overlap, in calls of
# random settings, compared with a model in which ranks write one after the other.
RANDOM = HEAD + """
import zarr
FIRST, COUNT = int(os.environ.get("FIRST", 0)), 25
CODECS = ["", "", "zstd", "gzip:1", "blosc", "crc32c"]
def section_of(random, shape):
    section = []
    for n in shape:
        lower = int(random.integers(0, n))
        upper = int(random.integers(lower + 1, n + 1))
        section.append(slice(lower, upper, int(random.integers(1, 3))))
    return tuple(section)
for case in range(FIRST, FIRST + COUNT):
    random = np.random.default_rng(case)  # the same on every rank
    dimensions = int(random.integers(1, 4))
    shape = tuple(int(random.integers(1, 24)) for _ in range(dimensions))
    chunks = tuple(int(random.integers(1, n + 2)) for n in shape)
    shards = tuple(n * int(random.integers(1, 4)) for n in chunks) if random.random() < 0.5 else None
    dtype = str(random.choice(["u1", "<i4", ">f8", "<c16"]))
    codec = str(random.choice(CODECS))
    name, model = f"case{case}.zarr", np.full(shape, 7).astype(dtype)
    what = f"case {case}: shape {shape} chunks {chunks} shards {shards} {dtype} '{codec}'"
    f = ps.open(name, "w", shape=shape, dtype=dtype, chunks=chunks, shards=shards, compressors=codec, fill_value=7,
                comm=comm, hints={"active_buffer_size": str(random.choice(["0", "64M"]))})
    handles = []
    for step in range(int(random.integers(1, 6))):
        settings = {"method": str(random.choice(["auto", "direct", "sieved", "extended", "two-phase", "gather"])),
                    "exchange": str(random.choice(["auto", "sparse", "node", "step5"])),
                    "domains": str(random.choice(["auto", "dynamic", "static", "block-cyclic", "aligned"])),
                    "stripe_size": int(random.choice([64, 1000])),
                    "aggregators": str(random.choice(["auto", 1, size])),
                    "buffer_size": str(random.choice(["1K", "64K", "2M"])),
                    "active_buffer_size": str(random.choice(["0", "8K", "64M"]))}
        background = str(random.choice(["none", "storage"]))
        begins = random.random() < 0.4
        sections = [section_of(random, shape) if random.random() < 0.8 else None for _ in range(size)]
        for r in range(size):
            if sections[r] is None:
                part = None
            else:
                part = random.integers(0, 100, size=model[sections[r]].shape).astype(dtype)
                model[sections[r]] = part
            if r == rank:
                mine = part
        if begins:
            handles.append((f.write_begin(mine, sections[rank], background=background, **settings), mine))
        else:
            f.write(mine, sections[rank], **settings)
        if random.random() < 0.6:
            section = [section_of(random, shape) for _ in range(size)][rank]
            settings["method"] = str(random.choice(["auto", "direct", "sieved", "extended"]))
            if random.random() < 0.3:
                read = f.read_begin(section, **settings).wait()
            else:
                read = f.read(section, **settings)
            assert (read == model[section]).all(), f"{what}, read after write {step}, {settings}"
    for handle, _ in handles:
        handle.wait()
    f.close()
    if rank == 0:
        assert (zarr.open_array(name, mode="r")[...] == model).all(), what
    with ps.open(name, comm=comm) as g:
        assert (g.read(...) == model).all(), what
if rank == 0:
    print("cases", COUNT)
"""


@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_random_sections_that_share_chunks(mpirun, ranks):
    assert "cases 25" in mpirun(RANDOM, ranks)


# xarray#8371: writers that do not own whole chunks lose each other's bytes.
SHARED = HEAD + """
import zarr
n = 1000
for codec in ("", "zstd", "blosc"):
    for hints in ({}, {"active_buffer_size": 0}):
        with ps.open("shared.zarr", "w", shape=(n,), dtype="i8", chunks=n, compressors=codec, comm=comm, hints=hints) as f:
            for step in range(20):  # neighbours in one chunk, a little of it in each call
                f.write(np.arange(n)[rank + size * step::20 * size], slice(rank + size * step, n, 20 * size))
        if rank == 0:
            assert (zarr.open_array("shared.zarr", mode="r")[...] == np.arange(n)).all(), (codec, hints)
if rank == 0:
    print("whole")
"""


@pytest.mark.parametrize("ranks", [3, 4])
def test_no_rank_loses_the_others_bytes_of_a_chunk(mpirun, ranks):
    assert "whole" in mpirun(SHARED, ranks)


# All ranks get the same error, and the array is unchanged.
FAULTS = CASES + """
def made(name, **settings):
    settings = {"chunks": 3, "compressors": "zstd", **settings}
    return opened(name, **settings)
@case
def other_chunks():
    record(lambda: made("a.zarr", chunks=3 if last else 4))
    outcomes.append(["", os.path.exists("a.zarr")])
@case
def other_attributes():
    record(lambda: made("b.zarr", attributes={"rank": rank}))
@case
def other_codec_at_the_last():
    record(lambda: made("c.zarr", compressors="lzma" if last else "zstd"))
@case
def damaged():
    f = made("d.zarr")
    f.write(*own(f))
    f.close()
    comm.Barrier()
    if last:
        open("d.zarr/c/3/3", "wb").write(b"no frame")
    comm.Barrier()
    f = ps.open("d.zarr", "r+", comm=comm)
    record(lambda: f.read(...))
    record(lambda: f.write(np.zeros((2, 2)), (slice(9, 11), slice(9, 11)), active_buffer_size=0))
    f.write(np.ones((12, 12)) if last else None, ... if last else None)
    record(lambda: float(f.read(...).sum()) == 144.0)
    f.close()
@case
def no_folder():
    record(lambda: made("nowhere/e.zarr"))
@case
def failing_device():
    f = made("f.zarr", hints={"device": "fault:write@*=ENOSPC", "active_buffer_size": 0})
    record(lambda: f.write(*own(f)))
    record(f.close)
"""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    return case_outcomes(tmp_path_factory.mktemp("zarr"), FAULTS)[0]


@pytest.mark.parametrize("case, call, kind, words", [
    ("other_chunks", 0, "DisagreementError", "chunks"), ("other_attributes", 0, "DisagreementError", "attributes"),
    ("other_codec_at_the_last", 0, "ArgumentError", "'lzma' is not one of"), ("damaged", 0, "FormatError", "c/3/3"),
    ("damaged", 1, "FormatError", "c/3/3"), ("no_folder", 0, "FileNotFoundError", "nowhere/e.zarr")])
def test_all_ranks_are_told_alike(outcomes, case, call, kind, words):
    ranks = [rank[call] for rank in outcomes[case]]
    assert all(name == kind and words in text for name, text in ranks), ranks
    assert len({text for _, text in ranks}) == 1


def test_what_was_wrong_leaves_the_array_as_it_was(outcomes):
    assert all(rank[1] == ["", False] for rank in outcomes["other_chunks"])
    assert all(rank[2] == ["", True] for rank in outcomes["damaged"])


def test_a_failing_device(outcomes):
    assert all(rank[0][0] == "StorageError" and "f.zarr" in rank[0][1] for rank in outcomes["failing_device"]), json.dumps(outcomes["failing_device"])
