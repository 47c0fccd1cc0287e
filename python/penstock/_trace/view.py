"""One HTML page of a trace, which needs nothing else: ranks by time, offsets by time, and the summary."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import zlib
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from .events import ACCESSES, CALLS, IN_FLIGHT, PHASES, RUN_QUEUE, Trace
from .reading import Records
from .summary import Summary, bytes_text, part_rows, summarise

TEMPLATE = Path(__file__).with_name("view.html")
#: Rows of a thread, from above: what a kind is drawn in.
LEVELS = (CALLS, PHASES, ACCESSES)
#: Threads of a trace have 16 bits.
BEYOND_LANES = 1 << 16
#: Bins of the finest level of detail, over all rows: they are 2 bytes each, and coarser ones as much again.
MOST_BINS = 1 << 22
FINEST, COARSEST = 1 << 14, 1 << 8


@dataclass
class Packed:
    """Arrays one after the other, and where each begins."""

    parts: list[bytes] = field(default_factory=list)
    where: dict[str, dict[str, object]] = field(default_factory=dict)
    size: int = 0

    def add(self, name: str, values: npt.NDArray[np.generic]) -> None:
        raw = values.tobytes()
        self.where[name] = {"type": values.dtype.str[1:], "at": self.size, "count": len(values)}
        self.parts.append(raw + b"\0" * (-len(raw) % 8))
        self.size += len(self.parts[-1])


@dataclass
class Row:
    """Events of one thread that are drawn side by side."""

    lane: int
    level: int
    events: Records


def rows_of(trace: Trace) -> tuple[list[tuple[int, int]], list[Row]]:
    """The threads by rank, and their rows; what is in flight is a lane of its own, -1, the last of a rank."""
    flight = trace.kinds.index(IN_FLIGHT)
    level_of = np.full(len(trace.kinds), 1)
    for level, kinds in enumerate(LEVELS):
        level_of[[trace.kinds.index(kind) for kind in kinds]] = level
    level_of[flight] = 0
    shown = trace.events[trace.events["kind"] != trace.kinds.index(RUN_QUEUE)]
    lane = np.where(shown["kind"] == flight, BEYOND_LANES, shown["lane"]).astype("i8")
    keys = (shown["process"].astype("i8") * 2 * BEYOND_LANES + lane) * len(LEVELS) + level_of[shown["kind"]]
    order = np.argsort(keys, kind="stable")
    known, first = np.unique(keys[order], return_index=True)
    lanes: dict[int, tuple[int, int]] = {}
    rows = []
    for key, events in zip(known.tolist(), np.split(shown[order], first[1:])):
        thread, level = divmod(key, len(LEVELS))
        process, number = divmod(thread, 2 * BEYOND_LANES)
        lanes[thread] = (process, number if number < BEYOND_LANES else -1)
        rows.append(Row(len(lanes) - 1, level, events))
    return list(lanes.values()), rows


def coverage(events: Records, span: float, bins: int) -> npt.NDArray[np.float64]:
    """What part of each of `bins` stretches of time events take, summed."""
    begin = events["begin"] / span * bins
    end = np.minimum((events["begin"] + events["duration"]) / span * bins, bins)
    first, last = np.minimum(begin.astype("i8"), bins - 1), np.minimum(end.astype("i8"), bins - 1)
    inside = first == last
    cover = np.bincount(first[inside], (end - begin)[inside], bins + 1).astype("f8")
    begin, end, first, last = begin[~inside], end[~inside], first[~inside], last[~inside]
    cover += np.bincount(first, first + 1 - begin, bins + 1) + np.bincount(last, end - last, bins + 1)
    whole = np.bincount(first + 1, minlength=bins + 1) - np.bincount(last, minlength=bins + 1)
    return (cover + np.cumsum(whole))[:bins]


def detail(row: Row, span: float, bins: int) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """From the finest to the coarsest level: the kind that takes most of each bin, and how much all take, of 255."""
    kinds = np.unique(row.events["kind"])
    cover = np.stack([coverage(row.events[row.events["kind"] == kind], span, bins) for kind in kinds])
    main, amount = [], []
    while True:
        main.append(kinds[cover.argmax(axis=0)])
        total = cover.sum(axis=0)
        # What is there shows, however short it is.
        amount.append(np.where(total > 0, np.clip(np.ceil(total * 255), 24, 255), 0))
        if cover.shape[1] <= COARSEST:
            break
        cover = cover.reshape(len(kinds), -1, 2).mean(axis=2)
    return np.concatenate(main).astype("u1"), np.concatenate(amount).astype("u1")


def pack(trace: Trace, rows: list[Row], span: float) -> tuple[Packed, list[dict[str, int]], int]:
    bins = FINEST
    while bins > COARSEST and bins * len(rows) > MOST_BINS:
        bins //= 2
    packed, table, at = Packed(), [], 0
    for row in rows:
        table.append({"lane": row.lane, "level": row.level, "first": at, "last": at + len(row.events)})
        at += len(row.events)
    events = np.concatenate([row.events for row in rows]) if rows else trace.events[:0]
    for name, kind in (("begin", "f8"), ("offset", "f8"), ("duration", "f4"), ("bytes", "f4"), ("operation", "u4"),
                       ("file", "u4"), ("kind", "u1")):
        packed.add(name, events[name].astype(kind))
    details = [detail(row, span, bins) for row in rows]
    empty = np.empty(0, "u1")
    packed.add("main", np.concatenate([main for main, _ in details]) if details else empty)
    packed.add("amount", np.concatenate([amount for _, amount in details]) if details else empty)
    return packed, table, bins


def page_of(trace: Trace) -> tuple[str, int]:
    """The page, and how many events it shows."""
    lanes, rows_with_events = rows_of(trace)
    span = max(trace.seconds * 1e9, 1.0)
    packed, rows, bins = pack(trace, rows_with_events, span)
    names = []
    for process, lane in lanes:
        thread = IN_FLIGHT if lane < 0 else trace.lane_name(process, lane)
        names.append({"rank": trace.processes[process].who, "thread": thread})
    about = {"span": span, "bins": bins, "coarsest": COARSEST, "lanes": names, "rows": rows, "kinds": trace.kinds,
             "files": trace.files, "arrays": packed.where}
    data = base64.b64encode(zlib.compress(b"".join(packed.parts), 6)).decode()
    done, page = [], TEMPLATE.read_text(encoding="utf-8")
    for mark, text in (("/*POLICY*/", policy_of(page)), ("<!--SUMMARY-->", summary_html(summarise(trace))),
                       ("/*ABOUT*/", json_in_script(about)), ("/*DATA*/", data)):
        before, page = page.split(mark, 1)
        done += [before, text]
    return "".join([*done, page]), rows[-1]["last"] if rows else 0


def json_in_script(value: object) -> str:
    """JSON without a character that HTML reads in a script: "</script>" would end it, "<!--<script>" hide its end."""
    return json.dumps(value).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def policy_of(template: str) -> str:
    """What the page may do, for its Content-Security-Policy: run its own script, with its own style, no more."""
    def digest(tag: str) -> str:
        text = template.split(f"<{tag}>", 1)[1].split(f"</{tag}>", 1)[0]
        return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"

    return (f"default-src 'none'; script-src {digest('script')}; style-src {digest('style')}; base-uri 'none'; "
            "form-action 'none'")


def summary_html(summary: Summary) -> str:
    parts = []
    if summary.problems:
        parts.append("<h2>What is missing</h2>" + list_html(summary.problems))
    parts.append("<h2>What held the program up</h2>"
                 + list_html([f"{one.text} {one.advice}" for one in summary.findings] or ["Nothing that stands out."]))
    operations = [[row.name, f"{row.count:,}", f"{row.total:.4f}", f"{row.average:.4f}", f"{row.longest:.4f}"]
                  for row in summary.operations]
    parts.append(table_html(["operation", "count, all ranks", "time (s), all ranks", "per rank", "longest (s)"],
                            operations))
    parts.append(table_html(["where the time of a rank went", "time (s)", "of the run"], part_rows(summary.parts)))
    parts.append(table_html(["transfer", "bytes", "a second, all ranks", "sizes"],
                            [[row.name, bytes_text(row.bytes),
                              "" if row.bandwidth is None else bytes_text(row.bandwidth),
                              ", ".join(f"{size}: {count:,}" for size, count in row.sizes.items())]
                             for row in summary.transfers]))
    parts.append(table_html(["file", "opens, all ranks", "read", "written", "time in calls (s)"],
                            [[row.name, f"{row.opens:,}", bytes_text(row.bytes_read), bytes_text(row.bytes_written),
                              f"{row.seconds:.4f}"] for row in summary.files]))
    return "\n".join(parts)


def list_html(lines: list[str]) -> str:
    return "<ul>" + "".join(f"<li>{html.escape(line)}</li>" for line in lines) + "</ul>"


def table_html(head: list[str], rows: list[list[str]]) -> str:
    if not rows:
        return ""
    cells = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"
