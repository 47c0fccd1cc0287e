#!/usr/bin/env python3
"""Finds words that scripts/words.txt replaces by plain ones, and exits with 1 if there are any.

    python scripts/words.py

It reads the prose of README.md, CONTRIBUTING.md and docs/, the docstrings of the package's public names, and the
`///` comments of the public headers. Code, also in backticks, may keep its names.
"""

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
Line = tuple[int, str]


@cache
def words() -> list[tuple[re.Pattern[str], str]]:
    lines = (ROOT / "scripts" / "words.txt").read_text().splitlines()
    pairs = (line.split(" = ", 1) for line in lines if line and not line.startswith("#"))
    return [(re.compile(rf"\b({word})\b", re.IGNORECASE), plain) for word, plain in pairs]


def prose_of_page(text: str) -> Iterator[Line]:
    """Without blocks of code and the addresses of links."""
    in_code = False
    for number, line in enumerate(text.splitlines(), 1):
        fence = line.lstrip().startswith("```")
        in_code ^= fence
        if not (in_code or fence or line.startswith("    ")):
            yield number, re.sub(r"\]\([^)]*\)", "]", line)


def prose_of_module(text: str) -> Iterator[Line]:
    pending: list[ast.AST] = [ast.parse(text)]
    while pending:
        node = pending.pop()
        public = [child for child in ast.iter_child_nodes(node) if not getattr(child, "name", "").startswith("_")]
        pending += [child for child in public if isinstance(child, (ast.ClassDef, ast.FunctionDef))]
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
            first = node.body[0].lineno
            yield from enumerate((ast.get_docstring(node, clean=False) or "").splitlines(), first)


def prose_of_header(text: str) -> Iterator[Line]:
    for number, line in enumerate(text.splitlines(), 1):
        _, slashes, comment = line.partition("///")
        if slashes:
            yield number, comment


def found_in(prose: Iterable[Line]) -> Iterator[tuple[int, str, str]]:
    """Line, word, and what stands in its place."""
    for number, line in prose:
        for word, plain in words():
            if match := word.search(re.sub(r"`[^`]*`|\"[^\"]*\"", "", line)):
                yield number, match[0], plain


def main() -> int:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    sources = [(page, prose_of_page) for page in pages if page.name != "style.md"]
    sources += [(module, prose_of_module) for module in sorted((ROOT / "python" / "penstock").glob("*.py"))]
    sources += [(header, prose_of_header) for header in sorted((ROOT / "include" / "penstock").glob("*.h*"))]
    found = 0
    for path, prose in sources:
        for number, word, plain in found_in(prose(path.read_text())):
            found += 1
            print(f"{path.relative_to(ROOT)}:{number}: '{word}': {plain}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
