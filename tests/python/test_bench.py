"""`penstock bench` with small arrays, and its conclusions."""

import json
import subprocess
import sys

import pytest
from penstock._bench.report import advice

pytestmark = pytest.mark.ranks


def bench(*arguments, cwd, expect=0):
    command = [sys.executable, "-m", "penstock", "bench", *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, text=True, capture_output=True, timeout=240)
    assert done.returncode == expect, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_it_compares_with_mpi_io_and_leaves_nothing_in_the_folder(tmp_path):
    place = tmp_path / "place"
    place.mkdir()
    text = bench(place, "--ranks", "2", "--size", "1M", "--patterns", "block-block", "--repeat", "3", cwd=tmp_path)
    records = [json.loads(line) for line in (tmp_path / "penstock-bench/bench.jsonl").read_text().splitlines()]
    assert list(place.iterdir()) == []
    assert {r["kind"] for r in records} == {"rod", "Penstock", "MPI-IO"}
    for series in ("write, new file", "write, existing file", "read"):
        assert f"{series}, 2 ranks" in text
    for words in ("contiguous", "buffer_size=32M", "aggregators=2", "penstock, buffered", "pays"):
        assert words in text


def test_checkpoints_beside_what_programs_do_without(tmp_path):
    pytest.importorskip("safetensors")
    place = tmp_path / "place"
    place.mkdir()
    text = bench("checkpoint", place, "--ranks", "2", "--size", "1M", "--tensors", "7", "--repeat", "2", cwd=tmp_path)
    records = [json.loads(line) for line in (tmp_path / "penstock-bench/checkpoint.jsonl").read_text().splitlines()]
    assert list(place.iterdir()) == []
    assert [(r["what"], r["way"]) for r in records] == 2 * [
        ("save", "penstock"), ("save", "penstock, wait=False"), ("save", "gather, safetensors"), ("save", "np.save of each rank"),
        ("load", "penstock"), ("load", "safetensors")]
    assert all(0 < r["visible"] <= r["seconds"] for r in records)
    assert "x as fast as gather, safetensors" in text and "load, 1048576 bytes, 2 ranks, in other shards" in text


def test_errors_say_what_is_known(tmp_path):
    for arguments, words in ((["--patterns", "blok"], "known are block-block, column-block"), (["--size", "64Q"], "is not a size"),
                             (["--ranks", "0"], "ranks must be at least 1"), (["--hint", "bufer_size=1M"], "there is no hint 'bufer_size'; did you mean buffer_size?")):
        assert words in bench(*arguments, cwd=tmp_path, expect=2)


def test_a_setting_pays_where_most_repetitions_are_faster():
    def record(method, times, file="new"):
        return {"kind": "Penstock", "method": method, "pattern": "p", "ranks": 4, "operation": "write", "file": file, "run": "",
                "on": "page-cache", "times": times}

    default = record("penstock", [2.0, 2.0, 2.0, 2.0])
    assert advice([default, record("aggregators=1", [1.0, 1.0, 1.0, 3.0])])[0].startswith("aggregators=1 pays for write, new file: 2.00")
    assert advice([default, record("aggregators=1", [1.0, 2.0, 2.0, 3.0])])[0].startswith("No setting pays")
    assert advice([record("aggregators=1", [1.0] * 4, "existing"), default])[0].startswith("No setting pays")  # not with one of its kind
