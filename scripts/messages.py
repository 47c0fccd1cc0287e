#!/usr/bin/env python3
"""Prints a table of every message of the product, for review: place, kind, text.

    python scripts/messages.py [WORD]

A message is a string of two words or more in src/, bindings/ and python/penstock, with other strings of the same
statement; values are in braces. The kind is `error` (raised or thrown), `stderr` (a warning or notice), or `text`
(all others: helps of commands, hints, and parts of messages that a function returns). With WORD, a regular expression,
only messages that contain it.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
Message = tuple[int, str, str]

TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/|^\#[^\n]*)
      | (?P<raw>R"(?P<mark>[^(\s]*)\((?P<inside>.*?)\)(?P=mark)")
      | (?P<string>"(?:\\.|[^"\\])*")
      | (?P<char>'(?:\\.|[^'\\])+')
      | (?P<end>[;{}])""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)


def is_prose(text: str) -> bool:
    return re.search(r"[A-Za-z]{2,}[,:;.)']* +[({'A-Za-z]|^[a-z]+ +[a-z]", text) is not None


def kind_of(code: str) -> str:
    if re.search(r"\bthrow\b|\bthrow_\w+\(|\bError\(|\braise\b|\brefuse", code):
        return "error"
    return "stderr" if "stderr" in code or re.search(r"\bwarn", code) else "text"


def statements(text: str) -> Iterator[list[tuple[int, bool, str]]]:
    """Of C++: pieces (line, is a string, text) between semicolons and braces."""
    pieces: list[tuple[int, bool, str]] = []
    at = 0
    for token in TOKEN.finditer(text):
        pieces.append((0, False, text[at : token.start()]))
        at = token.end()
        line = text.count("\n", 0, token.start()) + 1
        if token["string"] or token["raw"]:
            pieces.append((line, True, token["inside"] or (token["string"] or "")[1:-1]))
        elif token["end"]:
            yield pieces
            pieces = []
    yield pieces


def messages_of_cpp(text: str) -> Iterator[Message]:
    for pieces in statements(text):
        strings = [index for index, (_, is_string, _) in enumerate(pieces) if is_string]
        if not strings:
            continue
        shown = ""
        for _, is_string, piece in pieces[strings[0] : strings[-1] + 1]:
            value = " ".join(piece.split()).strip("+ ")
            shown += piece if is_string else f"{{{value}}}" if value else ""
        if is_prose(shown):
            yield (
                pieces[strings[0]][0],
                kind_of("".join(piece for _, is_string, piece in pieces if not is_string)),
                shown,
            )


def words_of(node: ast.AST) -> str | None:
    """None: not a string."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=values):
            return "".join(words_of(value) or f"{{{ast.unparse(value).strip('{}')}}}" for value in values)
        case ast.FormattedValue(value=value):
            return f"{{{ast.unparse(value)}}}"
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            sides = words_of(left), words_of(right)
            shown = [
                side if side is not None else f"{{{ast.unparse(node)}}}" for side, node in zip(sides, (left, right))
            ]
            return "".join(shown) if sides != (None, None) else None
    return None


def messages_of_python(text: str) -> Iterator[Message]:
    pending: list[tuple[ast.AST, str]] = [(ast.parse(text), "text")]
    while pending:
        node, kind = pending.pop()
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue  # a docstring
        if isinstance(node, ast.Raise):
            kind = "error"
        elif isinstance(node, ast.Call):
            called = kind_of(
                ast.unparse(node.func) + "(" + "".join(ast.unparse(k) for k in node.keywords if k.arg == "file")
            )
            kind = called if kind == "text" else kind
        shown = words_of(node)
        if shown is None:
            pending += [(child, kind) for child in ast.iter_child_nodes(node)]
        elif is_prose(shown):
            yield getattr(node, "lineno", 0), kind, shown


def main() -> int:
    wanted = re.compile(sys.argv[1] if len(sys.argv) > 1 else "", re.IGNORECASE)
    folders = [ROOT / "src", ROOT / "bindings", ROOT / "python" / "penstock"]
    for path in sorted(path for folder in folders for path in folder.rglob("*") if path.is_file()):
        if path.suffix not in (".cpp", ".hpp", ".c", ".h", ".py"):
            continue
        read = messages_of_python if path.suffix == ".py" else messages_of_cpp
        for line, kind, words in sorted(read(path.read_text())):
            if wanted.search(words):
                print(f"{path.relative_to(ROOT)}:{line}\t{kind}\t{' '.join(words.split())}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
