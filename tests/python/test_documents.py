"""The programs of the tutorial, run as a reader would run them, and their output.

A block that follows `<!-- run: ranks=N -->` is a program; those of one page run in one folder, in
order. One that follows `<!-- prints -->` is what the program before it prints.
"""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"<!-- (run: ranks=(?P<ranks>\d+)|prints) -->\n```\w+\n(?P<text>.*?)\n```", re.DOTALL)
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if BLOCK.search(page.read_text())]


def test_the_tutorials_pages_are_found():
    assert len(PAGES) >= 4


# Packages that a page's programs import, beside those that Penstock itself needs.
NEEDS = {"formats": ("h5py", "h5netcdf", "xarray"), "zarr": ("zarr", "xarray"), "checkpoints": ("safetensors",)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_pages_programs(page, mpirun):
    for package in NEEDS.get(page.stem, ()):
        pytest.importorskip(package)
    blocks = list(BLOCK.finditer(page.read_text()))
    marks = re.findall(r"<!-- (?:run|prints)", page.read_text())
    assert len(blocks) == len(marks), "a mark without a block behind it"
    output = None
    for block in blocks:
        if block["ranks"]:
            output = mpirun(block["text"], int(block["ranks"]))
        else:
            assert output.strip() == block["text"].strip()
