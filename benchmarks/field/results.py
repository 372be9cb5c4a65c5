"""What a run found, as a file: every round, the versions, the machine."""

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
from benchmarks.bars import Bar
from benchmarks.field.bench import Effort
from benchmarks.field.contestants import RIVALS
from benchmarks.field.homes import version
from benchmarks.field.run import Found

PLACE = Path(__file__).parent.parent / "results"
# The parts of other benchmarks lie there too, by name.
NAMED = "20??-??-??.json"


@dataclass(frozen=True)
class Results:
    """A run, from its file or before it is written."""

    at: str
    machine: dict[str, Any]
    versions: dict[str, str]
    effort: dict[str, Any]
    found: Found
    missing: dict[str, str]
    bars: list[dict[str, Any]]
    # Parts that were measured anew in a later run, each as a whole, and when.
    again: dict[str, str] = field(default_factory=dict)

    @property
    def day(self) -> str:
        return self.at[:10]

    def median(self, part: str, who: str, figure: str) -> float | None:
        """The median of the rounds, None if there is none."""
        rounds = self.found.get(part, {}).get(who, {}).get(figure)
        return statistics.median(rounds) if rounds else None

    def names(self, part: str) -> list[str]:
        """Who was measured in a part."""
        return list(self.found.get(part, {}))

    def judged(self) -> list[Bar]:
        return [Bar(**bar) for bar in self.bars]

    def write(self, *, partial: bool) -> Path:
        path = PLACE / f"{self.day}{'.partial' if partial else ''}.json"
        path.write_text(json.dumps(asdict(self), indent=1) + "\n")
        return path


def read(path: Path) -> Results:
    return Results(**json.loads(path.read_text()))


def renewed(earlier: Results, later: Results, parts: dict[str, str]) -> Results:
    """The earlier run with these parts, by name and title, as the later one has them."""
    kept = {name: rows for name, rows in earlier.found.items() if name not in parts}
    titles = tuple(parts.values())
    missed = {what: why for what, why in earlier.missing.items() if not what.endswith(titles)}
    return replace(
        earlier,
        effort=later.effort,
        found={**kept, **later.found},
        missing={**missed, **later.missing},
        again={**earlier.again, **dict.fromkeys(parts, later.at)},
    )


def newest(place: Path = PLACE) -> Path | None:
    """The file of the last whole run."""
    return max(place.glob(NAMED), default=None)


def made(
    effort: Effort, server: str, found: Found, missing: dict[str, str], bars: list[Bar]
) -> Results:
    """The results of a run that ends now."""
    versions = {who.home: version(who.home) for who in RIVALS}
    versions["beanstalkd"] = said_by("beanstalkd", "-v").removeprefix("beanstalkd ")
    return Results(
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        machine={
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "node": said_by("node", "--version"),
            "server": server,
        },
        versions={"headrace": headrace.__version__, **versions},
        effort=asdict(effort),
        found=rounded(found),
        missing=missing,
        bars=[rounded(asdict(bar)) for bar in bars],
    )


def said_by(*command: str) -> str:
    """What a program says of itself, nothing if it is not there."""
    try:
        return subprocess.run(command, check=False, capture_output=True, text=True).stdout.strip()
    except OSError:
        return ""


def rounded(found: Any) -> Any:
    """The same with three decimals: more are noise."""
    if isinstance(found, float):
        return round(found, 3)
    if isinstance(found, list):
        return [rounded(item) for item in found]
    if isinstance(found, dict):
        return {name: rounded(item) for name, item in found.items()}
    return found
