"""`penstock bench` in small, and its patterns."""

import json
import subprocess
import sys
import time

import numpy as np
import pytest

from penstock._bench.patterns import HOLE, PATTERNS, UNTOUCHED, expected
from penstock._bench.report import compare, plots

SMALL = ["--repeat", "1", "--mpiexec-timeout", "60"]


def bench(*arguments, cwd, expect=0):
    command = [sys.executable, "-m", "penstock", "bench", *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, text=True, capture_output=True, timeout=120)
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
    text = bench("peers", "--ranks", "2,4", "--size", "1M", "--output", "o", *SMALL, cwd=tmp_path)
    assert "x best" in text and "of the" in text and "element-gaps" in text
    found = records(tmp_path / "o" / "peers.jsonl")
    runs = {r["run"] for r in found}
    assert len(found) == 2 * 9 * 2 * 3 * len(runs)
    assert {r["pattern"] for r in found} == set(PATTERNS) and {r["ranks"] for r in found} == {2, 4}
    for r in found:
        assert r["bytes"] == 1 << 20 and len(r["times"]) == r["repeat"] == 1 and r["seconds"] > 0
        assert r["cores"] >= 1 and r["mpi"] and r["device"] == "page cache"
        if r["method"] == "penstock":
            moved = r["counts"]["bytes_written" if r["operation"] == "write" else "bytes_read"]
            assert moved >= r["bytes"] and set(r["phases"]) == {"plan", "exchange", "copy", "storage", "wait"}
    for operation in ("write", "read"):
        assert (tmp_path / "o" / f"peers-{operation}.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(p.name for p in (tmp_path / "o").iterdir()) == ["peers-read.png", "peers-write.png", "peers.jsonl"]


def test_steps(tmp_path):
    (tmp_path / "disk").mkdir()
    text = bench("steps", "--ranks", "2,3", "--sizes", "256K,1M", "--steps", "direct,step1,step5", "--patterns",
                 "block-block,tiles", "--operations", "write", "--hint", "buffer_size=128K", "--device", "disk",
                 *SMALL, cwd=tmp_path)
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
    assert len(names) == 8 and names[0] == "steps-block-block-ranks-1MiB.png"
    assert not list((tmp_path / "disk").iterdir())


def test_errors_say_what_is_known(tmp_path):
    for arguments, words in ((["steps", "--steps", "step9"], "step 'step9' is not known; known are direct, step1"),
                             (["peers", "--patterns", "blok"], "known are block-block, column-block"),
                             (["peers", "--operations", "append"], "known are write, read"),
                             (["steps", "--sizes", "64Q"], "is not a size"),
                             (["steps", "--ranks", "0"], "ranks must be at least 1"),
                             (["peers", "--hint", "buffer_size"], "name=value")):
        text = bench(*arguments, cwd=tmp_path, expect=2)
        assert text.startswith("penstock: ") and words in text
    assert not list(tmp_path.iterdir())
    text = bench("peers", "--ranks", "2", "--size", "1M", "--patterns", "gaps", "--hint", "method=magic", *SMALL,
                 cwd=tmp_path, expect=1)
    assert text.count("penstock bench: ") == 1 and "extended" in text and "Traceback" not in text


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
from penstock._bench.worker import Bench, BenchError

class Lazy:
    name = "lazy"
    def write(self): pass
    def read(self): pass

comm = MPI.COMM_WORLD
pattern, total = PATTERNS["tiles"], 1 << 18
bench = Bench({"hints": {}, "device": "."}, comm)
memory = Memory(pattern.part(total, comm.size, comm.rank))
bench.on_rank_0(lambda: bench._make(pattern, total, bench.path))
for operation, words in (("write", "lazy wrote a wrong file for pattern tiles on 2 ranks: the first wrong byte is 0"),
                         ("read", "lazy read pattern tiles on 2 ranks wrongly: rank 0")):
    with pytest.raises(BenchError, match=words):
        bench.check(Lazy(), operation, pattern, total, memory, bench.path)
print("told")
""", 2)
    assert output.count("told") == 2


def test_a_run_that_takes_too_long_is_ended(tmp_path):
    begin = time.monotonic()
    text = bench("peers", "--ranks", "2", "--size", "256M", "--patterns", "cyclic", "--repeat", 100,
                 "--mpiexec-timeout", "2", cwd=tmp_path, expect=1)
    assert "did not end within 2 s" in text and time.monotonic() - begin < 30


def test_without_matplotlib_there_are_tables_and_a_word(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert plots([{"command": "steps"}], tmp_path) == []
    assert "pip install matplotlib" in capsys.readouterr().err


def test_the_best_mpi_io_is_that_with_the_lowest_ratio():
    def record(run, method, seconds):
        return {"command": "peers", "pattern": "p", "size": 1, "ranks": 2, "operation": "write", "run": run,
                "method": method, "seconds": seconds}

    found = [record("a", "penstock", 2.0), record("a", "a", 3.0), record("b", "penstock", 1.0), record("b", "b", 1.2)]
    compare(found)
    assert [r.get("of_mpi_io") for r in found] == [1.5, None, 1.2, None]
    assert found[0]["of_best"] == found[2]["of_best"] == 1.2
