"""The results of a run as a file: every round, the versions, the machine."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import headrace
from benchmarks.comparison.bench import Effort
from benchmarks.comparison.competitors import COMPETITORS
from benchmarks.comparison.environments import version
from benchmarks.comparison.run import Measurements
from benchmarks.targets import Target

PLACE = Path(__file__).parent.parent / "results"
# Other benchmarks store their results in the same folder, under other names.
NAMED = "20??-??-??.json"


@dataclass(frozen=True)
class Results:
    """The results of one run."""

    at: str
    machine: dict[str, Any]
    versions: dict[str, str]
    effort: dict[str, Any]
    found: Measurements
    missing: dict[str, str]
    # The targets. The stored files use this name for them.
    bars: list[dict[str, Any]]
    # Workloads that a later run measured again, each with the time when that run ended.
    again: dict[str, str] = field(default_factory=dict)

    @property
    def day(self) -> str:
        return self.at[:10]

    def median(self, workload: str, competitor: str, figure: str) -> float | None:
        """Return the median of the rounds, or None if there are no rounds."""
        rounds = self.found.get(workload, {}).get(competitor, {}).get(figure)
        return statistics.median(rounds) if rounds else None

    def names(self, workload: str) -> list[str]:
        """Return the competitors that were measured with a workload."""
        return list(self.found.get(workload, {}))

    def judged(self) -> list[Target]:
        return [Target(**target) for target in self.bars]

    def write(self, *, partial: bool) -> Path:
        path = PLACE / f"{self.day}{'.partial' if partial else ''}.json"
        path.write_text(json.dumps(asdict(self), indent=1) + "\n")
        return path


def read(path: Path) -> Results:
    return Results(**json.loads(path.read_text()))


def renewed(earlier: Results, later: Results, workloads: dict[str, str]) -> Results:
    """Return the earlier run with the given workloads (name and title) from the later run."""
    kept = {name: rows for name, rows in earlier.found.items() if name not in workloads}
    titles = tuple(workloads.values())
    missed = {what: why for what, why in earlier.missing.items() if not what.endswith(titles)}
    return replace(
        earlier,
        effort=later.effort,
        found={**kept, **later.found},
        missing={**missed, **later.missing},
        again={**earlier.again, **dict.fromkeys(workloads, later.at)},
    )


def newest(place: Path = PLACE) -> Path | None:
    """Return the file of the newest complete run."""
    return max(place.glob(NAMED), default=None)


def made(
    effort: Effort, server: str, found: Measurements, missing: dict[str, str], targets: list[Target]
) -> Results:
    """Return the results of a run that ends now."""
    versions = {
        competitor.environment: version(competitor.environment) for competitor in COMPETITORS
    }
    versions["beanstalkd"] = output_of("beanstalkd", "-v").removeprefix("beanstalkd ")
    return Results(
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        machine={
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "node": output_of("node", "--version"),
            "server": server,
        },
        versions={"headrace": headrace.__version__, **versions},
        effort=asdict(effort),
        found=rounded(found),
        missing=missing,
        bars=[rounded(asdict(target)) for target in targets],
    )


def output_of(*command: str) -> str:
    """Return the output of a command, or "" if the command is not installed."""
    try:
        return subprocess.run(command, check=False, capture_output=True, text=True).stdout.strip()
    except OSError:
        return ""


def rounded(found: Any) -> Any:
    """Round to three decimals, because further digits are noise."""
    if isinstance(found, float):
        return round(found, 3)
    if isinstance(found, list):
        return [rounded(item) for item in found]
    if isinstance(found, dict):
        return {name: rounded(item) for name, item in found.items()}
    return found
