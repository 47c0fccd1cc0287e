"""`penstock_evaluation sections` with small arrays, and the paper's tables."""

import json
import subprocess
import sys

import numpy as np
import pytest
from penstock import ArgumentError, Section
from penstock_evaluation import sections as command
from penstock_evaluation.paper_tables import ROWS, TABLES
from penstock_evaluation.sections_report import best_of, cases_of, findings, of_best, times_as_long
from penstock_evaluation.sections_worker import NOBODYS, WORD, fill, wrong_byte


def bench(*arguments, cwd, expect=0):
    done = subprocess.run([sys.executable, "-m", "penstock_evaluation", "sections", *map(str, arguments)], cwd=cwd, text=True,
                          capture_output=True, timeout=240)
    assert done.returncode == expect, done.stdout + done.stderr
    return done.stdout + done.stderr


def row(table, name, operation="read"):
    return next(r for r in ROWS if (r.table, r.name) == (table, name) and (table < 7 or r.operation == operation))


def test_the_tables_have_all_rows():
    count = {table: sum(r.table == table for r in ROWS) for table in TABLES}
    assert count == {1: 6, 2: 8, 3: 6, 4: 6, 5: 5, 6: 5, 7: 12, 8: 8}
    assert {r.table for r in ROWS if r.operation == "write"} == {4, 6, 7, 8}
    for r in ROWS:
        assert set(r.seconds) == ({16} if r.table < 7 else {4, 8, 16, 32, 64, 128}), r.cited
        for ranks in r.seconds:
            assert r.extent(ranks) <= r.size == (16384 if r.table == 8 else 4096), r.cited
        if r.table < 7:  # a row of reads is printed once more for writes
            assert r.seconds[16].static >= r.seconds[16].dynamic
    assert [r.section for r in ROWS if r.table == 3] == [r.section for r in ROWS if r.table == 4]
    assert [r.section for r in ROWS if r.table == 5] == [r.section for r in ROWS if r.table == 6]


# Elements of the section of rank 3 of 16, its columns and rows (from 0, half-open, stride), the runs of neighbouring
# bytes that it has, and times of direct and dynamic: counted out from the printed tables.
PRINTED = {
    (1, "III"): (401 * 401, (399, 800, 1), (399, 800, 1), 401, 6.265, 1.056),
    (1, "VI"): (4096 * 16, (0, 16, 1), (0, 4096, 1), 1, 1.216, 0.420),
    (2, "I"): (100 * 100, (30, 130, 1), (0, 100, 1), 100, 2.000, 0.693),
    (2, "VIII"): (201 * 201, (499, 700, 1), (499, 700, 1), 201, 3.104, 1.739),
    (3, "IV"): (16 * 4096, (0, 4096, 1), (96, 112, 1), 4096, 51.63, 4.823),
    (3, "V"): (201 * 512, (600, 1112, 1), (799, 1000, 1), 512, 5.466, 3.912),
    (4, "VI"): (32 * 1024, (300, 1324, 1), (96, 128, 1), 1024, 8.233, 4.274),
    (5, "I"): (256 * 256, (3, 4096, 16), (3, 4096, 16), 256 * 256, 210.8, 9.330),
    (5, "III"): (167 * 167, (600, 1100, 3), (600, 1100, 3), 167 * 167, 87.19, 4.387),
    (6, "IV"): (32 * 667, (499, 2500, 3), (192, 256, 2), 32 * 667, 71.35, 7.279),
    (6, "V"): (667 * 32, (192, 256, 2), (499, 2500, 3), 667 * 32, 79.24, 4.405),
    (8, "VI"): (16 * 8001, (3999, 12000, 1), (60, 76, 1), 8001, 127.3, 32.88),
}


@pytest.mark.parametrize("place", PRINTED, ids=lambda place: f"{place[0]}-{place[1]}")
def test_a_row_is_as_printed(place):
    elements, columns, rows, runs, direct, dynamic = PRINTED[place]
    r = row(*place)
    section = r.section_of(3, 16)
    assert section.size == elements and r.requests(3, 16, r.size) == runs
    for (lower, upper, stride, _), wanted in zip(section.dimensions, (columns, rows)):
        assert (lower, stride, len(range(lower, upper, stride))) == (wanted[0], wanted[2], len(range(*wanted)))
    assert (r.seconds[16].direct, r.seconds[16].dynamic) == (direct, dynamic)


def test_ratios_are_those_that_the_text_tells():
    ratios = [round(r.seconds[16].ratio, 1) for r in ROWS if r.table == 5]
    assert ratios == [22.6, 18.7, 19.9, 25.0, 55.9]
    assert [round(row(7, "VIII").seconds[n].ratio) for n in (4, 128)] == [42, 112]
    assert round(row(7, "V", "write").seconds[4].ratio, 2) == 0.40
    assert round(row(8, "I").seconds[128].ratio) == 51


def test_a_wrong_file_is_found(tmp_path):
    path, size = str(tmp_path / "f"), 64
    sections = [Section._of([(2, 20, 3, 1), (5, 9, 1, 1)]), Section._of([(8, 30, 1, 1), (7, 64, 2, 1)])]  # these overlap
    fill(path, size, whole=True)
    right = np.fromfile(path, WORD).reshape(size, size)
    assert len(np.unique(right)) == size * size and NOBODYS not in right
    for spoilt, place in ((None, None), ((5, 6), (5 * 64 + 6) * 4), ((63, 63), (64 * 64 - 1) * 4)):
        fill(path, size, whole=False)
        there = np.memmap(path, WORD, "r+", shape=(size, size))
        there[2:20:3, 5:9], there[8:30, 7:64:2] = right[2:20:3, 5:9], right[8:30, 7:64:2]
        if spoilt:
            there[spoilt] = 0
        assert wrong_byte(path, size, sections) == place
    fill(path, size, whole=False)
    assert wrong_byte(path, size, sections) == (2 * 64 + 5) * 4


def test_a_small_run(tmp_path):
    text = bench("--tables", "1,4,6", "--rows", "I,VI", "--ranks", "2,4", "--size", "640", "--repeat", 2, "--on",
                 "page-cache,paced:bandwidth=1G,latency=100us", "--longest", "2", "--mpiexec-timeout", 100, cwd=tmp_path)
    out = tmp_path / "penstock-bench"
    found = [json.loads(line) for line in (out / "sections.jsonl").read_text().splitlines()]
    # Table 1, VI and Table 6, I have all of 4096 rows, Table 4, VI more columns than these arrays.
    assert text.count("does not fit into 640 x 640") == 6
    cited = {r["cited"] for r in found}
    assert cited == {"Table 1, I", "Table 4, I"}, cited
    assert len(found) == 2 * 2 * 2 * 6
    for r in found:
        assert r["bytes"] == r["ranks"] * 100 * 100 * 4 and len(r["times"]) == r["repeat"] <= 2 and "paper" not in r
        assert r["moved"] >= (40000 if r["table"] == 1 else r["bytes"]) or r["on"] == "page-cache"
    direct = [r for r in found if r["method"] == "direct" and r["on"] != "page-cache"]
    assert {r["requests"] for r in direct} == {200, 400} and {r["hints"]["method"] for r in direct} == {"direct"}
    assert all(r["hints"]["aggregators"] == str(r["ranks"]) for r in found if r["method"].startswith("paper-"))
    for words in ("page cache, 2 ranks: milliseconds", "latency=100us, 4 ranks: what reached the storage", "auto is at most 5 %"):
        assert words in text
    assert len(list(out.glob("sections-*.png"))) == 2 * 3  # for two and for four ranks, and over ranks
    assert not [p for p in out.iterdir() if p.is_dir()]


def test_what_takes_too_long_is_left_out_in_words(tmp_path):
    text = bench("--tables", "5", "--rows", "I", "--ranks", "16", "--size", "4096", "--on",
                 "paced:bandwidth=10G,latency=1ms", "--longest", "3", "--methods", "direct,dynamic", "--repeat", 1, cwd=tmp_path)
    assert "65536 requests, one after the other, take 66 s at least (--longest 3)" in text and "> 6.55e+04" in text
    found = [json.loads(line) for line in (tmp_path / "penstock-bench" / "sections.jsonl").read_text().splitlines()]
    assert {r["method"]: r.get("at_least") for r in found} == {"direct": 65.536, "dynamic": None}
    assert all(r["paper"] == {"direct": 210.8, "static": 9.33, "dynamic": 9.33} for r in found)


def test_errors_say_what_is_known(tmp_path):
    for arguments, words in ((["--tables", "9"], "table '9' is not known; known are 1, 2, 3, 4, 5, 6, 7, 8, or all"),
                             (["--tables", "1", "--rows", "VIII"], "row 'VIII' is not known; known are I, II, III, IV, V, VI"),
                             (["--tables", "1", "--operations", "write"], "tables 1 have no rows that write"),
                             (["--methods", "magic"], "known are direct, paper-static, paper-dynamic, static, dynamic, auto"),
                             (["--size", "16"], "no row fits"),
                             (["--on", "tape"], "--on 'tape' is not known")):
        assert words in bench(*arguments, cwd=tmp_path, expect=2)
    assert not list(tmp_path.glob("penstock-bench/*"))


def test_too_little_room_is_said_before_the_run(tmp_path, monkeypatch):
    cases = [(row(8, "I"), 16384, 64), (row(1, "I"), 4096, 16)]
    assert "1.0 GiB of disk" in command.check_room(cases, tmp_path / "not" / "there")
    monkeypatch.setattr(command, "available_memory", lambda: 100 << 20)
    with pytest.raises(ArgumentError, match=r"5\.\d GiB of memory for .* are needed, and 100 MiB are free; choose fewer --ranks"):
        command.check_room(cases, tmp_path)
    monkeypatch.setattr(command.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 1 << 20}))
    with pytest.raises(ArgumentError, match="1.0 GiB on the disk of .* are needed, and 1 MiB are free"):
        command.check_room(cases, tmp_path)


def measured(cited, device, paper, **times):
    common = {"cited": cited, "on": device, "device": device, "ranks": 16, "size": 4096, "table": 3, "paper": paper}
    return [{**common, "method": name.replace("_", "-"), "carried_out_by": "extended", **({"times": value, "seconds": float(np.median(value))}
             if isinstance(value, list) else {"at_least": value})} for name, value in times.items()]


def test_findings_are_made_of_the_numbers():
    paper = {"direct": 4.0, "static": 2.0, "dynamic": 1.0}
    good = measured("Table 3, I", "d", paper, direct=9.0, dynamic=[2.0, 2.0, 4.0], auto=[2.0, 2.0, 4.0],
                    paper_static=[3.0] * 3, paper_dynamic=[2.0, 2.0, 4.0])
    case = cases_of(good)[0]
    assert times_as_long(case, "direct", "dynamic") == [4.5] * 3  # the least that direct could take
    assert best_of(case, list(case)) in ("dynamic", "auto") and of_best(case) == [1.0] * 3
    assert [f.verdict for f in findings(good)] == ["bound only", "bound only", "reproduced", "met", "met"]
    assert "0 of 0 of these; 1 more are bounds only" in str(findings(good)[0])
    bad = measured("Table 3, II", "d", paper, direct=[1.0] * 3, dynamic=[2.0] * 3, auto=[1.2] * 3,
                   paper_static=[1.0] * 3, paper_dynamic=[2.0] * 3)
    found = findings(good + bad)
    assert [f.verdict for f in found] == ["differs", "differs", "differs", "MISSED", "MISSED"]
    assert "0 of 1 of these; not Table 3, II on 16 ranks (0.50); 1 more are bounds only" in found[0].here
    assert "4.0 times" in found[1].paper and "0.5 times" in found[1].here  # of what was measured
    assert "behind in Table 3, II on 16 ranks (2.00;" in found[3].here
    assert "behind in Table 3, II on 16 ranks (1.20; best direct, auto took extended)" in found[4].here
