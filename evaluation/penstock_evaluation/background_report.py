"""Tables of `python -m penstock_evaluation split` and `abt`, and how the figures stand to the goals."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Optional

from penstock._bench.patterns import size_text

from .background_findings import abt_findings
from .confidence import relative
from .findings import print_findings
from .report import Column, Record, console, distinct, table
from .split_findings import split_findings

NOISE = 0.03  # smaller slowdowns are ignored
HIDDEN, SLOWDOWN = 0.95, 0.05
OF_MEMCPY = {"conforming": 0.8, "block3": 0.6}
PROGRAMS = {"jacobi": "Jacobi", "product": "Matrix multiplication"}
LABELS = {"io": "I/O alone", "unbuffered": "no room", "half": "room for half", "twice": "room for twice"}


def _percent(key: str) -> Callable[[Record], str]:
    return lambda r: f"{100 * r[key]:.0f} %" if key in r else ""


def can_be_hidden(r: Record) -> bool:
    """A part of the I/O. Where it is none, the machine was faster or slower while the parts were measured."""
    return "hidden" in r and 0 <= r["hidden"] <= 1


def _hidden(r: Record) -> str:
    return "" if "hidden" not in r else _percent("hidden")(r) if can_be_hidden(r) else "not measurable here"


def _ms(key: str) -> Callable[[Record], str]:
    return lambda r: f"{1e3 * r[key]:.1f}" if key in r else ""


def _part(name: str) -> Callable[[Record], str]:
    return lambda r: f"{1e3 * r['parts'][name]:.1f}" if "parts" in r else ""


def _form(key: str, form: str) -> Callable[[Record], str]:
    return lambda r: format(r[key], form) if key in r else ""


def _buffer(name: str, text: Callable[[float], str]) -> Callable[[Record], str]:
    return lambda r: text(r["buffer"][name]) if name in r.get("buffer", {}) else ""


SPLIT_COLUMNS: list[Column] = [
    ("ms", lambda r: r.get("unavailable") or _ms("seconds")(r)), ("x none", _form("of_none", ".2f")),
    ("I/O\nhidden", _hidden), ("foreground\nslower by", _percent("slowdown")),
    ("begin\nms", _part("begin")), ("wait\nms", _part("wait"))]
CONFIDENCE: Column = ("95 %\nwithin", lambda r: relative(r["times"]) if "times" in r else "")
THROUGHPUT_COLUMNS: list[Column] = [
    ("apparent\nGB/s", _form("gb_per_s", ".2f")), CONFIDENCE, ("x memcpy", _form("of_memcpy", ".2f")),
    ("write and\nclose, ms", _ms("total")), ("x no room", _form("of_unbuffered", ".2f")),
    ("buffered\nat most", _buffer("buffer_peak", lambda n: f"{n / 2**20:.0f} MiB")),
    ("waits\nfor room", _buffer("buffer_waits", "{:.0f}".format))]
PROGRAM_COLUMNS: list[Column] = [
    ("total\ns", _form("seconds", ".2f")), CONFIDENCE, ("computation\ns", _form("computation", ".2f")), ("visible\nI/O, s", _form("visible", ".2f")),
    ("x no room", _form("of_unbuffered", ".2f")),
    ("buffered\nat most", _buffer("buffer_peak", lambda n: f"{n / 2**20:.0f} MiB")),
    ("waits\nfor room", _buffer("buffer_waits", "{:.0f}".format))]


PRETEST_COLUMNS: list[Column] = [
    ("ms", _ms("seconds")), CONFIDENCE, ("x serial", _form("of_serial", ".2f")), ("foreground\nslower by", _percent("slowdown"))]
SERVER_COLUMNS: list[Column] = [
    ("write and\nclose, ms", _ms("seconds")), CONFIDENCE, ("x no room", _form("of_unbuffered", ".2f")),
    ("buffered\nat most", _buffer("buffer_peak", lambda n: f"{n / 2**20:.0f} MiB"))]


def label(r: Record) -> str:
    return f"{r['foreground']} alone" if r["method"] == "alone" else str(LABELS.get(r["method"], r["method"]))


def experiment(r: Record) -> str:
    if r["experiment"] == "independent":
        return f"{size_text(r['size'] // r['ranks'])} a rank, no exchange; computation"
    return f"{size_text(r['size'])}, collective; {r['foreground']}"


def split_report(records: list[Record], folder: Path) -> None:
    screen = console()
    for device in distinct(records, "device"):
        for operation in distinct(records, "operation"):
            chosen = [{**r, "method": label(r), "experiment": experiment(r)} for r in records
                      if r["device"] == device and r["operation"] == operation]
            screen.print(table(_sorted(chosen, "experiment"), f"split {operation}s", SPLIT_COLUMNS,
                               ("experiment", "ranks")))
    _print_goals(screen, split_goals(records))
    print_findings(screen, split_findings(records))


def _sorted(records: list[Record], *keys: str) -> list[Record]:
    """Sorted by these keys, each in the order of first occurrence; stable."""
    places = {key: distinct(records, key) for key in keys}
    return sorted(records, key=lambda r: [places[key].index(r[key]) for key in keys])


def abt_report(records: list[Record], folder: Path) -> None:
    screen = console()
    for device in distinct(records, "device"):
        of_device = [{**r, "method": label(r)} for r in records if r["device"] == device]
        chosen = _sorted([r for r in of_device if r["experiment"] == "throughput"], "pattern")
        if chosen:
            screen.print(table(chosen, f"apparent throughput of writes, {rank_sizes(chosen)} a rank", THROUGHPUT_COLUMNS,
                               ("pattern", "ranks")))
        chosen = [{**r, "request": size_text(r["request"])} for r in of_device if r["experiment"] == "pretest"]
        if chosen:
            screen.print(table(chosen, f"a thread that writes, {rank_sizes(chosen)} a rank", PRETEST_COLUMNS,
                               ("foreground", "ranks", "request")))
        chosen = [{**r, "variance": f"{r['variance']:g}"} for r in of_device if r["experiment"] == "servers"]
        if chosen:
            screen.print(table(chosen, f"servers that vary, a write of {rank_sizes(chosen)} a rank in rounds", SERVER_COLUMNS,
                               ("ranks", "variance")))
        for name, n in dict.fromkeys((r["experiment"], r["ranks"]) for r in of_device if r["experiment"] in PROGRAMS):
            chosen = [r for r in of_device if (r["experiment"], r["ranks"]) == (name, n)]
            screen.print(table(chosen, program_title(chosen[0]), PROGRAM_COLUMNS, ("ranks", "snapshots")))
    _print_goals(screen, abt_goals(records))
    print_findings(screen, abt_findings(records))


def rank_sizes(records: list[Record]) -> str:
    sizes = sorted(distinct(records, "rank_bytes"))
    return " to ".join(dict.fromkeys(size_text(n) for n in (sizes[0], sizes[-1])))


def program_title(r: Record) -> str:
    return f"{PROGRAMS[r['experiment']]}, {r['grid']} x {r['grid']} doubles, {r['pattern']}, {r['iterations']} iterations"


@dataclass(frozen=True)
class Goal:
    """A goal for one device, and the worst measurement. None: not measured."""

    text: str
    device: str
    met: Optional[bool]
    told: str

    def __str__(self) -> str:
        verdict = "not measured" if self.met is None else "met" if self.met else "MISSED"
        return f"{verdict:12}  {self.device}: {self.text}: {self.told}"


def judge(text: str, records: Iterable[Record], key: str, least: Optional[float] = None,
          most: Optional[float] = None, form: str = ".2f") -> list[Goal]:
    """One goal per device: its worst record decides."""
    goals: list[Goal] = []
    known = list(records)
    for device in distinct(known, "device"):
        chosen = [r for r in known if r["device"] == device and key in r]
        if not chosen:
            goals.append(Goal(text, device, None, "no figure"))
            continue
        worst = (max if least is None else min)(chosen, key=lambda r: r[key])
        met = worst[key] >= least if least is not None else most is None or worst[key] <= most
        where = [f"{worst['ranks']} ranks"] + ([worst["experiment"]] if worst["command"] == "split" else [])
        where += [f"{worst['snapshots']} snapshots"] if "snapshots" in worst else []
        where += ["measured once"] if worst.get("repeat") == 1 else []
        goals.append(Goal(text, device, met, f"{format(worst[key], form)} at worst, {', '.join(where)}"))
    return goals


def is_paced(r: Record) -> bool:
    return str(r["on"]).startswith("paced:")


def split_goals(records: list[Record]) -> list[Goal]:
    storage = [r for r in records if r["method"] == "storage"]
    beside = [r for r in storage if is_paced(r) and r["foreground"] == "computation"]
    # Where the machine was slower while the I/O was measured, there was less to hide behind.
    long_enough = [r if r["alone"] >= r["io"] and can_be_hidden(r) else {**r, "hidden": None} for r in beside]
    long_enough = [{k: v for k, v in r.items() if v is not None} for r in long_enough]
    noise = {device: max(abs(r["again_of_none"] - 1) for r in storage if r["device"] == device and "again_of_none" in r)
             for device in distinct((r for r in storage if "again_of_none" in r), "device")}
    compared = [replace(g, told=f"{g.told}; `none` against itself: {noise[g.device]:.0%} off at worst")
                if g.device in noise else g
                for g in judge(f"`storage` takes <= {1 + NOISE:.2f} x `none`", storage, "of_none", most=1 + NOISE)]
    return [
        *compared,
        *judge(f"`storage` hides >= {HIDDEN:.0%} of the I/O behind computation at least as long", long_enough, "hidden",
               least=HIDDEN, form=".1%"),
        *judge(f"`storage` slows computation down by <= {SLOWDOWN:.0%}", beside, "slowdown", most=SLOWDOWN, form=".1%")]


def abt_goals(records: list[Record]) -> list[Goal]:
    goals: list[Goal] = []
    for pattern, least in OF_MEMCPY.items():
        goals += judge(f"{pattern}, room for twice the data, apparent throughput >= {least:.2f} x a memory copy",
                       [r for r in records if r.get("pattern") == pattern and r["method"] == "twice" and r["experiment"] == "throughput"],
                       "of_memcpy", least)
    for name, words in (("throughput", "write and close"), *PROGRAMS.items()):
        half = [r for r in records if r["experiment"] == name and r["method"] == "half"]
        goals += judge(f"{words}, room for half the data, total <= no room's ({NOISE:.0%} is noise)", half,
                       "of_unbuffered", most=1 + NOISE)
    return goals


def _print_goals(screen: Any, goals: list[Goal]) -> None:
    for goal in goals:
        screen.print(str(goal), highlight=False, markup=False, soft_wrap=True)
