"""The page of a trace: what is in it, and that a browser shows it."""

import base64
import json
import re
import shutil
import subprocess
import zlib
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from traces import IO_LANE, record, write_trace

from penstock._trace.events import KINDS, Trace, load
from penstock._trace.reading import RECORD
from penstock._trace.view import coverage, page_of

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
browser = next((path for path in map(shutil.which, BROWSERS) if path), None)
needs_browser = pytest.mark.skipif(browser is None, reason="there is no Chromium")


def two_ranks(folder: Path) -> Trace:
    for rank in (0, 1):
        write_trace(folder, [record("open", 0, 10), record("write", 10, 80, bytes=1 << 20, offset=0, operation=1),
                             record("copy", 20, 10, bytes=1 << 20),
                             record("file write", 30, 60, bytes=1 << 20, offset=rank << 20, lane=IO_LANE),
                             record("in flight", 10, 85), record("close", 95, 5)], rank=rank, ranks=2)
    return load(folder)


def many(folder: Path, count: int) -> Trace:
    records = np.zeros(count, RECORD)
    records["kind"] = [KINDS.index(kind) + 1 for kind in ("write", "copy", "wait", "file write")] * (count // 4)
    records["begin"], records["duration"] = np.arange(count) * 1000, 900
    records["bytes"], records["offset"], records["index"] = 4096, np.arange(count) * 4096, np.arange(count)
    write_trace(folder, records)
    return load(folder)


def part(page: str, name: str) -> str:
    found = re.search(rf'<script type="[^"]*" id="{name}">(.*?)</script>', page, re.DOTALL)
    assert found
    return found[1]


def browse(page: Path, *options: str) -> str:
    """The page as it is once its script has run."""
    assert browser is not None
    done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=30000",
                           f"--user-data-dir={page.parent / 'profile'}", "--window-size=1200,900", *options,
                           f"{page.as_uri()}#measure"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_page_has_every_event_and_needs_nothing_else(tmp_path: Path) -> None:
    page, count = page_of(two_ranks(tmp_path))
    assert count == 12
    about = json.loads(part(page, "about"))
    data = zlib.decompress(base64.b64decode(part(page, "data")))
    array = {name: np.frombuffer(data, where["type"], where["count"], where["at"])
             for name, where in about["arrays"].items()}
    assert array["begin"].tolist() == [0, 10e6, 95e6, 20e6, 30e6, 10e6] * 2
    assert array["bytes"].sum() == 6 << 20 and set(array["offset"].tolist()) == {-1.0, 0.0, float(1 << 20)}
    assert [lane["thread"] for lane in about["lanes"]] == ["main thread", "I/O thread 77", "in flight"] * 2
    assert [(row["lane"], row["level"]) for row in about["rows"]][:4] == [(0, 0), (0, 1), (1, 2), (2, 0)]

    class Links(HTMLParser):
        found: list[str] = []

        def handle_starttag(self, tag: str, attrs: "list[tuple[str, str | None]]") -> None:
            self.found += [value or "" for name, value in attrs if name in ("src", "href")]

    Links().feed(page)
    assert Links.found == [] and "import(" not in page and "@import" not in page


def test_names_of_files_cannot_end_the_script(tmp_path: Path) -> None:
    path = write_trace(tmp_path, [record("file write", 0, 1, bytes=1, offset=0)])
    path.write_bytes(path.read_bytes().replace(b"data.raw", b"</scrip"b">"))
    page, _ = page_of(load(tmp_path))
    assert json.loads(part(page, "about"))["files"] == ["", "</scrip>"] and "&lt;/scrip&gt;" in page


@pytest.mark.parametrize("seed", range(5))
def test_levels_of_detail_have_all_of_the_time(tmp_path: Path, seed: int) -> None:
    draw = np.random.default_rng(seed)
    begins, durations = draw.integers(0, 900, 200), draw.integers(0, 100, 200)
    trace = load(write_trace(tmp_path, [record("copy", int(b), int(d)) for b, d in zip(begins, durations)]).parent)
    bins = 64
    span = trace.seconds * 1e9
    cover = coverage(trace.events, span, bins)
    assert cover.sum() * span / bins == pytest.approx(float(trace.events["duration"].sum()))
    edges = np.arange(bins + 1) * span / bins
    begin, end = trace.events["begin"][:, None], (trace.events["begin"] + trace.events["duration"])[:, None]
    plain = np.clip(np.minimum(end, edges[1:]) - np.maximum(begin, edges[:-1]), 0, None).sum(axis=0) * bins / span
    assert cover == pytest.approx(plain, abs=1e-6)


@needs_browser
def test_a_browser_shows_it_and_zooms_by_keys(tmp_path: Path) -> None:
    trace = two_ranks(tmp_path / "traces")
    (tmp_path / "page.html").write_text(page_of(trace)[0])
    shown = browse(tmp_path / "page.html", "--dump-dom")
    assert 'data-ready="12"' in shown and "12 events of 2 ranks in 100 ms" in shown
    narrowest = re.search(r'data-narrowest="([\d.]+)"', shown)
    assert narrowest and float(narrowest[1]) < trace.seconds * 1e9 / 1000
    assert 'value="1">data.raw</option>' in shown and "</i>file write</li>" in shown


@needs_browser
def test_what_is_drawn_is_where_it_belongs(tmp_path: Path) -> None:
    from matplotlib.image import imread

    (tmp_path / "page.html").write_text(page_of(two_ranks(tmp_path / "traces"))[0])
    browse(tmp_path / "page.html", f"--screenshot={tmp_path / 'page.png'}")
    picture = (imread(tmp_path / "page.png")[:, :, :3] * 255).round().astype(int)
    columns = {name: np.nonzero((abs(picture[122:330] - colour).max(axis=2) < 3).any(axis=0))[0]
               for name, colour in (("write", (0xd8, 0x45, 0x2f)), ("file write", (0xa8, 0x2a, 0x1f)))}
    for name, duration in (("write", 80), ("file write", 60)):
        drawn = columns[name][columns[name] > 200]  # beside the names
        assert drawn.max() - drawn.min() == pytest.approx(duration / 100 * 1010, rel=0.06), name


@needs_browser
@pytest.mark.slow
def test_a_million_events_do_not_stall_it(tmp_path: Path) -> None:
    page, count = page_of(many(tmp_path / "traces", 1_000_000))
    assert count == 1_000_000
    (tmp_path / "page.html").write_text(page)
    shown = browse(tmp_path / "page.html", "--dump-dom")  # with 60 pictures, in less than its time limit
    assert 'data-ready="1000000"' in shown and "1,000,000 events of 1 ranks" in shown
