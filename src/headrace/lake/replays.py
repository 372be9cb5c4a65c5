"""Replays: which jobs of the past become new ones, written down before it happens.

What was chosen is laid down as files, then a plan that names it; what came of it stands beside
the plan. So a replay that was interrupted goes on with the same jobs, however the lake has grown.
"""

from __future__ import annotations

import datetime as dt

from headrace.lake.lake import Lake
from headrace.lake.manifest import Value, packed, unpacked

REPLAYS = "replays"
ROWS = "rows"
_PLAN, _OUTCOME = "plan.json", "outcome.json"


class Plan(Value, frozen=True):
    """What shall become jobs: the rows laid down under this id. rate: so many a second."""

    id: str
    at: dt.datetime
    where: str
    into: str
    rows: int
    rate: float | None = None


class Outcome(Value, frozen=True):
    """What came of a replay."""

    at: dt.datetime
    made: int


def folder_of(replay: str) -> str:
    """Where the rows of a replay lie."""
    return f"{REPLAYS}/{replay}/{ROWS}"


def write_plan(lake: Lake, plan: Plan) -> None:
    """From now on the replay is to be brought to its end."""
    lake.files.create(f"{REPLAYS}/{plan.id}/{_PLAN}", packed(plan))


def write_outcome(lake: Lake, plan: Plan, outcome: Outcome) -> None:
    """The replay is over."""
    lake.files.create(f"{REPLAYS}/{plan.id}/{_OUTCOME}", packed(outcome))


def plans(lake: Lake) -> list[tuple[Plan, Outcome | None]]:
    """All replays, the oldest first, each with what came of it."""
    found: dict[str, bytes] = {}
    for file in lake.files.list(REPLAYS):
        if file.path.endswith((_PLAN, _OUTCOME)):
            found[file.path] = lake.files.read(file.path)
    rows: list[tuple[Plan, Outcome | None]] = []
    for path, text in found.items():
        if path.endswith(_PLAN):
            ended = path.removesuffix(_PLAN) + _OUTCOME
            outcome = unpacked(Outcome, ended, found[ended]) if ended in found else None
            rows.append((unpacked(Plan, path, text), outcome))
    return sorted(rows, key=lambda row: row[0].at)
