"""Findings of papers and measurements here: sentences generated from the papers' and the measured numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Optional


@dataclass(frozen=True)
class Finding:
    paper: str  #: the finding, or an aim of Penstock
    source: str  #: title and table or figure; "": an aim of Penstock
    device: str
    here: str  #: what was measured
    holds: Optional[bool]  #: None: not measured

    @property
    def verdict(self) -> str:
        if self.holds is None:
            return "not measured"
        return ("holds" if self.holds else "DOES NOT HOLD") if self.source else ("met" if self.holds else "MISSED")

    def __str__(self) -> str:
        source = f" ({self.source})" if self.source else ""
        return f"{self.verdict:14} {self.device}: {self.paper}{source}; here: {self.here}"


def print_findings(screen: Any, found: Iterable[Finding]) -> None:
    for finding in found:
        screen.print(str(finding), highlight=False, markup=False, soft_wrap=True)
