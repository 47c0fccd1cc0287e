#!/usr/bin/env python3
"""Writes the tables of docs/ that are generated from the library: hints and statistics.

    python scripts/doc_tables.py [--check]      penstock must be importable

--check: changes nothing, and exits with 1 if a table is out of date.
"""

import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import penstock as ps

DOCS = Path(__file__).resolve().parents[1] / "docs"


def code(text: str) -> str:
    return f"`{text}`" if text else '`""`'


def hint_values(hint: ps.Hint) -> str:
    """Words that a user types are code; "bytes", "1 … 16 ranks" are not."""
    if hint.choices:
        return ", ".join(map(code, hint.choices))
    typed = re.compile(r'auto|other|batch|nice=N|core=N|""|\w+:…|\d+[KMG]?')
    return ", ".join(code(part) if typed.fullmatch(part) else part for part in hint.values.split(", "))


def hint_help(hint: ps.Hint) -> str:
    """With the values of the hint and other hints' names in code font."""
    names = "|".join(f"{re.escape(choice)}(?=:)" for choice in ("auto", *hint.choices))
    return re.sub(rf"\b({names})", r"`\1`", hint.help)


def hint_rows(experimental: bool) -> Iterable[tuple[str, ...]]:
    yield "hint", "values", "default", "scope", "ranks", "what it does"
    for hint in (hint for hint in ps.hints() if hint.experimental == experimental):
        yield (code(hint.name), hint_values(hint), code(hint.default), hint.scope,
               "same" if hint.common else "may differ", hint_help(hint))


def statistics_rows() -> Iterable[tuple[str, ...]]:
    yield "attribute", "unit", "what it is"
    for field in ps.Statistics.fields():
        yield code(field.name), field.unit, field.help


TABLES: dict[str, tuple[str, Callable[[], Iterable[tuple[str, ...]]]]] = {
    "hints": ("hints.md", lambda: hint_rows(False)),
    "experiments": ("hints.md", lambda: hint_rows(True)),
    "statistics": ("statistics.md", statistics_rows),
}


def markdown(rows: Iterable[tuple[str, ...]]) -> str:
    head, *body = rows
    lines = [head, tuple("---" for _ in head), *body]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def with_table(text: str, name: str, table: str) -> str:
    begin, end = f"<!-- table {name}: made by scripts/doc_tables.py -->\n", f"<!-- end of table {name} -->\n"
    before, rest = text.split(begin)
    return before + begin + "\n" + table + "\n" + end + rest.split(end)[1]


def main() -> int:
    stale = []
    for name, (page, rows) in TABLES.items():
        path = DOCS / page
        text = path.read_text()
        made = with_table(text, name, markdown(rows()))
        if made == text:
            continue
        stale.append(str(path.relative_to(DOCS.parent)))
        if "--check" not in sys.argv[1:]:
            path.write_text(made)
    if "--check" not in sys.argv[1:]:
        return 0
    for page in stale:
        print(f"{page}: its table is out of date; run scripts/doc_tables.py")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
