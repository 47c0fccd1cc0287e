"""Tables of `python -m penstock_evaluation sections`, and which findings of the paper hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Optional

import numpy as np
from penstock._bench.ratios import Record, quartiles

from .findings import Finding, Interval, Outcome, compared, decided, print_findings
from .report import console, distinct

PAPER = "Thakur and Choudhary, An Extended Two-Phase Method, Tables"
BEHIND = 1.05  # up to this factor, a method does not count as slower
SHOWN = 4  #: rows that a sentence names
Case = dict[str, Record]  # of one row on one device and rank count: the record of each method


def cases_of(records: Sequence[Record]) -> list[Case]:
    found: dict[tuple, Case] = {}
    for r in records:
        found.setdefault(tuple(r[key] for key in ("on", "ranks", "cited", "size")), {})[r["method"]] = r
    return list(found.values())


def times_as_long(case: Case, method: str, other: str) -> Optional[list[float]]:
    """Quartiles of how many times as long as the other a method takes, round by round; of one that was left out, the least."""
    mine, its = case.get(method), case.get(other)
    if mine is None or its is None or "seconds" not in its:
        return None
    if "seconds" not in mine:
        return [mine["at_least"] / its["seconds"]] * 3
    return quartiles([a / b for a, b in zip(mine["times"], its["times"])])


def best_of(case: Case, methods: Sequence[str]) -> str:
    measured = {name: case[name]["seconds"] for name in methods if "seconds" in case.get(name, {})}
    return min(measured, key=lambda name: measured[name])


def sections_report(records: list[Record], folder: Path) -> None:
    screen = console()
    for device in distinct(records, "device"):
        of_device = [r for r in records if r["device"] == device]
        for ranks in distinct(of_device, "ranks"):
            chosen = cases_of([r for r in of_device if r["ranks"] == ranks])
            screen.print(_table(chosen, f"{device}, {ranks} ranks: milliseconds", _times(chosen)))
            screen.print(_table(chosen, f"{device}, {ranks} ranks: what reached the storage", _amounts(chosen)))
    print_findings(screen, findings(records))


Column = tuple[str, Callable[[Case], str]]


def _any(case: Case) -> Record:
    return next(iter(case.values()))


def _milliseconds(method: str) -> Callable[[Case], str]:
    def text(case: Case) -> str:
        r = case.get(method, {})
        return f"{1e3 * r['seconds']:.3g}" if "seconds" in r else f"> {1e3 * r['at_least']:.3g}" if r else ""

    return text


def _ratio(method: str, other: str) -> Callable[[Case], str]:
    def text(case: Case) -> str:
        found = times_as_long(case, method, other)
        return "" if found is None else ("> " if "seconds" not in case[method] else "") + f"{found[1]:.2g}"

    return text


def _paper(name: str, other: str) -> Callable[[Case], str]:
    def text(case: Case) -> str:
        told = _any(case).get("paper", {})
        return f"{told[name] / told[other]:.2g}" if told.get(name) and told.get(other) else ""

    return text


def of_best(case: Case) -> Optional[list[float]]:
    """Of auto: how many times as long as the quickest of the others."""
    others = [name for name in case if name != "auto" and "seconds" in case[name]]
    return times_as_long(case, "auto", best_of(case, others)) if "auto" in case and others else None


def _of_best(case: Case) -> str:
    found = of_best(case)
    return "" if found is None else f"{found[1]:.2f} ±{(found[2] - found[0]) / 2:.2f}"


def _times(cases: Sequence[Case]) -> list[Column]:
    methods = list(dict.fromkeys(name for case in cases for name in case))
    return [*((name, _milliseconds(name)) for name in methods),
            ("auto took", lambda case: case.get("auto", {}).get("carried_out_by", "")),
            ("auto /\nbest other", _of_best),
            ("direct /\ndynamic", _ratio("direct", "dynamic")), ("paper", _paper("direct", "dynamic")),
            ("static /\ndynamic", _ratio("paper-static", "paper-dynamic")), ("paper", _paper("static", "dynamic"))]


def _amounts(cases: Sequence[Case]) -> list[Column]:
    methods = list(dict.fromkeys(name for case in cases for name in case))
    columns: list[Column] = [("wanted\nMB", lambda case: f"{_any(case)['bytes'] / 1e6:.3g}")]
    for name in methods:
        columns += [(f"{name}\nrequests", _told(name, lambda r: str(r["requests"]))),
                    ("MB", _told(name, lambda r: f"{r['moved'] / 1e6:.3g}"))]
    return columns


def _told(method: str, text: Callable[[Record], str]) -> Callable[[Case], str]:
    return lambda case: text(case[method]) if "requests" in case.get(method, {}) else ""


def _table(cases: Sequence[Case], title: str, columns: Sequence[Column]) -> Any:
    from rich.table import Table

    first, sizes = _any(cases[0]), distinct([_any(case) for case in cases], "size")
    words = ", ".join(f"{n} x {n}" for n in sizes)
    rounds = sorted({r["repeat"] for case in cases for r in case.values() if "repeat" in r})
    result = Table(title=f"{title}\n({first['mpi']}, {first['cores']} cores; {words} elements of 4 bytes; median of "
                         f"{' to '.join(str(n) for n in dict.fromkeys((rounds[0], rounds[-1])))})")
    result.add_column("row", no_wrap=True)
    for name, _ in columns:
        result.add_column(name, justify="right")
    before = None
    for case in cases:
        if before is not None and _any(case)["table"] != before:
            result.add_section()
        before = _any(case)["table"]
        result.add_row(_any(case)["cited"], *(text(case) for _, text in columns))
    return result


def findings(records: Sequence[Record]) -> list[Finding]:
    found: list[Finding] = []
    for device in distinct(records, "device"):
        cases = cases_of([r for r in records if r["device"] == device])
        of_paper = [case for case in cases if "paper" in _any(case)]
        if of_paper:
            found += [_beats_direct(device, of_paper), _ratios(device, of_paper)]
        if any(_any(case)["paper"]["static"] for case in of_paper):
            found += [_beats_static(device, of_paper)]
        found += [_aim(device, cases, "extended is at most 5 % behind the better of it and direct", _extended_behind),
                  _aim(device, cases, "auto is at most 5 % behind the best other method", of_best)]
    return found


def _cite(cases: Sequence[Case]) -> str:
    return f"{PAPER} {', '.join(str(t) for t in dict.fromkeys(_any(case)['table'] for case in cases))}"


def _beats_direct(device: str, cases: Sequence[Case]) -> Finding:
    wins = [case for case in cases if _any(case)["paper"]["direct"] > _any(case)["paper"]["dynamic"]]
    pairs = [(case, ratio) for case in wins if (ratio := _measured(case, "direct", "dynamic"))]
    bounds = sum(times_as_long(case, "direct", "dynamic") is not None for case in wins) - len(pairs)
    lost = sorted((pair for pair in pairs if pair[1][2] <= 1), key=lambda pair: pair[1][1])
    undecided = [pair for pair in pairs if pair[1][0] <= 1 < pair[1][2]]
    here = f"{len(pairs) - len(lost) - len(undecided)} of {len(pairs)} of these" + (f"; not {_worst(lost, _lost)}" if lost else "")
    here += f"; within the spread {_worst(undecided, _lost)}" if undecided else ""
    here += f"; {bounds} more are bounds only" if bounds else ""
    outcome = Outcome.differs if lost else Outcome.undecided if undecided else Outcome.reproduced
    return Finding(f"the extended two-phase method beats direct in {len(wins)} of {len(cases)} rows", _cite(cases), device,
                   here, outcome if pairs else Outcome.bound if bounds else Outcome.not_measured)


def _measured(case: Case, method: str, other: str) -> Optional[list[float]]:
    """As times_as_long, without those of which only a bound is known."""
    return times_as_long(case, method, other) if "seconds" in case.get(method, {}) else None


def _worst(pairs: Sequence[tuple[Case, Sequence[float]]], words: Callable[[Case, Sequence[float]], str]) -> str:
    """The first of them in words: all are in the table."""
    told = [words(case, ratio) for case, ratio in pairs[:SHOWN]]
    return ", ".join(told) + (f" and {len(pairs) - SHOWN} more" if len(pairs) > SHOWN else "")


def _lost(case: Case, ratio: Sequence[float]) -> str:
    return f"{_any(case)['cited']} on {_any(case)['ranks']} ranks ({ratio[1]:.2f})"


def _ratios(device: str, cases: Sequence[Case]) -> Finding:
    pairs = [(_any(case)["paper"]["direct"] / _any(case)["paper"]["dynamic"], ratio[1])
             for case in cases if (ratio := _measured(case, "direct", "dynamic"))]
    if not pairs:
        return Finding("direct takes a multiple of the time", _cite(cases), device, "no row has both methods measured", Outcome.bound)
    theirs, ours = (float(np.exp(np.mean(np.log(side)))) for side in zip(*pairs))
    order = f"; order of the rows: rank correlation {_rank_correlation(pairs):.2f}" if len(pairs) > 2 else ""
    return Finding(f"direct takes {theirs:.1f} times as long (geometric mean of the {len(pairs)} rows measured here)",
                   _cite(cases), device, f"{ours:.1f} times{order}", compared(Interval(ours, ours, ours, len(pairs) + 1), theirs, theirs))


def _rank_correlation(pairs: Sequence[tuple[float, float]]) -> float:
    """Spearman's, without regard to ties."""
    theirs, ours = (np.argsort(np.argsort(side)) for side in zip(*pairs))
    return 1 - 6 * float(np.sum((theirs - ours) ** 2)) / (len(pairs) * (len(pairs) ** 2 - 1))


def _beats_static(device: str, cases: Sequence[Case]) -> Finding:
    rows = [case for case in cases if _any(case)["paper"]["static"]]
    slower = [case for case in rows if _any(case)["paper"]["dynamic"] > _any(case)["paper"]["static"]]
    pairs = [(case, ratio) for case in rows if (ratio := times_as_long(case, "paper-dynamic", "paper-static"))]
    lost = sorted((pair for pair in pairs if pair[1][0] > BEHIND), key=lambda pair: -pair[1][1])
    here = f"it is in {len(lost)} of {len(pairs)} rows" + (f": {_worst(lost, _lost)}" if lost else "")
    return Finding(f"dynamic domains are slower than static ones in {len(slower)} of {len(rows)} rows", _cite(rows), device,
                   here, decided(not lost if pairs else None))


def _extended_behind(case: Case) -> Optional[list[float]]:
    """Quartiles, against the better of itself and direct. One that was left out takes longer than its least."""
    direct, extended = case.get("direct", {}), case.get("dynamic", {})
    if "at_least" in direct and "seconds" in extended:
        return [1.0] * 3 if extended["seconds"] <= direct["at_least"] else None
    found = times_as_long(case, "dynamic", "direct")
    return [max(1.0, q) for q in found] if found else None


def _aim(device: str, cases: Sequence[Case], text: str, ratio_of: Callable[[Case], Optional[list[float]]]) -> Finding:
    """Missed if all but the fastest quarter of the rounds are; the others are reported."""
    pairs = [(case, ratio) for case in cases if (ratio := ratio_of(case))]
    pairs.sort(key=lambda pair: -pair[1][1])
    missed = [pair for pair in pairs if pair[1][0] > BEHIND]
    doubtful = [pair for pair in pairs if pair[1][0] <= BEHIND < pair[1][1]]
    here = f"in {len(pairs) - len(missed) - len(doubtful)} of {len(pairs)} rows"
    here += f"; within the spread {_worst(doubtful, _behind)}" if doubtful else ""
    here += f"; behind in {_worst(missed, _behind)}" if missed else ""
    return Finding(text, "", device, here, decided(not missed if pairs else None))


def _behind(case: Case, ratio: Sequence[float]) -> str:
    """With the method that was quickest, and what auto did."""
    best = best_of(case, [name for name in case if name != "auto"])
    return f"{_lost(case, ratio)[:-1]}; best {best}, auto took {case.get('auto', {}).get('carried_out_by', 'nothing')})"
