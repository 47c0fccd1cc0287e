"""Tables and plots of measurements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Optional

from penstock._bench.methods import PHASES
from penstock._bench.patterns import size_text
from penstock._bench.ratios import Record

KEYS = ("pattern", "size", "ranks")  # the subject of a measurement, besides its method
# Room in the active buffer, in data of a write.
BUDGETS = {"unbuffered": 0.0, "half": 0.5, "twice": 2.0}
# Descriptions of the values of `background`.
MODES = {"none": "none: nothing in the background", "storage": "storage: the storage's part",
         "all": "all: exchange and storage"}
# How the system schedules the thread of the background, in hints of a call.
PRIORITIES: dict[str, dict[str, Any]] = {"auto": {}, "other": {"io_thread": "other"}, "batch": {"io_thread": "batch"},
                                         "nice": {"io_thread": "nice=19"}}
COUNTS = (("system\ncalls", None), ("messages", "messages"), ("synchro-\nnisations", "synchronisations"),
          ("bytes\nsent", "bytes_sent"), ("bytes\nread", "bytes_read"), ("bytes\nwritten", "bytes_written"))


_screen: ContextVar[Any] = ContextVar("screen")  # where reports go, if not to the terminal


def console() -> Any:
    """Where a report's output goes: the terminal, unless within `shown_on`."""
    from rich.console import Console

    if _screen.get(None) is not None:
        return _screen.get()
    return Console(width=max(Console().width, 150))  # a narrow terminal wraps tables, but nothing is cut


@contextmanager
def shown_on(screen: Any) -> Iterator[None]:
    """Redirects the output of reports to `screen.print`."""
    token = _screen.set(screen)
    try:
        yield
    finally:
        _screen.reset(token)


def distinct(records: Iterable[Record], key: str) -> list[Any]:
    return list(dict.fromkeys(r[key] for r in records))


def ordered(records: list[Record]) -> list[Record]:
    """By pattern, size, ranks and run, each in the order in which they came."""
    places = {key: distinct(records, key) for key in (*KEYS, "run")}
    return sorted(records, key=lambda r: [places[key].index(r[key]) for key in places])


Column = tuple[str, Callable[[Record], str]]


def _number(key: str, form: str) -> Callable[[Record], str]:
    return lambda r: format(r[key], form) if key in r else ""


def _phase(name: str) -> Callable[[Record], str]:
    return lambda r: f"{r['phases'][name] * 1e3:.1f}" if "phases" in r else ""


def _count(key: Optional[str]) -> Callable[[Record], str]:
    def text(r: Record) -> str:
        counts = r["counts"]
        return str(counts[key] if key else counts["reads"] + counts["writes"] + counts["other_calls"])

    return text


PHASE_COLUMNS: list[Column] = [(f"{name}\nms", _phase(name)) for name in PHASES]
SPEED_COLUMNS: list[Column] = [("MB/s", _number("mb_per_s", ".0f")), ("of the\nrod", _number("of_rod", ".2f")),
                               *PHASE_COLUMNS]
COUNT_COLUMNS: list[Column] = [(title, _count(key)) for title, key in COUNTS]


# Titles of columns that have a ratio.
RATIOS = {"of the\nrod", "x its\nMPI-IO", "x none", "x memcpy", "x no room", "x serial", "x at\nonce", "I/O\nhidden", "foreground\nslower by"}
OF_PAIRS = "ratios: medians of the pairs of a repetition, not ratios of medians"


def in_words(key: str, value: Any) -> str:
    return size_text(value) if key == "size" else f"{value} ranks" if key == "ranks" else str(value)


def table(records: list[Record], title: str, columns: list[Column], keys: tuple[str, ...] = KEYS) -> Any:
    """Values common to all records are in the title, others in columns."""
    from rich.table import Table

    first, words = records[0], [in_words(key, records[0][key]) for key in keys if len(distinct(records, key)) == 1]
    keys = tuple(key for key in (*keys, "run") if len(distinct(records, key)) > 1)
    fewest, most = (f(r["repeat"] for r in records if "repeat" in r) for f in (min, max))
    repeats = f"{most}" if fewest == most else f"{fewest} to {most}"
    about = f"{first['mpi']}, {first['device']}, {first['cores']} cores, median of {repeats}"
    if any(name in RATIOS for name, _ in columns):
        about += f"; {OF_PAIRS}"
    result = Table(title=", ".join([title, *words]) + f"\n({about})", min_width=80)  # for the title's sake
    for name in [*keys, "method", *(name for name, _ in columns)]:
        result.add_column(name, justify="right" if name in ("size", "ranks", *(n for n, _ in columns)) else "left",
                          no_wrap=True)
    before = None
    for r in records:
        group = [size_text(r[key]) if key == "size" else str(r[key]) for key in keys]
        if before is not None and group != before and len(distinct(records, "method")) > 1:
            result.add_section()
        # A group is shown once, and its parts only where they change.
        same = 0 if before is None else next((i for i, (a, b) in enumerate(zip(group, before)) if a != b), len(group))
        result.add_row(*("" if i < same else text for i, text in enumerate(group)), r["method"],
                       *(text(r) for _, text in columns))
        before = group
    return result
