"""One HTML page of measurements, with its pictures in it: no other file is needed to read it."""

from __future__ import annotations

import base64
import os
import platform
import subprocess
from collections import Counter
from datetime import datetime, timezone
from html import escape
from pathlib import Path
from typing import Any

from penstock._bench.devices import available_memory

from .findings import Finding, Outcome

HOW_TO_READ = """<p><b>reproduced</b>: all of the interval of what was measured is between half and twice what the paper found, on
the same side of 1. <b>order reproduced</b>: it is on the same side, with another size. <b>differs</b>: it is on the other side.
<b>undecided</b>: the interval is on both sides, or there is one value only. <b>bound only</b>: only the least time of one side is known, which was not run.
Intervals hold the median with 95 % confidence; of fewer than six rounds they hold all of them. On a <i>modelled device</i>
(paced: ...) each request costs a fixed time, which is the effect that most of the papers study: what is reproduced there shows
that requests are formed and overlapped as the paper's method does, not how fast a real parallel file system is. Times are in
milliseconds unless a table says otherwise.</p>
"""
STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em; color: #222; }
table { border-collapse: collapse; font-size: 13px; margin: .6em 0 1.4em; }
caption { text-align: left; font-weight: 600; white-space: pre-line; padding: .4em 0; }
th, td { padding: .15em .6em; border-bottom: 1px solid #ddd; vertical-align: bottom; }
th { white-space: pre-line; border-bottom: 2px solid #888; }
tr.end td { border-bottom: 1px solid #888; }
table.found { width: 100%; } .found td { vertical-align: top; } .found td:nth-child(1) { width: 12%; }
.found td:nth-child(2) { width: 32%; } .found td:nth-child(4) { width: 9%; white-space: nowrap; }
.right { text-align: right; } .wide { overflow-x: auto; } img { max-width: 100%; }
.holds { color: #06660d; } .fails { color: #a31515; } .unknown { color: #666; }
"""


class Sheet:
    """Collects the output of a report, for a page."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def print(self, what: Any, **_: Any) -> None:
        from rich.table import Table

        if isinstance(what, Table):
            self.parts.append(_table(what))

    @property
    def html(self) -> str:
        return "\n".join(self.parts)


def _table(table: Any) -> str:
    head = "".join(f"<th class='{c.justify}'>{escape(str(c.header))}</th>" for c in table.columns)
    cells = zip(*(list(column.cells) for column in table.columns))
    rows = []
    for row, texts in zip(table.rows, cells):
        told = "".join(f"<td class='{c.justify}'>{escape(str(text))}</td>" for c, text in zip(table.columns, texts))
        rows.append(f"<tr{' class=end' if row.end_section else ''}>{told}</tr>")
    return (f"<div class=wide><table><caption>{escape(str(table.title))}</caption><tr>{head}</tr>\n" + "\n".join(rows)
            + "</table></div>")


def picture(path: Path) -> str:
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    return f"<figure><img alt='{escape(path.stem)}' src='data:image/png;base64,{data}'></figure>"


#: How an outcome looks.
_KIND = {Outcome.reproduced: "holds", Outcome.order: "holds", Outcome.differs: "fails"}


def overview(found: dict[str, list[Finding]]) -> str:
    """The first screen: how many findings and aims of each experiment came out how, and those that did not hold."""
    verdicts = [*(outcome.value for outcome in Outcome), "met", "MISSED"]
    counts = {title: Counter(f.verdict for f in some) for title, some in found.items() if some}
    shown = [verdict for verdict in verdicts if any(count[verdict] for count in counts.values())]
    head = "".join(f"<th class=right>{escape(verdict)}</th>" for verdict in shown)
    rows = "\n".join(f"<tr><td><a href='#{escape(title)}'>{escape(title)}</a></td>"
                     + "".join(f"<td class=right>{count[verdict] or ''}</td>" for verdict in shown) + "</tr>"
                     for title, count in counts.items())
    table = f"<table><caption>Findings of the papers, and aims, by how they came out here</caption><tr><th></th>{head}</tr>\n{rows}</table>"
    failed = [f for some in found.values() for f in some if f.outcome is Outcome.differs]
    lines = "\n".join(f"<li>{escape(f.device)}: {escape(f.paper)}; here: {escape(f.here)} <span class=fails>({escape(f.verdict)})"
                      "</span></li>" for f in failed)
    return table + HOW_TO_READ + (f"<details><summary>The {len(failed)} that differ, or are missed</summary><ul>{lines}</ul></details>"
                                  if failed else "")


def findings_table(found: list[Finding]) -> str:
    """The papers' findings or our aims, and the results here."""
    if not found:
        return ""
    rows = "\n".join(f"<tr><td>{escape(f.device)}</td><td>{escape(f.paper)}{_source(f)}</td><td>{escape(f.here)}</td>"
                     f"<td class={_KIND.get(f.outcome, 'unknown')}>{escape(f.verdict)}</td></tr>" for f in found)
    return ("<table class=found><caption>What was found, and what is wanted</caption><tr><th>where</th><th>found, or wanted</th><th>here</th>"
            f"<th></th></tr>\n{rows}</table>")


def _source(f: Finding) -> str:
    return f" <em>({escape(f.source)})</em>" if f.source else ""


def machine(folder: Path) -> dict[str, str]:
    """The properties of the machine that the figures depend on."""
    from penstock import __version__
    from penstock._core import mpi_library_version

    cpu = [line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    load = ", ".join(f"{n:.1f}" for n in os.getloadavg())
    return {
        "when": f"{datetime.now(timezone.utc):%Y-%m-%d %H:%M} UTC",
        "cores": f"{len(os.sched_getaffinity(0))} of {os.cpu_count()}; {cpu[0] if cpu else platform.machine()}",
        "free memory": f"{available_memory() / 2**30:.1f} GiB", "system": f"{platform.system()} {platform.release()}",
        "file system": _file_system(folder), "MPI": " ".join(mpi_library_version().split())[:100],
        "Penstock": f"{__version__}, commit {_commit()}, Python {platform.python_version()}", "load before": f"{load} (1, 5 and 15 minutes)"}


def _commit() -> str:
    """Of the sources."""
    found = subprocess.run(["git", "describe", "--always", "--dirty", "--abbrev=10"], cwd=Path(__file__).parent, text=True,
                           capture_output=True)
    return found.stdout.strip() or "unknown"


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _file_system(folder: Path) -> str:
    """Of the longest mount point above the folder."""
    place, best, kind = folder.resolve(), "", "unknown"
    for line in _lines("/proc/self/mounts"):
        _, point, name, *_ = line.split()
        if place.is_relative_to(point) and len(point) >= len(best):
            best, kind = point, name
    return kind


def page(facts: dict[str, str], found: dict[str, list[Finding]], sections: list[tuple[str, str]], notice: str) -> str:
    """`found`: by the titles of the sections, of which there are title and HTML; `notice`: what is to be known first."""
    about = "".join(f"<tr><td>{escape(k)}</td><td>{escape(v)}</td></tr>" for k, v in facts.items())
    body = "\n".join(f"<h2 id='{escape(title)}'>{escape(title)}</h2>\n{html}" for title, html in sections)
    links = " · ".join(f"<a href='#{escape(title)}'>{escape(title)}</a>" for title, _ in sections)
    warning = f"<p class=fails>{escape(notice)}</p>" if notice else ""
    return (f"<!doctype html><html lang=en><meta charset=utf-8><title>The five papers, measured again</title><style>{STYLE}</style>\n"
            f"<h1>The five papers, measured again</h1>{warning}\n{overview(found)}\n<table><caption>Where and when</caption>{about}"
            f"</table>\n<p>{links}</p>\n{body}</html>\n")
