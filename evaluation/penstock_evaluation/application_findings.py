"""Findings of Thakur, Gropp and Lusk about the production application, compared with measurements."""

from __future__ import annotations

from penstock._bench.ratios import Record

from .application_report import OPERATIONS, PAPER, WAYS, fastest, is_the_papers_size, visible
from .findings import ALIKE, Finding, Interval, Outcome, decided, on_its_side

SOURCE = "Thakur, Gropp and Lusk, An Experimental Evaluation of the Parallel I/O Systems of the IBM SP and Intel Paragon"
# Time of communication over time of writes on the SP and the Paragon: Tables 2 and 7, 5 and 10.
EXCHANGE = {"small": (1.58, 0.72), "large": (1.40, 0.71)}
COUNTED = {"small": "Table 2", "large": "Table 5"}


def application_findings(records: list[Record]) -> list[Finding]:
    best = fastest(records)
    found: list[Finding] = []
    for r in best:
        if r["way"] == WAYS[0] and r["case"] in EXCHANGE:
            found += [_counts(r), _exchange(r)]
    for r in best:
        if r["way"] == WAYS[1]:
            found += _against_rank_0(r, best)
    return found + _background(best)


def _place(r: Record) -> str:
    return f"{r['device']}, {r['case']}, {r['ranks']} ranks"


def _counts(r: Record) -> Finding:
    """There are no seeks here: every access has its offset."""
    wanted = {name: n for name, n in PAPER[r["case"]].items() if name not in ("seek", "communication")}
    here = {name: r[name]["count"] for name in wanted}
    words = ", ".join(f"{n} of {OPERATIONS[name].lower()}" for name, n in wanted.items())
    differ = [f"{OPERATIONS[name].lower()} {n}" for name, n in here.items() if n != wanted[name]]
    told = "the same" if not differ else ", ".join(differ)
    return Finding(f"calls on files: {words}", f"{SOURCE}, {COUNTED[r['case']]}", _place(r), told,
                   decided(not differ) if is_the_papers_size(r) else Outcome.not_comparable)


def _exchange(r: Record) -> Finding:
    sp, paragon = EXCHANGE[r["case"]]
    source = f"{SOURCE}, {'Tables 2 and 7' if r['case'] == 'small' else 'Tables 5 and 10'}"
    words = f"exchanging takes {sp} (SP) and {paragon} (Paragon) times as long as writing"
    seconds = r["write"]["seconds"]
    if seconds <= 0:
        return Finding(words, source, _place(r), "not measured", Outcome.not_measured)
    ratio = r["communication"]["seconds"] / seconds
    return Finding(words, source, _place(r), f"{ratio:.2f} times", decided(min(sp, paragon) / 2 <= ratio <= 2 * max(sp, paragon)))


def _against_rank_0(r: Record, best: list[Record]) -> list[Finding]:
    same = [o for o in best if o["way"] == WAYS[0] and o["case"] == r["case"] and o["device"] == r["device"]]
    if not same or visible(same[0]) <= 0:
        return []
    ratio = visible(r) / visible(same[0])
    return [Finding("two-phase writes replaced those through one processor, which were too slow", f"{SOURCE}, section 4.2",
                    _place(r), f"through rank 0 reads and writes take {ratio:.2f} times as long (fastest runs)",
                    decided(ratio > 1) if abs(ratio - 1) > ALIKE else Outcome.undecided)]


def _background(best: list[Record]) -> list[Finding]:
    """The study that both papers of Dickens and Thakur propose; there are no published results."""
    study = [r for r in best if r["case"] == "study" and r["method"] == "auto"]
    found = []
    for r in study:
        plain = [o for o in study if o["device"] == r["device"] and o["buffer"] == r["buffer"] and o["background"] == "none"]
        if r["background"] == "none" or not plain:
            continue
        less = 1 - visible(r) / visible(plain[0]) if visible(plain[0]) > 0 else 0.0
        found.append(Finding(f"background mode {r['background']} makes the program wait less for its I/O", "",
                             f"{_place(r)}, buffer {r['buffer']}", f"{100 * less:.0f} % less",
                             on_its_side(Interval(less - ALIKE, less, less + ALIKE, 2), 0, more=True)))
    return found
