"""`penstock_evaluation application` with small arrays: the counts of Thakur, Gropp & Lusk, its tables, and how it
ends."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from conftest import INTERRUPTIBLE
from penstock import ArgumentError
from penstock._bench import devices
from penstock_evaluation import application, application_report
from penstock_evaluation.application_plots import Frame

COMMAND = [sys.executable, "-m", "penstock_evaluation", "application", "--mpiexec-timeout", "100"]


@pytest.fixture(autouse=True)
def _program(request):
    if "without_program" in request.keywords:
        return
    try:
        application.find_program(None)
    except ArgumentError as error:
        pytest.skip(str(error))


def bench(*arguments, cwd, expect=0):
    done = subprocess.run([*COMMAND, *map(str, arguments)], cwd=cwd, text=True, capture_output=True, timeout=300)
    assert done.returncode == expect, done.stdout + done.stderr
    return done.stdout + done.stderr


def records(folder):
    return [json.loads(line) for line in (folder / "penstock-bench" / "application.jsonl").read_text().splitlines()]


def test_the_small_case_has_the_papers_counts(tmp_path):
    text = bench("--cases", "small", "--scale", 8, "--on", "page-cache", cwd=tmp_path)
    found = {r["way"]: r for r in records(tmp_path)}
    assert set(found) == set(application_report.WAYS)
    r = found["two-phase, as in the paper"]
    assert (r["cells"], r["places"], r["dumps"]) == ([16, 16, 8], [2, 2, 2], 4)
    assert r["open"]["count"] == r["close"]["count"] == 200 and "header_open" not in r
    share = 16 * 16 * 8 // 8  # elements of an array that a rank writes
    assert r["read"]["sizes"] == {"24": 1, str(4 * share): 48} and r["read"]["count"] == 49
    assert r["write"]["sizes"] == {"24": 24, str(share): 128, str(4 * share): 384} and r["write"]["count"] == 536
    assert r["write"]["bytes"] == 24 * 24 + share * 128 + 4 * share * 384
    # Between four of the eight parts of (*, *, block) and each block: 28 messages of data, as many of descriptors.
    assert r["communication"]["count"] == 70 * 56
    assert found["all to rank 0"]["write"]["count"] == 4 * (12 + 4 + 6)
    assert {name: size - 24 for name, size in r["files"].items()} == {
        "restart.dat": 24 * 8 * share, **{f"analysis-{i:06}.dat": 24 * 8 * share for i in (6, 11, 16, 21)},
        **{f"{kind}-{i:06}.dat": 8 * share for i in (6, 11, 16, 21) for kind in ("density", "pressure", "speed", "potential")}}
    for number in (1, 2, 3):
        assert f"Table {number}: " in text
    tables = (tmp_path / "penstock-bench" / "application.md").read_text()
    assert "| Write | 536 |" in tables and "| all to rank 0 |" in tables


def test_study_and_film(tmp_path):
    (tmp_path / "disk").mkdir()
    text = bench("--cases", "study,film", "--scale", 8, "--small-ranks", 2, "--iterations", 5, "--film-iterations", 6,
                 "--methods", "direct", "--on", "paced:bandwidth=1G,latency=100us", "--folder", "disk",
                 cwd=tmp_path)
    found = records(tmp_path)
    study = [r for r in found if r["case"] == "study"]
    assert len(study) == 6 and {(r["background"], r["buffer"]) for r in study} == {
        (mode, buffer) for mode in application.BACKGROUNDS for buffer in application.BUFFERS}
    slower = [{**r, "seconds": r["seconds"] + 1, "repetition": 1} for r in study]
    assert application_report.fastest([*slower, *study, *slower]) == study and len(found) == 7
    for r in study:
        assert r["device"].startswith("paced") and r["dumps"] == 1 and r["open"]["count"] == r["close"]["count"] == 14
        assert 0 < r["visible"] / r["ranks"] < r["seconds"] and r["computation"] > 0
    for name in ("application-study.png", "application-film.png"):
        assert name in text and (tmp_path / "penstock-bench" / name).read_bytes().startswith(b"\x89PNG")
    frames = [Frame.read(path, (16, 16, 8)) for path in sorted((tmp_path / "penstock-bench" / "film").iterdir())]
    assert len(frames) == 6 and all(a.time < b.time for a, b in zip(frames, frames[1:]))
    assert np.isclose(np.mean(10 ** frames[0].values), 1, atol=0.01)  # the mean density
    assert not list((tmp_path / "disk").iterdir())


def test_too_little_memory_or_disk_is_said_before(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(devices, "available_memory", lambda: 1 << 30)
    assert application._fitting(application.SMALL, tmp_path) == application.SMALL
    with pytest.raises(ArgumentError, match="too little memory: large, .*64 ranks, wants .* MiB, and there are 1024 MiB"):
        application._fitting(application.LARGE, tmp_path)
    large = replace(application.LARGE, ranks=8)
    assert application._fitting(large, tmp_path).cells == (128, 128, 64)
    assert "memory: large, 256x256x128" in capsys.readouterr().out
    monkeypatch.setattr(application.shutil, "disk_usage", lambda folder: type("Usage", (), {"free": 1 << 20}))
    with pytest.raises(ArgumentError, match="too little disk: small, .* and there are 1 MiB"):
        application._fitting(application.SMALL, tmp_path)


@pytest.mark.without_program
@pytest.mark.parametrize("named", [None, "nothing", "."])
def test_without_the_program_it_says_how_to_get_it(tmp_path, named):
    environment = {**os.environ, "PENSTOCK_BUILD": str(tmp_path)}
    program = ["--program", named] if named else []
    done = subprocess.run([*COMMAND[:3], "application", "--cases", "small", *program], cwd=tmp_path,
                          env=environment, text=True, capture_output=True, timeout=100)
    assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
    missing = f"the application '{named}' is not there" if named else "the application that is measured, jeans, a C++ program, is not built"
    for words in (missing, "make evaluation ARGS=application", "cmake -S evaluation/jeans", "--program"):
        assert words in " ".join(done.stderr.split()), done.stderr


def test_wrong_arguments(tmp_path):
    for arguments, words in ((["--cases", "medium"], "known are small, large, study, film"),
                             (["--methods", "magic"], "known are auto, direct"),
                             (["--program", "nothing"], "the application 'nothing' is not there"),
                             (["--hint", "bufer_size=1M"], "there is no hint 'bufer_size'")):
        text = bench(*arguments, cwd=tmp_path, expect=2)
        assert text.startswith("evaluation: ") and words in text
    text = bench("--cases", "small", "--scale", 8, "--small-ranks", 64, "--on", "page-cache", cwd=tmp_path, expect=1)
    assert text.count("jeans: 16 x 16 x 8 cells on 64 ranks") == 1


def test_interrupted(tmp_path):
    running = subprocess.Popen([*INTERRUPTIBLE, *COMMAND, "--cases", "study", "--scale", "8", "--small-ranks", "2", "--iterations", "5",
                                "--on", "page-cache", "--repeat", "100"], cwd=tmp_path, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
                               env={**os.environ, "PYTHONUNBUFFERED": "1"})
    results = tmp_path / "penstock-bench" / "application.jsonl"
    end = time.monotonic() + 100
    while time.monotonic() < end and not (results.exists() and results.read_text().count("\n") >= 2):
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    text = running.communicate(timeout=60)[0]
    assert running.returncode == 130, text
    assert "interrupted" in text and "Reads and writes / total" in text and "Traceback" not in text
    assert len(records(tmp_path)) >= 2
    left = [p.name for p in (tmp_path / "penstock-bench").iterdir()]
    assert not [name for name in left if name.startswith("penstock-bench-")]  # the files of the run
    for _ in range(100):
        told = subprocess.run(["pgrep", "-f", str(tmp_path)], text=True, capture_output=True).stdout
        if not told:
            break
        time.sleep(0.1)
    assert not told  # ranks get folders in there
