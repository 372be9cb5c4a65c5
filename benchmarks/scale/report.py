"""The results over several shards as tables, for the terminal and for Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.comparison.report import Sheet
from benchmarks.comparison.results import PLACE, rounded
from benchmarks.scale.model import Forecast

NAMED = "scale-20??-??-??.json"

Measurements = dict[str, dict[str, list[float]]]


@dataclass(frozen=True)
class Scale:
    """The results of one run: the figures by number of shards, and the model."""

    at: str
    cores: int
    jobs: int
    shards: Measurements
    model: list[dict[str, Any]]

    def write(self) -> Path:
        path = PLACE / f"scale-{self.at[:10]}.json"
        path.write_text(json.dumps(rounded(asdict(self)), indent=1) + "\n")
        return path

    def measured(self) -> Sheet:
        head = ("shards", "servers", "drain, jobs/s", "server us/job", "worker us/job")
        rows = []
        for shards, figures in self.shards.items():
            costs = (median(figures[name]) for name in ("rate", "server_us", "cpu_us"))
            servers = min(int(shards), self.cores)
            rows.append((shards, str(servers), *(f"{cost:,.0f}" for cost in costs)))
        return Sheet("Measured", head, tuple(rows))

    def modelled(self) -> Sheet:
        head = ("nodes (model)", "shards", "on the fullest", "jobs/s", "cores of workers")
        rows = []
        for one in (Forecast(**found) for found in self.model):
            counts = map(str, (one.nodes, one.shards, one.fullest))
            rows.append((*counts, f"{one.jobs_a_second:,.0f}", f"{one.worker_cores:.0f}"))
        return Sheet("A model, not a measurement", head, tuple(rows))


def made(at: datetime, cores: int, jobs: int, found: Measurements, told: list[Forecast]) -> Scale:
    """Return the results of a run that ends now."""
    model = [asdict(one) for one in told]
    return Scale(at.isoformat(timespec="seconds"), cores, jobs, found, model)


def newest(place: Path = PLACE) -> Scale | None:
    """Return the newest stored run."""
    path = max(place.glob(NAMED), default=None)
    return None if path is None else Scale(**json.loads(path.read_text()))


def markdown(found: Scale) -> Iterator[str]:
    yield f"Measured on {found.at[:10]} with {found.cores} cores, {found.jobs:,} jobs, medians:"
    for sheet in (found.measured(), found.modelled()):
        yield ""
        yield from sheet.for_markdown()
    yield ""
