"""scripts/words.py finds words that went in prose, and leaves code alone."""

import importlib.util
from pathlib import Path

import pytest

_SPEC = importlib.util.spec_from_file_location("words", Path(__file__).resolve().parents[2] / "scripts" / "words.py")
words = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(words)

PAGE = "Beside the rod.\n\n```python\nrod = 1\n```\n\n    rod\n\n`paced:` is told in [a page](rod.md)\n"
MODULE = '"""Rods."""\n\n\ndef public():\n    """Says\n\n    what is told.\n    """\n    rod = 1\n\n\ndef _private():\n    """A rod."""\n'
HEADER = "/// Lets go of the file.\nint rod;  // a rod\n"


@pytest.mark.parametrize("prose, text, expected", [
    (words.prose_of_page, PAGE, [(1, "rod"), (9, "told")]),
    (words.prose_of_module, MODULE, [(7, "told")]),
    (words.prose_of_header, HEADER, [(1, "Lets go")])])
def test_words_are_found_in_prose_and_not_in_code(prose, text, expected):
    assert [(number, word) for number, word, _ in words.found_in(prose(text))] == expected
