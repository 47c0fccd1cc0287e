"""`penstock_evaluation all`: its page, its table of experiments, and what ^C leaves."""

import json
import re
import signal
import subprocess
import sys
import time
from html import escape
from pathlib import Path

import pytest
from conftest import INTERRUPTIBLE
from penstock_evaluation import everything
from penstock_evaluation.background_findings import abt_findings
from penstock_evaluation.experiments import EXPERIMENTS, Experiment
from penstock_evaluation.findings import Finding, Interval, Outcome, compared, on_its_side
from penstock_evaluation.page import Sheet, findings_table, overview
from penstock_evaluation.report import shown_on
from penstock_evaluation.split_findings import split_findings
from penstock_evaluation.steps_findings import peers_findings, steps_findings

ALL = [sys.executable, "-m", "penstock_evaluation", "all"]


def test_an_unknown_experiment_lists_the_known_ones(tmp_path):
    done = subprocess.run([*ALL, "--experiments", "steps,magic"], cwd=tmp_path, text=True, capture_output=True, timeout=60)
    assert done.returncode == 2
    assert "experiment 'magic' is not known; known are sections, outofcore, steps, peers, split, abt" in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_page_of_all(tmp_path):
    done = subprocess.run([*ALL, "--small", "--out", "o"], cwd=tmp_path, text=True, capture_output=True, timeout=400)
    assert done.returncode == 0, done.stdout + done.stderr
    html = (tmp_path / "o" / "index.html").read_text()
    for experiment in EXPERIMENTS.values():
        part = html[html.index(f"<h2 id='{escape(experiment.title)}'>") :].split("<h2", 2)[1]
        assert "src='data:image/png;base64," in part and part.count("<caption>") >= 2, experiment.name
        assert f"python -m penstock_evaluation {experiment.name} {experiment.small.split()[0]}" in part
        assert re.search("reproduced|differs|undecided|not comparable|met|MISSED", part), experiment.name
        assert f"{experiment.name}: took" in done.stdout
    # It refers to no other files.
    assert "not run yet" not in html and not re.search(r"(src|href)='(?!data:|#)", html)
    for words in ("cores", "file system", "Penstock", "Table 1, I", "Thakur and Choudhary", "section 4.1, Figure 2"):
        assert words in html


def is_alive(pid):
    return (Path("/proc") / str(pid)).exists()


def descendants(pid):
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in children] + [d for child in children for d in descendants(child)]


def test_interrupting_ends_all_ranks_and_keeps_what_is_there(tmp_path):
    process = subprocess.Popen([*INTERRUPTIBLE, *ALL, "--experiments", "sections,steps", "--out", "o"], cwd=tmp_path, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for line in process.stdout:
        if "Table 1, II" in line:  # one row is measured, others are under way
            break
    ranks = descendants(process.pid)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=100)
    assert process.returncode == 130, errors
    assert len(ranks) > 16
    deadline = time.monotonic() + 20
    while (left := [pid for pid in ranks if is_alive(pid)]) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not left
    assert "sections: interrupted" in errors and "Traceback" not in errors
    out = tmp_path / "o"
    records = [json.loads(line) for line in (out / "sections" / "sections.jsonl").read_text().splitlines()]
    assert records and {r["cited"] for r in records} >= {"Table 1, I"}
    html = (out / "index.html").read_text()
    assert "interrupted: only what was measured until then is here" in html
    assert "Table 1, I</td>" in html and "not run yet" in html  # steps
    assert not [p for p in (out / "sections").iterdir() if p.is_dir()]  # the file that was read


def test_one_that_fails_is_told_and_others_go_on(tmp_path, monkeypatch, capsys):
    broken = Experiment("steps", "Broken", "--steps magic", "--steps magic", print, lambda records: [])
    fine = EXPERIMENTS["peers"]
    monkeypatch.setattr(everything, "EXPERIMENTS", {"steps": broken, "peers": fine})
    with pytest.raises(everything.typer.Exit) as leaving:
        everything.everything(tmp_path / "o", "all", small=True)
    assert leaving.value.exit_code == 1
    assert "steps: ended with status 2" in capsys.readouterr().err
    html = (tmp_path / "o" / "index.html").read_text()
    assert "step &#x27;magic&#x27; is not known" in html and "of the\nrod" in html and "nothing was measured" in html


def test_findings_and_tables_are_text_and_not_markup():
    from rich.table import Table

    table = Table(title="a < b")
    table.add_column("x", justify="right")
    table.add_row("<script>")
    sheet = Sheet()
    with shown_on(sheet):
        from penstock_evaluation.report import console

        console().print(table)
    assert "<th class='right'>x</th>" in sheet.html and "&lt;script&gt;" in sheet.html and "a &lt; b" in sheet.html
    found = [Finding("a", "b <c>", "d", "e", Outcome.not_measured), Finding("f <g>", "", "d", "h", Outcome.differs)]
    html = findings_table(found)
    assert "not measured" in html and "MISSED" in html and "b &lt;c&gt;" in html
    first = overview({"One": found, "Two": []})
    assert "f &lt;g&gt;; here: h" in first and "<th class=right>MISSED</th>" in first and "Two" not in first


def test_verdicts_have_two_sides():
    def of(low, high):
        return Interval(low, (low + high) / 2, high, 5)

    assert compared(of(4, 9), 6, 6) is Outcome.reproduced  # half to twice
    assert compared(of(2.1, 2.2), 6, 6) is compared(of(60, 66), 6, 6) is Outcome.order
    assert compared(of(0.9, 1.2), 6, 6) is Outcome.undecided and compared(of(0.4, 0.9), 6, 6) is Outcome.differs
    assert compared(of(0.3, 0.4), 0.5, 0.5) is Outcome.reproduced and compared(of(1.1, 2), 0.5, 0.5) is Outcome.differs
    assert compared(of(0.0, 0.5), 0.4, 0.4, neutral=0) is Outcome.undecided  # nothing may be saved
    assert compared(of(0.05, 0.1), 0.4, 0.75, neutral=0) is Outcome.order and compared(None, 1, 2) is Outcome.not_measured
    assert compared(Interval(6, 6, 6), 6, 6) is Outcome.undecided  # measured once
    assert on_its_side(of(2.1, 3), 2, more=True) is Outcome.reproduced and on_its_side(of(1, 2.5), 2, more=True) is Outcome.undecided
    assert on_its_side(of(1, 1.5), 2, more=True) is Outcome.differs


def test_intervals_hold_the_median():
    assert Interval.of([3.0, 1.0, 2.0]) == Interval(1.0, 2.0, 3.0, 3)
    assert Interval.of([float(n) for n in range(1, 10)]) == Interval(2.0, 5.0, 8.0, 9)  # of nine the second and the eighth
    assert Interval.between([2.0, 9.0], [1.0, 3.0]) == Interval(2.0, 2.5, 3.0, 2)
    assert Interval(0.25, 0.5, 0.75, 3).saved.text(".0%") == "50% (25% to 75%)" and Interval(2, 2, 2).text(".1f") == "2.0 (once)"


def verdicts(found):
    return [f.verdict for f in found]


def test_findings_of_the_steps_are_computed():
    def writes(set_up="paper", on="page-cache", ranks=16, size=1 << 20, storage=0.25, **times):
        return [{"operation": "write", "experiment": "exchange", "pattern": "p", "ranks": ranks, "size": size, "device": on, "on": on,
                 "method": f"{name}, whole shares", "step": name, "set_up": "any" if name == "direct" else set_up, "times": [t] * 3,
                 "seconds": t, "spent": {"exchange": 0.25, "copy": 0.25, "wait": 0.25, "rest": 0.0, "storage": storage}}
                for name, t in times.items()]

    found = steps_findings(writes(direct=8.0, step1=4.0, step2=2.0, step3=2.5, step4=1.5, step5=1.0))
    assert verdicts(found) == ["order reproduced", "reproduced", "reproduced", "differs", "reproduced", "not comparable", "not comparable"]
    assert found[0].here == "+100 (+100 to +100) %" and "-20 (-20 to -20) % against step 2" in found[3].here
    assert found[5].here == "75% (16 ranks)"
    assert verdicts(steps_findings(writes(direct=1.0, step1=4.0))) == ["differs"] + ["not measured"] * 4
    # The paper's own set-up counts where it was measured; the other says nothing then.
    found = steps_findings(writes(step1=4.0, step2=2.0) + writes("default", step1=2.0, step2=4.0))
    assert found[1].outcome is Outcome.reproduced
    found = steps_findings(writes(step5=2.0) + writes(ranks=64, storage=2.25, step5=2.0) + writes(on="o-direct", ranks=64, step5=0.5))
    assert [(f.here, f.verdict) for f in found if "redistribution takes" in f.paper][0] == (
        "75% (16 ranks), 25% (64 ranks)", "order reproduced")
    assert [(f.here, f.verdict) for f in found if "O_DIRECT makes" in f.paper] == [("step 5 4.00 (4.00 to 4.00) times as fast", "reproduced")]
    together = {"experiment": "staggered", "operation": "write", "device": "d", "ranks": 4, "size": 1024, "method": "at once", "times": [3.0] * 2}
    found = steps_findings([together, {**together, "method": "200 us apart", "times": [2.0] * 2}, {**together, "method": "rod", "times": [1.0] * 2}])
    assert [(f.here, f.verdict) for f in found] == [("1.50 (1.50 to 1.50) times, 200 us apart", "reproduced")]
    record = {"command": "peers", "kind": "Penstock", "method": "penstock", "operation": "read", "pattern": "p", "file": "existing", "ranks": 4}
    assert verdicts(peers_findings([{**record, "of_mpi_io": 2.0}])) == ["met"]
    slower = peers_findings([{**record, "of_mpi_io": 2.0}, {**record, "pattern": "q", "of_mpi_io": 0.5}])
    assert verdicts(slower) == ["MISSED"] and "slower: q, existing file (0.50)" in slower[0].here


def test_findings_of_split_collectives_are_computed():
    def split(experiment, method, of_none, on="page-cache", slowdown=0.0):
        mode, _, priority = method.partition(", ")
        return {"operation": "write", "device": on, "on": on, "ranks": 4, "experiment": experiment, "method": method, "mode": mode,
                "priority": priority or "auto", "times": [of_none, 2 * of_none], "slowdown": slowdown}

    none = [split(name, "none", 1.0) for name in ("independent", "computation", "communication")]
    tie = split_findings([split("independent", "storage", 0.6), split("computation", "storage", 0.5),
                          split("computation", "all", 0.5), split("communication", "storage", 0.5), *none])
    assert verdicts(tie) == ["reproduced", "reproduced", "reproduced", "undecided", "differs"]
    half = "saved 50% (50% to 50%)"
    assert tie[0].here == "saved 40% (40% to 40%)" and f"whole: {half}; write alone: {half}" in tie[2].here
    assert verdicts(split_findings([split("computation", "all", 0.5), none[1]])) == ["not measured"] * 5
    found = split_findings([split("computation", "storage", 0.99, "o-direct"), split("computation", "none", 1.0, "o-direct"),
                            split("communication", "storage", 1.25, "o-direct", 0.4),
                            split("communication", "storage, idle", 0.75, "o-direct", 0.1),
                            split("communication", "none", 1.0, "o-direct", 0.0)])
    assert verdicts(found) == ["not measured", "order reproduced", "not measured", "reproduced", "reproduced", "reproduced", "reproduced"]
    assert "saved -25%" in found[4].here and "+40% time (storage)" in found[5].here
    assert found[6].here == "storage, idle: 0.60 (0.60 to 0.60) of the time as it is"


def test_findings_of_active_buffering_are_computed():
    def write(method, gb_per_s):
        return {"experiment": "throughput", "pattern": "block3", "device": "d", "ranks": 4, "method": method, "times": [1 / gb_per_s] * 3}

    def jacobi(method, seconds, visible):
        return {"experiment": "jacobi", "pattern": "b", "device": "d", "ranks": 4, "method": method, "snapshots": 4,
                "seconds": seconds, "times": [seconds] * 2, "visible": visible}

    found = abt_findings([write("unbuffered", 1.0), write("half", 0.9), write("twice", 6.0),
                          jacobi("unbuffered", 10.0, 8.0), jacobi("twice", 4.0, 2.0)])
    assert verdicts(found) == ["reproduced", "differs", "reproduced"]

    def pretest(request, of_serial):
        return {"experiment": "pretest", "device": "d", "ranks": 4, "foreground": "broadcast", "request": request, "method": "parallel",
                "of_serial_pairs": [of_serial] * 2, "slowdown": 0.25}

    alike = abt_findings([pretest(1024, 0.5), pretest(2048, 0.55)])
    assert verdicts(alike) == ["reproduced", "reproduced"]
    assert alike[0].here == ("1 KiB: 0.50 (0.50 to 0.50), 2 KiB: 0.55 (0.55 to 0.55) of it; the broadcast is slower by 25% to 25%")
    assert verdicts(abt_findings([pretest(1024, 0.5), pretest(2048, 1.0)])) == ["undecided", "differs"]

    def servers(variance, ratio):
        return {"experiment": "servers", "device": "d", "ranks": 4, "variance": variance, "method": "twice",
                "of_unbuffered_pairs": [ratio] * 2}

    assert verdicts(abt_findings([servers(0.0, 1.1), servers(1.0, 0.8)])) == ["reproduced"]
    assert verdicts(abt_findings([servers(0.0, 0.8), servers(1.0, 0.8)])) == ["undecided"]
    assert verdicts(abt_findings([servers(0.0, 0.8), servers(1.0, 0.9)])) == ["differs"]
    slower = abt_findings([jacobi("unbuffered", 10.0, 8.0), jacobi("twice", 4.0, 2.0) | {"computation": 3.0},
                           jacobi("no snapshots", 2.0, 0.0) | {"snapshots": 0, "computation": 2.0}])
    assert slower[1].here == "+50% with 4 snapshots, room for twice" and slower[1].outcome is Outcome.order
    assert found[0].here == "6.00 (6.00 to 6.00) times" and found[2].here == "up to 60% (60% to 60%) shorter (4 snapshots), with 25% of the visible I/O"
