"""`penstock_evaluation split` and `abt` with small arrays, and their parts."""

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import penstock as ps
import pytest
from penstock._bench import devices
from penstock._bench.patterns import CONFORMING, PATTERNS, SLABS
from penstock._bench.schedule import snapshot_steps
from penstock_evaluation.background_report import SPLIT_COLUMNS, abt_goals, split_goals
from penstock_evaluation.confidence import interval, relative, student_t
from penstock_evaluation.plots import in_words, whiskers
from penstock_evaluation.report import table

PACED = "paced:bandwidth=100M,latency=100us"


def bench(*arguments, cwd, expect=0, **environment):
    command = [sys.executable, "-m", "penstock_evaluation", *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, text=True, capture_output=True, timeout=300,
                          env={**os.environ, **environment})
    assert done.returncode == expect, done.stdout + done.stderr
    return done.stdout + done.stderr


def records(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_split(tmp_path):
    (tmp_path / "disk").mkdir()
    text = bench("split", "--ranks", "1,3", "--size", "512K", "--slab", "64K", "--repeat", 3, "--sample", 0.01, "--priorities",
                 "auto,nice", "--operations", "write,read", "--on", f"page-cache,{PACED}", "--folder", "disk", "--mpiexec-timeout",
                 100, cwd=tmp_path)
    found = records(tmp_path / "penstock-bench" / "split.jsonl")
    assert len(found) == 2 * 2 * 2 * 3 * 7
    assert {r["method"] for r in found} == {"io", "alone", "none", "storage", "storage, nice", "all", "all, nice"}
    for r in found:
        assert r["seconds"] > 0 and len(r["times"]) == r["repeat"] == 3 and r["io"] > 0 and r["alone"] > 0
        assert r["device"].startswith("page cache" if r["on"] == "page-cache" else "paced: ")
        if r["method"] not in ("io", "alone"):
            assert set(r["parts"]) == {"begin", "foreground", "wait"} and r["of_none"] > 0 and r["again_of_none"] > 0
            assert r["method"] == r["mode"] + ("" if r["priority"] == "auto" else ", nice") and r["slowdown"] > -1
    paced = next(r for r in found if r["on"] == PACED and r["experiment"] == "computation" and r["method"] == "io")
    assert paced["seconds"] > 0.8 * paced["bytes"] / (100 << 20)  # it keeps its pace
    for words in ("split writes", "split reads", "1.03 x `none`", "`none` against itself", "64 KiB a rank, no exchange; computation",
                  "512 KiB, collective; communication", "communication alone", "paced: ", "section 6.1, Figure 4",
                  "storage, nice: "):
        assert words in text
    assert sorted(p.name for p in (tmp_path / "penstock-bench").iterdir()) == [
        "split-read-slowdown.png", "split-read.png", "split-write-slowdown.png", "split-write.png", "split.jsonl"]
    assert not list((tmp_path / "disk").iterdir())


def test_split_as_the_paper_has_it(tmp_path):
    """All ranks write, each once a call: as many writes as calls and ranks."""
    bench("split", "--ranks", 3, "--size", "768K", "--experiments", "computation", "--repeat", 3, "--sample", 0, "--set-up", "paper",
          "--priorities", "auto", "--on", PACED, "--mpiexec-timeout", 100, cwd=tmp_path)
    found = records(tmp_path / "penstock-bench" / "split.jsonl")
    assert {r["set_up"] for r in found} == {"paper"} and {r["rounds"] for r in found} == {1}
    # What a rank wrote in all calls of all modes is its share each time, in one request.
    told = found[0]["counts"]
    assert told["bytes_written"] == told["writes"] * (256 << 10), told


def test_without_thread_multiple_the_table_says_so(tmp_path):
    text = bench("split", "--ranks", 2, "--size", "256K", "--experiments", "computation", "--repeat", 1, "--sample", 0,
                 "--on", "page-cache", "--mpiexec-timeout", 100, cwd=tmp_path, MPI4PY_RC_THREAD_LEVEL="serialized")
    found = {r["method"]: r for r in records(tmp_path / "penstock-bench" / "split.jsonl")}
    assert found["all"]["unavailable"] == "needs MPI_THREAD_MULTIPLE" and "seconds" in found["storage"]
    assert "needs MPI_THREAD_MULTIPLE" in text


def test_abt(tmp_path):
    text = bench("abt", "--experiments", "throughput,jacobi,product", "--ranks", "1,3", "--size", "256K", "--grid", 64, "--iterations",
                 16, "--snapshots", "1,4", "--repeat", 3, "--jacobi-repeat", 2, "--on", f"page-cache,{PACED}", "--mpiexec-timeout", 100,
                 cwd=tmp_path)
    found = records(tmp_path / "penstock-bench" / "abt.jsonl")
    throughput = [r for r in found if r["experiment"] == "throughput"]
    assert len(throughput) == 2 * 2 * 2 * 4 and len(found) == len(throughput) + 2 * 2 * 7
    for r in throughput:
        assert r["gb_per_s"] > 0 and len(r["times"]) == 3 and r["bytes"] == r["ranks"] * (256 << 10)
        if r["method"] != "memcpy":
            assert r["total"] >= r["seconds"] * 0.99 and r["room"] == r["size"] * {"unbuffered": 0, "half": 0.5,
                                                                                  "twice": 2}[r["method"]]
    for name in ("jacobi", "product"):
        programs = [r for r in found if r["experiment"] == name]
        assert {r["ranks"] for r in programs} == {3} and {r["snapshots"] for r in programs} == {0, 1, 4}
        for r in programs:
            assert r["grid"] == 64 and r["iterations"] == 16 and r["bytes"] == 64 * 64 * 8 and r["seconds"] > 0 and len(r["times"]) == 2
    for words in ("apparent throughput of writes, 256 KiB a rank", "x memcpy", "Jacobi, 64 x 64 doubles", "Matrix multiplication, 64 x 64",
                  "room for half", "conforming, room for twice the data", "within", "matrix multiplication gave similar results"):
        assert words in text
    names = sorted(p.name for p in (tmp_path / "penstock-bench").iterdir())
    assert names == ["abt-jacobi-3ranks.png", "abt-product-3ranks.png", "abt-throughput.png", "abt.jsonl"]


def test_a_thread_that_writes_and_servers_that_vary(tmp_path):
    text = bench("abt", "--experiments", "pretest,servers", "--ranks", 3, "--size", "768K", "--requests", "128K,500K", "--variances", "0,1",
                 "--repeat", 3, "--on", "page-cache,paced:bandwidth=10M", "--mpiexec-timeout", 100, cwd=tmp_path)
    found = records(tmp_path / "penstock-bench" / "abt.jsonl")
    pretest = [r for r in found if r["experiment"] == "pretest"]
    assert len(pretest) == 2 * 2 * 2 * 4 and {r["method"] for r in pretest} == {"io", "alone", "serial", "parallel"}
    assert {(r["foreground"], r["request"]) for r in pretest} == {(f, n) for f in ("computation", "broadcast") for n in (128 << 10, 500 << 10)}
    for r in (r for r in pretest if r["on"] != "page-cache" and r["method"] in ("io", "serial")):
        assert r["seconds"] > 0.9 * (768 << 10) / (10 << 20)  # in series a write is as slow as the device
    servers = {(r["variance"], r["method"]): r for r in found if r["experiment"] == "servers"}
    assert set(servers) == {(v, m) for v in (0.0, 1.0) for m in ("unbuffered", "twice")}  # only on the modelled device
    for r in servers.values():
        assert r["servers"] == 3 and r["on"] == "paced:bandwidth=10M" and len(r["of_unbuffered_pairs"]) == 3
        assert r["seconds"] > 0.5 * r["bytes"] / (10 << 20)
    assert servers[0.0, "unbuffered"]["buffer"]["buffer_peak"] == 0 < servers[0.0, "twice"]["buffer"]["buffer_peak"]
    for (variance, _), r in servers.items():  # what such a device does is tested in storage_paced_test.cpp
        assert ("of 3 servers" in r["modelled"]) and ("varying by 100 %" in r["modelled"]) == (variance == 1)
    for words in ("a thread that writes, 768 KiB a rank", "servers that vary", "x serial", "section 3.1", "not isolated there"):
        assert words in " ".join(text.split())
    names = sorted(p.name for p in (tmp_path / "penstock-bench").iterdir())
    assert names == ["abt-pretest.png", "abt-servers.png", "abt.jsonl"]


def test_confidence_intervals_are_those_of_student():
    for degrees, t in ((1, 12.7062), (2, 4.3027), (4, 2.7764), (9, 2.2622), (30, 2.0423), (1000, 1.9623)):
        assert abs(student_t(degrees) - t) < 2e-4 * t
    assert abs(student_t(4, 0.99) - 4.6041) < 1e-3
    assert interval([3.0]) == (3.0, None) and relative([3.0]) == ""
    mean, half = interval([1.0, 2.0, 3.0])
    assert mean == 2.0 and abs(half - 4.3027 / 3**0.5) < 1e-3 and relative([2.0, 2.0]) == "0.0 %"


def test_the_buffer_is_told(tmp_path):
    bench("abt", "--experiments", "throughput", "--distributions", "conforming", "--ranks", 2, "--size", "1M", "--repeat", 3,
          "--on", PACED, "--mpiexec-timeout", 100, cwd=tmp_path)
    found = {r["method"]: r for r in records(tmp_path / "penstock-bench" / "abt.jsonl")}
    assert found["unbuffered"]["buffer"]["buffer_peak"] == 0 and found["twice"]["buffer"]["buffer_peak"] > 0
    assert found["half"]["buffer"]["buffer_peak"] <= found["half"]["room"]
    assert found["twice"]["seconds"] < found["unbuffered"]["seconds"]


def test_errors_say_what_is_known(tmp_path):
    for arguments, words in ((["split", "--on", "tape"], "known are page-cache, o-direct and paced:"),
                             (["split", "--on", ","], "--on must name one at least"),
                             (["split", "--experiments", "sleep"], "known are independent, computation, communication"),
                             (["split", "--priorities", "high"], "known are auto, other, batch, nice"),
                             (["split", "--set-up", "ours"], "known are default, paper"),
                             (["split", "--pattern", "tiles"], "known are block-block, column-block, block3"),
                             (["split", "--ranks", "0"], "ranks must be at least 1"),
                             (["abt", "--snapshots", "512"], "512 snapshots cannot be taken in 256 iterations"),
                             (["abt", "--distributions", "cyclic"], "known are conforming, block3"),
                             (["abt", "--grid", "0"], "grid must be at least 16"),
                             (["abt", "--variances", "0,2"], "--variances '0,2' must be numbers from 0 to 1"),
                             (["abt", "--requests", "1Q"], "is not a size"),
                             (["abt", "--experiments", "sleep"], "known are pretest, throughput, jacobi, product, servers"),
                             (["abt", "--size", "0"], "size must be at least 1")):
        text = bench(*arguments, cwd=tmp_path, expect=2)
        assert text.startswith("evaluation: ") and words in text
    assert not list(tmp_path.iterdir())


def test_a_wrong_file_and_a_wrong_read_end_it(mpirun):
    output = mpirun("""
import numpy as np
import pytest
from types import SimpleNamespace
from mpi4py import MPI
from penstock_evaluation.abt_worker import Abt, Writer
from penstock._bench.methods import Memory
from penstock_evaluation.overlap_worker import Overlap
from penstock._bench.patterns import SLABS
from penstock_evaluation.pretest import Requests
from penstock._bench.ranks import BenchError

comm = MPI.COMM_WORLD
total = 1 << 18
part = SLABS.part(total, comm.size, comm.rank)
memory = Memory(part)
lazy = SimpleNamespace(write_begin=lambda *_, **__: SimpleNamespace(wait=lambda: None),
                       read_begin=lambda *_, **__: SimpleNamespace(wait=lambda: None))
overlap = Overlap({"device": ".", "on": "page-cache", "priorities": ["auto", "batch", "nice"]}, comm)
# Every mode with a thread gets its priority; what a thread does with it is tested in test_background_thread.py.
assert list(overlap.methods("all")) == ["all", "all, batch", "all, nice"] and list(overlap.methods("none")) == ["none"]
asked = SimpleNamespace(write_begin=lambda *_, **settings: settings, read_begin=lambda *_, out, **settings: settings)
for operation in ("write", "read"):
    assert overlap.starter(asked, "all, batch", operation, memory)() == {"background": "all", "io_thread": "batch"}
    assert overlap.starter(asked, "storage, nice", operation, memory)() == {"background": "storage", "io_thread": "nice=19"}
    assert overlap.starter(asked, "none", operation, memory)() == {"background": "none"}
with pytest.raises(BenchError, match="mode storage wrote a wrong file for pattern slabs on 2 ranks, page cache; "
                                     "the first wrong element starts at byte 0"):
    overlap.check(lazy, "storage", "write", SLABS, total, memory)
with pytest.raises(BenchError, match="mode all read wrongly for pattern slabs on 2 ranks"):
    overlap.check(lazy, "all", "read", SLABS, total, memory)
abt = Abt({"device": ".", "on": "page-cache", "hints": {}}, comm)
writer = Writer("half", abt, part, lambda: memory.source, part.nbytes)
abt.empty(part.shape, part.dtype)
with pytest.raises(BenchError, match="half wrote a wrong file on 2 ranks"):
    writer.check()
requests = Requests(abt, abt.device, 1000, 300)
requests.begin("storage").wait()
assert len(requests._cuts) == 4
if comm.rank == 1:
    requests._data[700] += 1  # so that it differs from the file
with pytest.raises(BenchError, match="writes of 1000 bytes in 4 requests: rank 1 has a wrong file"):
    requests.close()
print("told")
""", 2)
    assert output.count("told") == 2


@pytest.mark.parametrize("pattern", [SLABS, CONFORMING, PATTERNS["block3"], PATTERNS["halo"]], ids=lambda p: p.name)
@pytest.mark.parametrize("ranks", [1, 3, 16])
def test_one_wrong_byte_is_found(pattern, ranks, tmp_path):
    total, path = 1 << 18, tmp_path / "f"
    path.write_bytes(bytes(pattern.file_bytes(total)))
    pattern.fill(path, total, ranks, empty=False)
    parts = [pattern.part(total, ranks, rank) for rank in range(ranks)]
    arrays = [part.memory(filled=True)[part.interior] for part in parts]
    assert all(part.wrong_byte(path, array) is None for part, array in zip(parts, arrays))
    assert sum(part.nbytes for part in parts) == total
    with open(path, "r+b") as f:
        f.seek(4711)
        byte = f.read(1)[0]
        f.seek(4711)
        f.write(bytes([byte ^ 1]))
    item = parts[0].dtype.itemsize
    assert [at for p, a in zip(parts, arrays) if (at := p.wrong_byte(path, a)) is not None] == [4711 // item * item]
    os.truncate(path, 4096)
    assert parts[0].wrong_byte(path, arrays[0]) == 4096


def test_devices():
    known = devices.parse("page-cache, o-direct,paced:bandwidth=1G,latency=2ms,seed=3,paced:writers=4")
    assert [d.name for d in known] == ["page-cache", "o-direct", "paced:bandwidth=1G,latency=2ms,seed=3", "paced:writers=4"]
    assert known[1].hints == {"storage": "direct"} and known[2].hints == {"device": known[2].name}
    assert [d.words for d in known[1:3]] == ["O_DIRECT", "paced: bandwidth=1G, latency=2ms, seed=3"]
    assert devices.of_file(SimpleNamespace(device="paced: 1 GiB/s"), known[3]) == "paced: 1 GiB/s"
    assert devices.of_file(SimpleNamespace(), known[0]) == "page cache"
    with pytest.raises(ps.ArgumentError, match="--on 'latency=1ms' is not known"):
        devices.parse("latency=1ms")


def test_what_does_not_fit_into_memory_is_made_smaller(monkeypatch):
    monkeypatch.setattr(devices, "available_memory", lambda: 1 << 30)
    assert devices.room(32 << 20, 5, 3) == 32 << 20
    assert devices.room(32 << 20, 5, 16) == 6 << 20
    assert devices.room(32 << 20, 5, 1 << 14) == 4096
    monkeypatch.undo()
    assert devices.available_memory() > 1 << 20


def test_a_file_system_without_o_direct_is_left_out(monkeypatch, tmp_path, capsys):
    from penstock_evaluation import background

    monkeypatch.setattr(devices, "has_o_direct", lambda folder: False)
    runs = background.runs_on("page-cache,o-direct", None, tmp_path)
    assert [run.name for run in runs] == ["page cache"] and "O_DIRECT: left out" in capsys.readouterr().out
    monkeypatch.undo()
    assert devices.has_o_direct(tmp_path) in (True, False) and not list(tmp_path.iterdir())


def test_snapshots_are_even_and_the_last_is_the_end():
    for iterations, snapshots in ((256, 1), (256, 64), (17, 5), (4, 4)):
        steps = sorted(snapshot_steps(iterations, snapshots))
        assert len(steps) == snapshots and steps[-1] == iterations and steps[0] > 0
        assert max(np.diff([0, *steps])) - min(np.diff([0, *steps])) <= 1


def test_jacobi_on_ranks_is_jacobi(mpirun):
    output = mpirun("""
import numpy as np
from mpi4py import MPI
from penstock_evaluation import jacobi

jacobi.STRIP = 40  # a few rows
program, taken = jacobi.Jacobi(MPI.COMM_WORLD, 23), []
for _ in range(2):  # it starts anew
    program.restart()
    program.run(9, 3, lambda: taken.append(program.block.copy()))
whole = np.zeros((25, 25))
whole[0] = 100.0
for _ in range(9):
    whole[1:-1, 1:-1] = (whole[:-2, 1:-1] + whole[2:, 1:-1] + whole[1:-1, :-2] + whole[1:-1, 2:]) * 0.25
mine = tuple(slice(lower, upper) for lower, upper, _, _ in program.d.section.dimensions)
assert len(taken) == 6 and np.allclose(taken[2], whole[1:-1, 1:-1][mine]) and np.array_equal(taken[2], taken[5])
print("right")
""", 6)
    assert output.count("right") == 6


@pytest.mark.parametrize("ranks", [1, 3, 6])
def test_a_product_on_ranks_is_the_product(mpirun, ranks):
    output = mpirun("""
import numpy as np
from mpi4py import MPI
from penstock_evaluation.product import Product

size, taken = 23, []
program = Product(MPI.COMM_WORLD, size)
for _ in range(2):  # it starts anew
    program.restart()
    program.run(9, 3, lambda: taken.append(program.block.copy()))
i, k = np.ogrid[:size, :size]
left, right = (i - k) % 7 - 3.0, (i + 2 * k) % 5 - 2.0
mine = tuple(slice(lower, upper) for lower, upper, _, _ in program.d.section.dimensions)
assert len(taken) == 6 and np.array_equal(taken[2], (left @ right)[mine]) and np.array_equal(taken[2], taken[5])
done = 23 * 3 // 9  # of the sum, at the first snapshot
assert np.array_equal(taken[0], (left[:, :done] @ right[:done])[mine])
program.close()
print("right")
""", ranks)
    assert output.count("right") == ranks


def test_goals_are_judged_by_the_worst():
    def split(**changes):
        return {"command": "split", "experiment": "computation", "foreground": "computation", "method": "storage",
                "ranks": 4, "device": "paced: x", "on": "paced:x", "alone": 1.1, "io": 1.0, "of_none": 0.6,
                "hidden": 0.97, "slowdown": 0.01, **changes}

    assert [g.met for g in split_goals([split()])] == [True, True, True]
    goals = split_goals([split(), split(ranks=16, hidden=0.9, of_none=1.04, slowdown=0.06)])
    assert [g.met for g in goals] == [False, False, False] and "90.0% at worst, 16 ranks" in str(goals[1])
    assert split_goals([split(alone=0.9, hidden=0.5)])[1].met is None  # too short to hide behind
    assert [split_goals([split(hidden=h)])[1].met for h in (-0.1, 1.2)] == [None, None]  # no part of anything
    cache = split(on="page-cache", device="page cache", hidden=0.0)
    assert [(g.device, g.met) for g in split_goals([cache])] == [("page cache", True)]

    def abt(**changes):
        return {"command": "abt", "experiment": "throughput", "pattern": "conforming", "method": "twice", "ranks": 4,
                "device": "page cache", "of_memcpy": 0.85, "of_unbuffered": 0.9, **changes}

    found = [abt(), abt(ranks=16, of_memcpy=0.75), abt(pattern="block3", of_memcpy=0.7), abt(method="half"),
             abt(experiment="jacobi", pattern="2 x 2 blocks", method="half", of_unbuffered=1.1, snapshots=64)]
    goals = abt_goals(found)
    assert [g.met for g in goals] == [False, True, True, False]
    assert str(goals[3]).startswith("MISSED") and "1.10 at worst, 4 ranks, 64 snapshots" in str(goals[3])


@pytest.mark.parametrize("share, words", [(0.97, "97 %"), (0.0, "0 %"), (1.0, "100 %"), (1.01, "not measurable here"),
                                          (-0.2, "not measurable here")])
def test_a_hidden_share_that_is_none_is_not_told_as_one(share, words):
    column = next(text for name, text in SPLIT_COLUMNS if "hidden" in name)
    assert column({"hidden": share}) == words and column({}) == ""


def test_tables_with_ratios_say_how_they_are_made():
    record = {"pattern": "block-block", "size": 1024, "ranks": 2, "run": "", "method": "storage", "repeat": 3, "mpi": "MPI",
              "device": "page cache", "cores": 2}
    with_ratios = table([record], "split writes", [("x none", lambda r: "1.00")]).title
    assert "median of 3; ratios: medians of the pairs of a repetition" in with_ratios
    assert "ratios" not in table([record], "counts", [("messages", lambda r: "1")]).title


@pytest.mark.parametrize("method, words", [("romio341", "MPI-IO: ROMIO 3.4.1"), ("ompio", "MPI-IO: OMPIO"),
                                           ("MPI-IO", "MPI-IO of MPICH 5.0.2"), ("penstock", "penstock"),
                                           ("step1", "step1")])
def test_plots_name_mpi_io_in_words(method, words):
    assert in_words(method, "MPICH 5.0.2") == words


def test_whiskers_reach_to_the_quartiles():
    middle, (below, above) = whiskers([[1, 2, 3, 4, 9], [5, 5, 5]])
    assert middle == [3, 5] and below == [1, 0] and above == [1, 0]
