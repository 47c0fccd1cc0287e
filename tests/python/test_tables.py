"""Uses of the library's tables of hints and statistics: the Python package, the command's options, the documents."""

import dataclasses
import importlib.util
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import penstock as ps

ROOT = Path(__file__).resolve().parents[2]
HINTS = {hint.name: hint for hint in ps.hints()}


def test_hints_are_described(tmp_path):
    buffer, depth, method, device = (HINTS[name] for name in ("buffer_size", "io_depth", "method", "device"))
    assert (buffer.unit, buffer.default, buffer.minimum, buffer.maximum) == ("bytes", "auto", 1, None)
    assert (depth.scope, depth.minimum, depth.maximum, depth.planned) == ("file", 1, 1024, False)
    assert method.choices[0] == method.default == "auto" and method.minimum is None and method.planned
    assert (device.scope, device.common, device.default) == ("file", False, "")
    assert "buffer_size" in repr(buffer) and "64K" in repr(buffer)
    with ps.open(tmp_path / "a", "w", shape=(2,), dtype="f8", hints={h.name: h.default for h in HINTS.values()}) as f:
        assert set(f.hints) == set(HINTS)


@pytest.mark.parametrize("name", [name for name, hint in HINTS.items() if hint.scope == "file"])
def test_calls_refuse_what_the_table_has_as_the_files(tmp_path, name):
    other = HINTS[name].choices[-1] if HINTS[name].choices else "17" if HINTS[name].minimum else "fault:sync@0=EIO"
    with ps.open(tmp_path / "a", "w", shape=(2,), dtype="f8") as f:
        with pytest.raises(ps.ArgumentError, match=f"{name} is a setting of the file and not of a call"):
            f.write(np.ones(2), ..., **{name: other})


def test_explain_takes_hints_and_no_other_names():
    assert ps.explain((8, 8), "f8", [...], method="gather")["method"] == "gather"
    with pytest.raises(ps.ArgumentError, match="no hint 'metod'; did you mean method"):
        ps.explain((8, 8), "f8", [...], metod="gather")
    with pytest.raises(ps.ArgumentError, match="order 'Z' is not known; known are C, F"):
        ps.explain((8, 8), "f8", [...], order="Z")


def explain(*options):
    done = subprocess.run([sys.executable, "-m", "penstock", "explain", "--shape", "512,512", "--kind", "block,block",
                           *options], text=True, capture_output=True, timeout=120,
                          env={**os.environ, "COLUMNS": "100"})
    return done.stdout + done.stderr


def test_the_command_has_an_option_for_each_hint_of_plans():
    usage = explain("--help")
    for name, hint in HINTS.items():
        assert (f"--{name.replace('_', '-')} " in usage) == hint.planned, name
    assert explain("--stripe-size", "64Q").startswith("penstock: stripe_size: '64Q' is not a size")
    assert "extended, node (asked for)" in explain("--method", "extended", "--active-buffer-size", "0", "--buffer-size", "1M")


@pytest.mark.parametrize("name", [name for name, hint in HINTS.items() if hint.planned and name != "method"])
def test_hints_of_plans_change_the_plan(name):
    """For some request; plans do not depend on any other hint."""
    paces = ("", "paced:bandwidth=100M", "paced:bandwidth=100M,latency=1ms")
    sizes = ("1", "3", "8") if HINTS[name].unit == "ranks" else ("512", "4K", "1M")
    values = HINTS[name].choices or (paces if name == "device" else sizes)
    texts = set()
    for rule in ("extended", "block-cyclic", "aligned"):
        for value in values:
            fixed = {"method": "extended", "buffer_size": "1M", **({"domains": rule, "stripe_size": "4K"} if rule != "extended" else {})}
            plan = ps.explain((512, 4096), "f8", [(slice(None, None, 2), slice(r, None, 8)) for r in range(8)], cores=8,
                              **{**fixed, name: value})
            texts.add((rule, plan["text"]))
    assert len(texts) > 3, f"{name} has no effect on any plan"


def test_statistics_are_values():
    names = [field.name for field in ps.Statistics.fields()]
    some = ps.Statistics(writes=2, reads=1, time_wait=0.5)
    assert (some.system_calls, some.time_wait, some.messages) == (3, 0.5, 0)
    assert some == pickle.loads(pickle.dumps(some)) and hash(some) == hash(pickle.loads(pickle.dumps(some)))
    assert some != ps.Statistics() and some != 3 and ps.Statistics() == ps.Statistics()
    assert repr(some).startswith("Statistics(reads=1, writes=2, ") and all(f"{name}=" in repr(some) for name in names)
    assert list(vars(some)) == names and dataclasses.asdict(some) == vars(some)
    assert dataclasses.replace(some, reads=9).system_calls == 11 and [f.name for f in dataclasses.fields(some)] == names
    assert eval(repr(some), {"Statistics": ps.Statistics}) == some
    with pytest.raises(AttributeError):
        some.reads = 3
    with pytest.raises(TypeError, match="no 'read'"):
        ps.Statistics(read=1)
    with pytest.raises(TypeError):
        ps.Statistics(reads="many")


def test_the_documents_have_the_tables_of_the_library(tmp_path, monkeypatch, capsys):
    spec = importlib.util.spec_from_file_location("doc_tables", ROOT / "scripts" / "doc_tables.py")
    tables = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tables)
    monkeypatch.setattr(sys, "argv", ["doc_tables.py", "--check"])
    assert tables.main() == 0, capsys.readouterr().out
    for page in ("hints.md", "statistics.md"):  # and it does see a table that is not theirs
        stale = (ROOT / "docs" / page).read_text().replace("bytes", "octets", 3)
        (tmp_path / "docs").mkdir(exist_ok=True)
        (tmp_path / "docs" / page).write_text(stale)
    monkeypatch.setattr(tables, "DOCS", tmp_path / "docs")
    assert tables.main() == 1 and "docs/hints.md" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["doc_tables.py"])
    assert tables.main() == 0 and "octets |" not in (tmp_path / "docs" / "statistics.md").read_text()


def test_the_documents_have_all_environment_variables():
    """In the sources, strings of this form are only used as names of variables."""
    text = (ROOT / "docs" / "hints.md").read_text().split("## Environment variables")[1].split("\n## ")[0]
    documented = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    sources = [path for folder in ("src", "bindings", "python", "include") for path in (ROOT / folder).rglob("*")
               if path.suffix in (".cpp", ".hpp", ".h", ".c", ".py")]
    read = {name for path in sources for name in re.findall(r'"(PENSTOCK_[A-Z_]+)"', path.read_text())}
    script = (ROOT / "bindings/mpi_io/penstock-run").read_text()
    read |= set(re.findall(r"\$\{(PENSTOCK_[A-Z_]+)", script))
    assert len(documented) > 3 and sorted(documented) == sorted(read)
