"""Targets of a benchmark, and whether they are reached."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """A figure and its limit; without a measurement, the target is neither reached nor missed."""

    name: str
    found: float | None
    limit: float
    unit: str
    at_least: bool = False

    @property
    def reached(self) -> bool:
        if self.found is None:
            return False
        return self.found >= self.limit if self.at_least else self.found <= self.limit

    @property
    def verdict(self) -> str:
        if self.found is None:
            return "not measured"
        return "reached" if self.reached else "missed"


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """Return p50 and p99 of at least two values."""
    cuts = statistics.quantiles(values, n=100, method="inclusive")
    return {"p50": cuts[49], "p99": cuts[98]}


def median_ratio(ours: Sequence[float], theirs: Sequence[float]) -> float | None:
    """Return the median ratio over the rounds that both have, or None if there is none."""
    ratios = [mine / other for mine, other in zip(ours, theirs, strict=False)]
    return statistics.median(ratios) if ratios else None
