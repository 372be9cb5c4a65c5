"""What must be reached, and whether it was."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

OURS = "headrace"
BARE = "bare BLPOP"
SESSION_TTL = 3.0

Rounds = Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Bar:
    """A figure and its limit; a figure that could not be had does not reach it."""

    name: str
    found: float | None
    limit: float
    unit: str
    at_least: bool = False

    @property
    def reached(self) -> bool:
        if self.found is None:
            return False
        return self.found >= self.limit if self.at_least else self.found < self.limit


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """p50 and p99; at least two values."""
    cuts = statistics.quantiles(values, n=100, method="inclusive")
    return {"p50": cuts[49], "p99": cuts[98]}


def beside(ours: Sequence[float], theirs: Sequence[float]) -> float | None:
    """The median of the ratios of each round, None if a side has none."""
    if not ours or not theirs:
        return None
    return statistics.median(mine / other for mine, other in zip(ours, theirs, strict=True))


def best_of_each_round(rates: Rounds, among: Collection[str]) -> list[float]:
    """The highest rate of every round among those who were there in all of them."""
    return [max(found) for found in zip(*(rates[name] for name in among), strict=True)]


def judge(found: Mapping[str, Any], pure_python: Collection[str]) -> list[Bar]:
    """Every bar, from the figures of a run; what was not measured is not there."""
    rates: Rounds = {name: rows["rate"] for name, rows in found["drain"].items()}
    rivals = [name for name in rates if name in pure_python]
    halves: Rounds = {name: rows["p50"] for name, rows in found["latency"].items()}
    idle = {name: max(rows) for name, rows in found["idle"].get(OURS, {}).items()}
    return [
        Bar(
            "drain, of the best pure-Python rival",
            beside(rates.get(OURS, ()), best_of_each_round(rates, rivals)),
            4.0,
            "x",
            at_least=True,
        ),
        Bar(
            "idle latency p50, of a bare BLPOP",
            beside(halves.get(OURS, ()), halves.get(BARE, ())),
            2.0,
            "x",
        ),
        *(
            Bar(
                f"kill -9 of {what}, until all runs again",
                max(found["recovery"].get(what, ()), default=None),
                SESSION_TTL + 2,
                "s",
            )
            for what in ("the process", "the tree")
        ),
        Bar("idle memory (Pss)", idle.get("pss_mib"), 60, "MiB"),
        Bar("idle CPU, of a core", idle.get("cpu_percent"), 1.0, "%"),
    ]
