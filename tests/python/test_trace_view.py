"""The page of a trace: its content, and that a browser shows it."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
import zlib
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from traces import IO_LANE, names, record, write_trace

from penstock._trace.events import KINDS, Trace, load
from penstock._trace.reading import FILE, KIND, LANE, RECORD
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


#: Names as whoever makes up a trace can choose them, and what must not be in the page.
NAMES = ("</script><script>document.title=1</script>", "<!--<script>", "<img src=x onerror=document.title=1>",
         "\u2028'\"&", "constructor")


def hostile(folder: Path) -> Trace:
    """The names are those of kinds, files, threads, the host and the program."""
    def renamed(number: int, kinds: "tuple[str, ...]" = KINDS) -> bytes:
        table = names([(KIND, i + 1, kind) for i, kind in enumerate(kinds)] + [(KIND, 50, NAMES[number]),
                      (FILE, 1, NAMES[number]), (LANE, 0, NAMES[number])])
        return table.ljust(65536 - 4096, b"\0")

    for number, name in enumerate(NAMES):
        path = write_trace(folder, [record("file write", 0, 1, bytes=1, offset=0),
                                    {**record("copy", 2, 1), "kind": 50}], rank=number, ranks=len(NAMES))
        raw = bytearray(path.read_bytes())
        raw[4096:65536] = renamed(number)
        for at in (80, 144):
            raw[at:at + 64] = name.encode()[:64].ljust(64, b"\0")
        path.write_bytes(raw)
    return load(folder)


def test_names_are_text_in_the_page_whatever_they_are(tmp_path: Path) -> None:
    page, _ = page_of(hostile(tmp_path))
    assert json.loads(part(page, "about"))["files"][1] == NAMES[0] and "&lt;/script&gt;" in page
    assert page.count("<script") == page.count("</script") == 3 and "<!--" not in page and "<img" not in page
    assert "\u2028" not in page and "innerHTML" not in page


def test_the_page_forbids_all_but_its_own_script(tmp_path: Path) -> None:
    page, _ = page_of(two_ranks(tmp_path))
    policy = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page)
    assert policy and page.index(policy[0]) < page.index("<style>")
    said = dict(part.split(" ", 1) for part in policy[1].split("; "))
    assert said["default-src"] == said["base-uri"] == said["form-action"] == "'none'"
    for tag in ("script", "style"):
        text = page.split(f"<{tag}>")[1].split(f"</{tag}>")[0]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert said[f"{tag}-src"] == f"'sha256-{digest}'"


@needs_browser
def test_a_browser_shows_hostile_names_as_text_and_runs_none(tmp_path: Path) -> None:
    page = page_of(hostile(tmp_path / "traces"))[0]
    # Injected scripts do not run.
    (tmp_path / "page.html").write_text(page.replace("</body>", "<script>document.title = 1</script></body>"))
    shown = browse(tmp_path / "page.html", "--dump-dom")
    assert f'data-ready="{2 * len(NAMES)}"' in shown and "<title>Penstock trace</title>" in shown
    assert "</i>&lt;!--&lt;script&gt;</li>" in shown and "</i>constructor</li>" in shown


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
