"""Shared by the commands: a group that lists its commands, and numbers separated by commas."""

from __future__ import annotations

import difflib
from typing import Any

from typer.core import TyperGroup


class Commands(TyperGroup):
    def resolve_command(self, context: Any, words: list[str]) -> Any:
        known = self.list_commands(context)
        if words and words[0] not in known and not words[0].startswith("-"):
            near = difflib.get_close_matches(words[0], known, n=1)
            context.fail(f"'{words[0]}' is not known; known are {', '.join(known)}"
                         + (f"; did you mean {near[0]}?" if near else ""))
        return super().resolve_command(context, words)


class WithDefault(Commands):
    """Where none of its commands is named, the first one is meant."""

    def parse_args(self, context: Any, words: list[str]) -> list[str]:
        known = self.list_commands(context)
        if not words or words[0] not in [*known, "--help"]:
            words = [known[0], *words]
        return super().parse_args(context, words)


def integers(name: str, text: str) -> list[int]:
    from . import ArgumentError

    try:
        return [int(part) for part in text.strip("()").split(",") if part.strip()]
    except ValueError:
        raise ArgumentError(f"{name} '{text}' must be whole numbers with commas between, as in 512,512") from None
