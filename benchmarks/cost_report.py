"""The costs of operations: stored results, and tables for the terminal and for Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.comparison.report import Sheet
from benchmarks.comparison.results import PLACE, rounded
from benchmarks.instructions.measure import Instructions

NAMED = "costs-20??-??-??.json"


@dataclass(frozen=True)
class Cost:
    """The mean cost of one job in an operation."""

    operation: str
    round_trips: float
    commands: float
    bytes_sent: float
    bytes_received: float
    script_us: float


@dataclass(frozen=True)
class CostReport:
    """The results of one run. Instructions depend on the processor, on Python and on the server."""

    at: str
    processor: str
    python: str
    server: str
    costs: list[Cost]
    instructions: list[Instructions]

    def write(self) -> None:
        path = PLACE / f"costs-{self.at[:10]}.json"
        path.write_text(json.dumps(rounded(asdict(self)), indent=2) + "\n")

    def sheets(self, *, with_times: bool = False) -> Iterator[Sheet]:
        """Yield the tables; times depend on the load of the machine."""
        yield _costs(self.costs, with_times=with_times)
        if self.instructions:
            yield _instructions(self.instructions)


def _costs(costs: list[Cost], *, with_times: bool) -> Sheet:
    head = ["per job", "round trips", "commands", "bytes sent", "bytes received"]
    if with_times:
        head.append("script us")
    rows = [
        (
            cost.operation,
            *(f"{each:.3g}" for each in (cost.round_trips, cost.commands)),
            *(f"{each:,.0f}" for each in (cost.bytes_sent, cost.bytes_received)),
            *([f"{cost.script_us:.0f}"] if with_times else []),
        )
        for cost in costs
    ]
    return Sheet("Costs", tuple(head), tuple(rows))


def _instructions(counted: list[Instructions]) -> Sheet:
    rows = [
        (each.operation, *(f"{count / 1000:,.0f}" for count in (each.client, each.server)))
        for each in counted
    ]
    return Sheet("Instructions", ("per job, in thousands", "client", "server"), tuple(rows))


def newest(place: Path = PLACE) -> CostReport | None:
    """Return the newest stored run."""
    path = max(place.glob(NAMED), default=None)
    if path is None:
        return None
    found: dict[str, Any] = json.loads(path.read_text())
    costs = [Cost(**each) for each in found.pop("costs")]
    counted = [Instructions(**each) for each in found.pop("instructions")]
    return CostReport(**found, costs=costs, instructions=counted)


def markdown(found: CostReport) -> Iterator[str]:
    yield (
        f"Measured on {found.at[:10]} with {found.server} and Python {found.python} "
        f"on {found.processor}:"
    )
    for sheet in found.sheets():
        yield ""
        yield from sheet.for_markdown()
    yield ""
