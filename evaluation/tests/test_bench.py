"""The measurements with small arrays, and their patterns."""

import json
import subprocess
import sys
import time

import numpy as np
import pytest
from penstock._bench.methods import PHASES
from penstock._bench.patterns import HOLE, PATTERNS, UNTOUCHED, expected
from penstock._bench.phases import phase_seconds, share
from penstock._bench.ratios import compare_methods
from penstock._bench.schedule import turns
from penstock_evaluation.peers_report import summary
from penstock_evaluation.pictures import pictures

SMALL = ["--repeat", "1", "--mpiexec-timeout", "100"]


def bench(*arguments, cwd, expect=0):
    command = [sys.executable, "-m", "penstock_evaluation", *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, text=True, capture_output=True, timeout=240)
    assert done.returncode == expect, done.stdout + done.stderr
    return done.stdout + done.stderr


def records(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("ranks", [1, 3, 4, 64])
@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=list(PATTERNS))
def test_a_pattern_has_every_byte_once(pattern, ranks, tmp_path):
    total, path = 1 << 20, tmp_path / "f"
    parts = [pattern.part(total, ranks, rank) for rank in range(ranks)]
    assert sum(part.nbytes for part in parts) == total
    shape, dtype = pattern.shape(total), np.dtype(pattern.dtype)
    whole = np.zeros(shape, dtype)
    written = np.zeros(shape, int)
    for part in parts:
        memory = part.memory(filled=True)
        if part.section is None:
            continue
        indices = [[i for i in range(lo, up) if (i - lo) % st < bl] for lo, up, st, bl in part.section.dimensions]
        whole[np.ix_(*indices)] = memory[part.interior]
        written[np.ix_(*indices)] += 1
        memory[part.interior] = part.memory(filled=False)[part.interior]
        assert (memory.view(np.uint8) == UNTOUCHED).all()
    assert written.max() == 1 and (written.min() == 1) != pattern.tiles
    path.write_bytes(whole.tobytes())
    assert pattern.wrong_byte(path, total, ranks) is None
    path.write_bytes(bytes(whole.nbytes))
    pattern.fill(path, total, ranks, empty=False)
    assert path.read_bytes() == whole.tobytes()
    with open(path, "r+b") as f:  # one wrong byte, in a hole if there is one
        f.seek(at := 64 * 4 + 1 if pattern.tiles else 4711)
        f.write(bytes([whole.tobytes()[at] ^ 255]))
    assert pattern.wrong_byte(path, total, ranks) == at
    pattern.fill(path, total, ranks, empty=True)
    assert set(path.read_bytes()) == {HOLE}


@pytest.mark.parametrize("size", [1 << 24, 1 << 26, 100 << 20, 123456])
def test_sizes_are_met(size):
    for pattern in PATTERNS.values():
        wanted = sum(pattern.part(size, 4, rank).nbytes for rank in range(4))
        assert 0.7 * size < wanted <= size, pattern.name
    assert PATTERNS["block4"].shape(1 << 24) == (32, 32, 32, 64)
    assert PATTERNS["block-block"].shape(1 << 26) == (4096, 4096)


def test_neighbours_differ():
    from penstock import section

    elements = expected((64, 64), np.dtype("<i4"), section((0, 64), (0, 64)))
    assert len(np.unique(elements)) == 64 * 64 and HOLE not in elements


def test_peers(tmp_path):
    text = bench("peers", "--ranks", "4", "--size", "1M", "--output", "o", *SMALL, cwd=tmp_path)
    assert "x best" in text and "of the" in text and "element-gaps" in text and "new:" in text
    found = records(tmp_path / "o" / "peers.jsonl")
    runs = {r["run"] for r in found}
    # Two kinds of write with four methods, reads with three: a buffer is for writes.
    assert len(found) == 9 * (4 + 4 + 3) * len(runs)
    assert {r["pattern"] for r in found} == set(PATTERNS) and {r["ranks"] for r in found} == {4}
    for r in found:
        assert r["bytes"] == 1 << 20 and len(r["times"]) == r["repeat"] == len(r["of_rod_pairs"]) == 1
        assert 0 < r["seconds"] < 60 and r["cores"] >= 1 and r["mpi"] and r["device"] == "page cache"
        assert r["file"] == "existing" or r["operation"] == "write"
        if r["file"] == "new":
            assert 0 < r["open_times"][0] < 60 and 0 < r["close_times"][0] < 60
        if r["method"] == "penstock":
            moved = r["counts"]["bytes_written" if r["operation"] == "write" else "bytes_read"]
            assert moved >= r["bytes"] and set(r["phases"]) == {"plan", "exchange", "copy", "storage", "wait", "room"}
            assert r["hints"] == {"active_buffer_size": "0"}
    assert "penstock, buffered" not in {r["method"] for r in found if r["operation"] == "read"}
    for operation in ("write", "read"):
        assert (tmp_path / "o" / f"peers-{operation}.png").read_bytes().startswith(b"\x89PNG")
    left = ["peers-read.png", "peers-write.png", "peers.jsonl", "peers.md"]
    assert sorted(p.name for p in (tmp_path / "o").iterdir()) == left
    table = (tmp_path / "o" / "peers.md").read_text()
    assert table.count("| block4 |") == table.count("| block4, buffered |") == 1


def test_peers_of_one_kind_of_file(tmp_path):
    for arguments, series in ((["--files", "new", "--operations", "write"], {("write", "new")}),
                              (["--files", "existing"], {("write", "existing"), ("read", "existing")})):
        bench("peers", "--ranks", "1,2", "--size", "1M", "--patterns", "gaps", *arguments, *SMALL, cwd=tmp_path)
        found = records(tmp_path / "penstock-bench" / "peers.jsonl")
        assert {(r["operation"], r["file"]) for r in found} == series
        table = (tmp_path / "penstock-bench" / "peers.md").read_text()
        assert table.count("| gaps |") == 2  # a table for each rank count


def test_steps(tmp_path):
    (tmp_path / "disk").mkdir()
    text = bench("steps", "--experiments", "exchange", "--ranks", "2,3", "--sizes", "256K,1M", "--steps", "direct,step1,step5",
                 "--set-ups", "default", "--patterns", "block-block,tiles", "--operations", "write", "--on", "page-cache",
                 "--hint", "buffer_size=128K", "--folder", "disk", *SMALL, cwd=tmp_path)
    assert "write: speed" in text and "read: speed" not in text
    found = records(tmp_path / "penstock-bench" / "steps.jsonl")
    assert len(found) == 2 * 2 * 2 * 4
    by_method = {r["method"]: r for r in found}
    assert list(by_method) == ["rod", "direct", "step1", "step5"]
    hints = dict(by_method["step1"]["hints"])
    assert hints.pop("active_buffer_size", "0") == "0"  # what is measured is the exchange
    assert hints == {"method": "extended", "exchange": "step1", "buffer_size": "128K"}
    assert by_method["direct"]["carried_out_by"] == "direct" and "counts" not in by_method["rod"]
    names = sorted(p.name for p in (tmp_path / "penstock-bench").glob("*.png"))
    assert len(names) == 2 * (2 + 2 + 2) and names[:2] == ["steps-block-block-phases-1MiB.png", "steps-block-block-phases-256KiB.png"]
    assert not list((tmp_path / "disk").iterdir())


def test_steps_as_the_paper_has_them(tmp_path):
    """Every rank writes its whole share in one request; the phases of a call add up to its time; no baseline with a
    modelled device."""
    paced = "paced:bandwidth=50M,writers=1,slowdown=1"
    text = bench("steps", "--ranks", "3", "--sizes", "1M,900000G", "--steps", "step1,step5,node", "--on", f"page-cache,{paced}",
                 "--stagger", "3000", *SMALL, cwd=tmp_path)
    assert "900000 GiB: left out, for it needs" in text and "where the time goes, means of the ranks" in text
    assert "3000 us apart" in text and "section 4.1.2" in text
    found = records(tmp_path / "penstock-bench" / "steps.jsonl")
    assert {r["method"] for r in found if r["on"] == paced} == {r["method"] for r in found} - {"rod"}
    whole = [r for r in found if r.get("set_up") == "paper" or r["experiment"] == "staggered" and r["method"] != "rod"]
    assert {r["method"] for r in whole} == {"step1, whole shares", "step5, whole shares", "node, whole shares", "at once",
                                            "3000 us apart", "one at a time"}
    for r in whole:
        assert r["hints"]["aggregators"] == "3"
        assert r["counts"]["writes" if r["operation"] == "write" else "reads"] == 3, r["method"]
    for r in (r for r in found if r["method"] != "rod"):
        assert set(r["spent"]) == {"exchange", "copy", "storage", "wait", "rest"} and min(r["spent"].values()) >= 0
        assert sum(r["spent"].values()) >= 0.99 * r["seconds"]
    apart = next(r for r in found if r["method"] == "3000 us apart" and r["on"] == "page-cache")
    assert apart["seconds"] > 0.006  # the third rank waits for two
    names = {p.name for p in (tmp_path / "penstock-bench").glob("*.png")}
    assert names == {"steps-block-block-phases-1MiB.png", "steps-block-block-ranks-1MiB.png", "steps-staggered.png"}


def test_phases_of_threads_may_overlap():
    phases, spans = np.zeros((2, 1, len(PHASES))), np.array([[4.0], [2.0]])
    phases[:, 0, PHASES.index("storage")] = 3.0
    found = phase_seconds(phases, spans)[0]
    assert found == {"exchange": 0, "copy": 0, "storage": 3.0, "wait": 0, "rest": 0}
    phases[:, 0, PHASES.index("storage")], phases[:, 0, PHASES.index("plan")] = 1.0, 0.5
    found = phase_seconds(phases, spans)[0]
    assert found["rest"] == 1.5 and found["exchange"] == 0.5 and share({"spent": found}, "storage", "exchange") == 0.5


def test_errors_say_what_is_known(tmp_path):
    for arguments, words in ((["steps", "--steps", "step9"], "step 'step9' is not known; known are direct, step1"),
                             (["peers", "--patterns", "blok"], "known are block-block, column-block"),
                             (["peers", "--operations", "append"], "known are write, read"),
                             (["peers", "--files", "old"], "known are new, existing"),
                             (["steps", "--sizes", "64Q"], "is not a size"),
                             (["steps", "--set-ups", "ours"], "set-up 'ours' is not known; known are default, paper"),
                             (["steps", "--stagger", "0"], "stagger must be at least 1"),
                             (["steps", "--ranks", "0"], "ranks must be at least 1"),
                             (["peers", "--hint", "buffer_size"], "name=value"),
                             (["peers", "--hint", "bufer_size=1M"], "did you mean buffer_size? docs/hints.md describes all: method, "),
                             (["split", "--hint", "method=magic"], "method 'magic' is not known; known are auto, direct")):
        text = bench(*arguments, cwd=tmp_path, expect=2)
        assert text.startswith("evaluation: ") and words in text
    assert "\nevaluation: no size fits; choose smaller --sizes" in bench("steps", "--sizes", "900000G", cwd=tmp_path, expect=2)
    assert not list(tmp_path.iterdir())
    text = bench("peers", "--ranks", "2", "--size", "1M", "--patterns", "gaps", "--hint", "aggregators=9", *SMALL,
                 cwd=tmp_path, expect=1)
    assert text.count("penstock bench: ") == 1 and "number of ranks (2)" in text and "Traceback" not in text


def test_an_error_of_the_storage_ends_it(tmp_path):
    text = bench("peers", "--ranks", "2", "--size", "1M", "--patterns", "gaps", "--hint", "device=fault:write@0=EIO",
                 *SMALL, cwd=tmp_path, expect=1)
    assert text.count("penstock bench: ") == 1 and "Input/output error" in text
    assert [p.name for p in (tmp_path / "penstock-bench").iterdir()] == ["peers.jsonl"]


def test_a_wrong_file_and_a_wrong_read_end_it(mpirun):
    output = mpirun("""
import pytest
from mpi4py import MPI
from penstock._bench.methods import Memory
from penstock._bench.patterns import PATTERNS
from penstock._bench.worker import Bench, BenchError, Case

class Lazy:
    name, kind = "lazy", "Penstock"

class Idle:
    def round(self, order, writes, fresh):
        if fresh and comm.rank == 0:
            open(fresh, "wb").close()

comm = MPI.COMM_WORLD
pattern, total = PATTERNS["tiles"], 1 << 18
bench = Bench({"hints": {}, "on": "page-cache", "device": "."}, comm)
memory = Memory(pattern.part(total, comm.size, comm.rank))
bench.on_rank_0(lambda: bench._make(pattern, total, bench.path))
wrote = "lazy wrote a wrong file for pattern tiles on 2 ranks: the first wrong byte is 0"
read = "lazy: read of pattern tiles on 2 ranks went wrong: rank 0"
for operation, new, words in (("write", False, wrote), ("write", True, wrote), ("read", False, read)):
    with pytest.raises(BenchError, match=words):
        case = Case(pattern, total, memory, Idle(), [Lazy()], "peers", {})
        bench.check(case, 0, operation, new, bench.fresh if new else bench.path)
print("told")
""", 2)
    assert output.count("told") == 2


def test_turns_are_fair():
    orders = [turns(repetition, 3) for repetition in range(6)]
    assert orders == [[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 2, 1], [2, 0, 1], [1, 0, 2]]


def test_a_span_begins_together_and_ends_with_the_last(mpirun):
    """Late ranks delay all others, and the delay is in no span."""
    output = mpirun("""
import time
import numpy as np
from mpi4py import MPI
from penstock import section
from penstock._bench.methods import COLUMNS
from penstock._core import _Race, _Settings

comm = MPI.COMM_WORLD
race = _Race(MPI._addressof(comm))
race.rod(np.full(100, comm.rank + 1, np.uint8), 100 * comm.rank, False)
half = np.full((1, 100), 7 + comm.rank, np.uint8)
race.engine([3, 100], 1, _Settings({}), section((comm.rank, comm.rank + 1), (0, 100)), half, np.zeros_like(half))
for repetition in range(3):
    time.sleep(0.3 * (comm.rank == repetition))
    before, cpu = time.monotonic(), time.process_time()
    told = np.reshape(race.round([0, 1], True, "made-anew"), (2, COLUMNS))
    assert before < told[0, 0] and told[-1, 5] < time.monotonic()
    assert (np.diff(told[:, :6]) >= 0).all() and (np.diff(told[:, :6].ravel()) >= 0).all()
    begins, ends = np.array(comm.allgather(told[0, 0])), np.array(comm.allgather(told[0, 1]))
    spun = comm.allgather(time.process_time() - cpu)
    waited = comm.allgather(told[0, 0] - before)
    if comm.rank == 0:
        assert min(waited[r] for r in range(3) if r != repetition) > 0.2, waited
        assert np.ptp(begins) < 0.2 and (ends - begins).max() < 0.2
        assert min(spun) < 0.15, spun  # who waited was asleep
        assert open("made-anew", "rb").read() == b"".join(bytes([7 + r]) * 100 for r in range(3))
    comm.Barrier()
print("told")
""", 3)
    assert output.count("told") == 3


def test_a_run_that_takes_too_long_is_ended(tmp_path):
    begin = time.monotonic()
    text = bench("peers", "--ranks", "2", "--size", "256M", "--patterns", "cyclic", "--repeat", 100,
                 "--mpiexec-timeout", "2", cwd=tmp_path, expect=1)
    assert "did not end within 2 s" in text and time.monotonic() - begin < 30


def test_without_matplotlib_there_are_tables_and_a_word(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert pictures([{"command": "steps"}], tmp_path) == []
    assert "pip install matplotlib" in capsys.readouterr().err


def test_ratios_are_those_of_pairs_and_the_best_mpi_io_counts():
    def run(name, penstock, peer):
        common = {"command": "peers", "pattern": "p", "size": 1, "ranks": 2, "operation": "write", "file": "new",
                  "run": name, "mpi": "M"}
        times = {"rod": [1.0, 4.0, 1.0], "penstock": penstock, name: peer}
        kinds = {"rod": "rod", "penstock": "Penstock"}
        found = [{**common, "method": m, "kind": kinds.get(m, "MPI-IO"), "times": t, "open_times": [1.0] * 3, "close_times": [1.0] * 3}
                 for m, t in times.items()]
        compare_methods(found)
        return found

    # The second round was disturbed: separate medians of times would give 2.0 and 0.5.
    found = run("a", [2.0, 4.0, 2.0], [6.0, 6.0, 2.0]) + run("b", [2.0, 5.0, 1.0], [2.0, 5.0, 1.0])
    rod, penstock, peer = found[:3]
    assert penstock["of_rod_pairs"] == [0.5, 1.0, 0.5] and penstock["of_rod"] == 0.5
    assert penstock["of_mpi_io_pairs"] == [3.0, 1.5, 1.0] and penstock["of_mpi_io"] == 1.5
    assert penstock["snapshot_of_mpi_io"] == 8 / 6 and "of_mpi_io" not in peer and rod["of_rod"] == 1.0
    names, rows = summary(found)
    assert names[1:] == ["write, new file: of the baseline", "x best MPI-IO", "with open and close: x best MPI-IO"]
    assert rows == [["p", "0.65 ±0.22", "1.0", "1.0"]]
