"""One HTML page of measurements, with its pictures in it: no other file is needed to read it."""

from __future__ import annotations

import base64
import os
import platform
from datetime import datetime, timezone
from html import escape
from pathlib import Path
from typing import Any

from penstock._bench.devices import available_memory

from .findings import Finding

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


def findings_table(found: list[Finding]) -> str:
    """The papers' findings or our aims, and the results here."""
    if not found:
        return ""
    kind = {True: "holds", False: "fails", None: "unknown"}
    rows = "\n".join(f"<tr><td>{escape(f.device)}</td><td>{escape(f.paper)}{_source(f)}</td><td>{escape(f.here)}</td>"
                     f"<td class={kind[f.holds]}>{escape(f.verdict)}</td></tr>" for f in found)
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
        "Penstock": f"{__version__}, Python {platform.python_version()}", "load before": f"{load} (1, 5 and 15 minutes)"}


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


def page(facts: dict[str, str], sections: list[tuple[str, str]], notice: str) -> str:
    """`sections`: title and HTML of each; `notice`: what the reader should know first."""
    about = "".join(f"<tr><td>{escape(k)}</td><td>{escape(v)}</td></tr>" for k, v in facts.items())
    body = "\n".join(f"<h2 id='{escape(title)}'>{escape(title)}</h2>\n{html}" for title, html in sections)
    links = " · ".join(f"<a href='#{escape(title)}'>{escape(title)}</a>" for title, _ in sections)
    warning = f"<p class=fails>{escape(notice)}</p>" if notice else ""
    return (f"<!doctype html><html lang=en><meta charset=utf-8><title>penstock_evaluation all</title><style>{STYLE}</style>\n"
            f"<h1>penstock_evaluation all</h1>{warning}<p>{links}</p><table>{about}</table>\n{body}</html>\n")
