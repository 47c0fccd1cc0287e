"""The command, and the README's examples, as a new user runs them."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import penstock as ps

ROOT = Path(__file__).resolve().parents[2]


def penstock(*arguments, cwd=None, expect=0, timeout=300):
    done = subprocess.run([sys.executable, "-m", "penstock", *map(str, arguments)], cwd=cwd, text=True,
                          capture_output=True, timeout=timeout)
    assert done.returncode == expect, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("words, expected", [
    (["benhc"], "'benhc' is not known; known are demo, run, explain, verify, trace, bench; did you mean bench?"),
    (["trace", "nonsense"], "'nonsense' is not known; known are "),
    (["trace", "veiw"], "did you mean view?")])
def test_an_unknown_command_or_experiment_lists_the_known_ones(words, expected):
    text = penstock(*words, expect=2)
    assert expected in " ".join(re.sub("[│╭╮╰╯─]", " ", text).split())


def test_demo(tmp_path):
    text = penstock("demo", "--size", 24, "--steps", 8, "--snapshots", 2, cwd=tmp_path)
    for method in ("direct", "sieved", "gather", "two-phase", "extended", "auto"):
        assert method in text
    assert "byte-identical" in text and "as NumPy sees it" in text
    folder = tmp_path / "penstock-demo"
    assert (folder / "heat.png").read_bytes().startswith(b"\x89PNG")
    last = np.load(folder / "heat_0008.npy", mmap_mode="r")
    assert last.shape == (24, 24, 24) and 0 <= last.min() and last.max() <= 100
    assert sorted(p.name for p in folder.iterdir()) == ["heat.png", "heat_0000.npy", "heat_0004.npy", "heat_0008.npy"]


def test_demo_of_an_own_volume(tmp_path):
    np.save(tmp_path / "mine.npy", np.asfortranarray(np.random.default_rng(0).integers(0, 9, (7, 11, 5)).astype("i2")))
    penstock("demo", "--input", "mine.npy", "--steps", 2, "--snapshots", 1, "--ranks", 3, "--output", "o", cwd=tmp_path)
    assert np.array_equal(np.load(tmp_path / "o" / "heat_0000.npy"), np.load(tmp_path / "mine.npy"))
    np.save(tmp_path / "flat.npy", np.ones((4, 4)))
    assert "needs 3 dimensions" in penstock("demo", "--input", "flat.npy", cwd=tmp_path, expect=1)


def test_a_program_that_has_started_mpi_itself_may_start_ranks(tmp_path):
    """Open MPI 4 leaves variables behind that make mpiexec end silently."""
    script = """
import subprocess, sys
from mpi4py import MPI
subprocess.run([sys.executable, "-m", "penstock", "demo", "--size", "8", "--steps", "1", "--snapshots", "1"], check=True)
"""
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True, timeout=300)
    assert (tmp_path / "penstock-demo" / "heat.png").exists()


def test_explain():
    text = penstock("explain", "--shape", "4096,4096", "--dtype", "f4", "--order", "F", "--ranks", 16, "--section",
                    "(1+32p:16+32p:1, 1:4096:1)", "--cores", 4)
    assert "(0:496, 0:4096)" in text and "14 more ranks" in text and re.search(r"sieved\n", text)
    text = penstock("explain", "--shape", "512,512", "--kind", "block,block", "--read", "--method", "gather")
    assert "gather, node (asked for)" in text and "constants (copies measured on this machine" in text
    request = ["explain", "--shape", "512,512", "--kind", "block,block"]
    text = penstock(*request, "--no-measure")
    assert "constants (copies assumed, storage assumed)" in text and text == penstock(*request, "--no-measure")
    text = penstock(*request, "--device", "paced:bandwidth=100M,latency=1ms")
    assert "storage as modelled" in text and re.search(r"device +0\.10 GB/s, 1e\+03 us a call", text)
    assert penstock(*request, "--device", "pace", expect=2).startswith("penstock: ")
    text = penstock("explain", "/dev/shm")
    assert text.startswith("file system       tmpfs (from statfs)\npage caches       those of its hosts agree (by the type)")
    assert "O_DIRECT          does not work (tried)" in text and "locks             byte-range locks can be had (tried)" in text
    text = penstock(*request[:1], "/dev/shm/new.npy", *request[1:])
    assert "tmpfs" in text and "method   " in text and not Path("/dev/shm/new.npy").exists()
    for arguments in (["--shape", "8"], [], ["/nowhere/x.npy"], ["--shape", "x", "--kind", "block"], ["--shape", "8", "--kind", "blok"],
                      ["--shape", "8", "--section", "(1:9)"]):
        assert penstock("explain", *arguments, expect=2).startswith("penstock: ")


def test_version():
    version = re.search(r"project\(penstock VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
    assert ps.__version__ == version and penstock("--version").startswith(f"penstock {version}, with ")
    settings = (ROOT / "pyproject.toml").read_text()
    place = re.search(r"metadata.version\].*?input = \"(.*?)\"\nregex = '(.*?)'", settings, re.DOTALL)
    assert re.search(place[2], (ROOT / place[1]).read_text())["value"] == version


def test_the_first_examples_are_the_files_that_run(mpirun):
    for page, file in (("README.md", "examples/python/blocks.py"), ("docs/languages.md", "examples/cxx/blocks.cpp")):
        assert (ROOT / file).read_text().strip() in (ROOT / page).read_text(), f"{file} is not what {page} shows"
    output = mpirun((ROOT / "examples/python/blocks.py").read_text(), 4)
    assert "(512, 512)" in output


@pytest.mark.parametrize("file", ["README.md", "CONTRIBUTING.md", *sorted(
    str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))])
def test_links_of_the_documentation_lead_somewhere(file):
    text = (ROOT / file).read_text()
    for target in re.findall(r"\]\((?!http)([^)#]+)", text):
        assert (ROOT / file).parent.joinpath(target).exists(), f"{file} links to {target}"
