"""Tables of `python -m penstock_evaluation outofcore`, and which findings of the paper hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Optional

import numpy as np
from penstock._bench.patterns import size_text
from penstock._bench.ratios import Record

from .findings import Finding, Interval, Outcome, compared, decided, print_findings
from .report import Column, console, distinct, table

OVERLAPPED = ", overlapped"  #: ends the name of a way that differs in that from the one without it

PAPER = "Thakur and Choudhary, An Extended Two-Phase Method, Table"
TITLES = {"gaxpy": "GAXPY, a matrix product", "laplace": "Laplace's equation", "loop": "an update beside as much computation"}
PROCESSORS = (8, 16, 32, 64, 128)
# Seconds of I/O by program and size: direct and ETP for each of these numbers of processors.
SECONDS = {
    ("gaxpy", 1024): (44.65, 34.77, 39.88, 24.78, 37.80, 18.88, 50.65, 17.66, 161.0, 24.76),
    ("gaxpy", 2048): (103.4, 80.43, 94.37, 69.87, 108.6, 76.36, 168.8, 122.8, 377.1, 218.1),
    ("gaxpy", 4096): (589.0, 416.8, 465.9, 326.8, 536.4, 354.5, 814.2, 501.1, 1562, 909.3),
    ("laplace", 1024): (27.15, 25.03, 17.06, 15.27, 18.59, 13.29, 19.20, 14.80, 31.40, 18.16),
    ("laplace", 2048): (72.34, 68.00, 61.96, 54.65, 50.27, 43.63, 49.15, 42.06, 64.67, 53.10),
    ("laplace", 4096): (387.1, 356.7, 434.0, 294.3, 448.3, 273.3, 383.6, 280.0, 508.5, 334.4),
}
TABLES = {"gaxpy": 9, "laplace": 10}
HIDDEN = 0.8  #: aim: of the I/O, where computation takes about as long
ABOUT_EQUAL = (0.8, 1.6)  #: computation / I/O


def of_paper(program: str, size: int, ranks: int) -> Optional[tuple[float, float]]:
    """Seconds of direct and ETP, with the number of processors that the paper has."""
    seconds = SECONDS.get((program, size))
    if seconds is None or ranks not in PROCESSORS:
        return None
    at = 2 * PROCESSORS.index(ranks)
    return seconds[at], seconds[at + 1]


def percentages(program: str, size: Optional[int] = None) -> list[float]:
    """By how much ETP shortens the I/O in the paper: Figures 12 and 13."""
    chosen = [row for (name, n), row in SECONDS.items() if name == program and size in (None, n)]
    return [100 * (1 - etp / direct) for row in chosen for direct, etp in zip(row[::2], row[1::2])]


def with_and_without(records: Sequence[Record]) -> list[tuple[Record, Record]]:
    """Ways that differ in overlap alone."""
    by_name = {(r["program"], r["on"], r["ranks"], r["method"]): r for r in records}
    return [(by_name[key[:3] + (name.removesuffix(OVERLAPPED),)], r) for key, r in by_name.items()
            if (name := key[3]).endswith(OVERLAPPED) and key[:3] + (name.removesuffix(OVERLAPPED),) in by_name]


def hidden(without: Record, overlapped: Record) -> float:
    """The hidden part of the I/O, by the medians."""
    shares = [(a - b) / io for a, b, io in zip(without["times"], overlapped["times"], without["io_times"]) if io > 0]
    return float(np.median(shares)) if shares else 0.0


def improvement(direct: Record, extended: Record) -> Interval:
    """Percent of the I/O's time."""
    return Interval.of([100 * (1 - b / a) for a, b in zip(direct["io_times"], extended["io_times"]) if a > 0] or [0.0])


def outofcore_report(records: list[Record], folder: Path) -> None:
    screen = console()
    for device in distinct(records, "device"):
        for program in distinct(records, "program"):
            chosen = [r for r in records if r["device"] == device and r["program"] == program]
            if chosen:
                chosen = _with_hidden(chosen)
                sizes = ", ".join(f"{n} x {n}" for n in distinct(chosen, "size"))
                title = f"{TITLES[program]}: {sizes} elements of 4 bytes, {size_text(chosen[0]['memory'])} an array and rank"
                screen.print(table(chosen, title, COLUMNS, ("ranks",)))
    print_findings(screen, findings(records))


def _with_hidden(records: Sequence[Record]) -> list[Record]:
    found = {id(overlapped): hidden(without, overlapped) for without, overlapped in with_and_without(records)}
    return [{**r, "hidden": found[id(r)]} if id(r) in found else r for r in records]


def _paper(r: Record) -> str:
    told = of_paper(r["program"], r["size"], r["ranks"])
    if told is None or r["method"] not in ("direct", "extended"):
        return ""
    return f"{told[0 if r['method'] == 'direct' else 1]:.4g}"


def _ms(key: str) -> Callable[[Record], str]:
    return lambda r: f"{1e3 * r[key]:.0f}"


def _count(key: str, form: Callable[[int], str] = str) -> Callable[[Record], str]:
    return lambda r: form(r["counts"][key])


COLUMNS: list[Column] = [
    ("total\nms", _ms("seconds")), ("compu-\ntation", _ms("computing")), ("I/O\nms", _ms("io")), ("paper's\nI/O, s", _paper),
    ("I/O\nhidden", lambda r: f"{100 * r['hidden']:.0f} %" if "hidden" in r else ""),
    ("memory\nMiB", lambda r: f"{r['peak'] / 2**20:.2f}"),
    ("given", lambda r: "" if r["method"] == "in core" else f"{r['budget'] / 2**20:.2f}"),
    ("reads", _count("reads")), ("writes", _count("writes")),
    ("MB\nread", _count("bytes_read", lambda n: f"{n / 1e6:.1f}")), ("MB\nwritten", _count("bytes_written", lambda n: f"{n / 1e6:.1f}"))]


def findings(records: Sequence[Record]) -> list[Finding]:
    found: list[Finding] = []
    for device in distinct(records, "device"):
        chosen = [r for r in records if r["device"] == device]
        for program in TABLES:
            found += _improved(device, [r for r in chosen if r["program"] == program])
        found += _aims(device, [r for r in chosen if r["program"] == "loop"])
    return found


def _improved(device: str, records: Sequence[Record]) -> list[Finding]:
    if not records:
        return []
    program = records[0]["program"]
    by_ranks = {n: {r["method"]: r for r in records if r["ranks"] == n} for n in distinct(records, "ranks")}
    gained = {n: improvement(ways["direct"], ways["extended"]) for n, ways in by_ranks.items()
              if {"direct", "extended"} <= set(ways)}
    theirs = percentages(program)
    here = ", ".join(f"{percent.text('.0f')} % with {n} ranks" for n, percent in gained.items())
    return [Finding(f"the extended method shortens the I/O of {TITLES[program]} by {min(theirs):.0f} to {max(theirs):.0f} %",
                    f"{PAPER} {TABLES[program]}", device, here or "not measured",
                    compared(Interval.around(list(gained.values())) if gained else None, min(theirs), max(theirs), neutral=0))]


def _aims(device: str, records: Sequence[Record]) -> list[Finding]:
    if not records:
        return []
    shares, equal = [], True
    for without, overlapped in with_and_without(records):
        ratio = without["computing"] / without["io"] if without["io"] > 0 else 0.0
        equal = equal and ABOUT_EQUAL[0] <= ratio <= ABOUT_EQUAL[1]
        shares.append((hidden(without, overlapped), without["ranks"], ratio))
    here = ", ".join(f"{100 * share:.0f} % with {n} ranks (computation {ratio:.1f} times the I/O)" for share, n, ratio in shares)
    # On the page cache I/O is copying, on cores that compute.
    comparable = equal and device != "page cache" and shares
    told = decided(min(share for share, _, _ in shares) >= HIDDEN) if comparable else Outcome.not_comparable
    most = max(r["peak"] / r["budget"] for r in records)
    return [Finding(f"at least {100 * HIDDEN:.0f} % of the I/O is hidden behind as much computation", "", device, here, told),
            Finding("a loop stays within its memory", "", device, f"{100 * most:.0f} % of it at most", decided(most <= 1))]
