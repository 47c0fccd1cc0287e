"""Confidence intervals of means, by Student's t distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Optional

import numpy as np

POINTS = 20001  # of the integral: five digits of t


@cache
def student_t(degrees: int, confidence: float = 0.95) -> float:
    """The t between whose negative and itself lies this part of the distribution.

    With x = sqrt(degrees) tan(a) the density becomes a power of cos(a), which numpy integrates.
    """
    angles = np.linspace(0, math.pi / 2, POINTS)
    density = np.cos(angles) ** (degrees - 1)
    area = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    return float(math.sqrt(degrees) * math.tan(np.interp(confidence * area[-1], area, angles)))


def interval(values: Sequence[float]) -> tuple[float, Optional[float]]:
    """Mean, and how far the 95 % confidence interval reaches on each side; None: there is one value only."""
    if len(values) < 2:
        return float(np.mean(values)), None
    return float(np.mean(values)), float(student_t(len(values) - 1) * np.std(values, ddof=1) / math.sqrt(len(values)))


def relative(values: Sequence[float]) -> str:
    """Half of the interval, of the mean: "4.1 %"; "" where there is none."""
    mean, half = interval(values)
    return "" if half is None else f"{100 * half / mean:.1f} %"
