"""Replays: which jobs of the past become new ones, written down before it happens.

What was chosen is laid down as files, then a plan that names it; what came of it stands beside
the plan. So a replay that was interrupted goes on with the same jobs, however the lake has grown.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import time

from headrace.lake.batches import LEFTOVER
from headrace.lake.files import still_folders
from headrace.lake.lake import Lake
from headrace.lake.manifest import Value, packed, unpacked

REPLAYS = "replays"
ROWS = "rows"
_PLAN, _OUTCOME = "plan.json", "outcome.json"


class Plan(Value, frozen=True):
    """What shall become jobs: the rows laid down in a folder, by one write. rate: a second."""

    id: str
    write: str
    at: dt.datetime
    where: str
    into: str
    rows: int
    rate: float | None = None


class Outcome(Value, frozen=True):
    """What came of a replay."""

    at: dt.datetime
    made: int


def plan_id(where: str, into: str, generation: int) -> str:
    """What the nth replay of the same jobs into the same queue is called."""
    return hashlib.sha256(f"{generation}\0{into}\0{where}".encode()).hexdigest()[:16]


def folder_of(replay: str, write: str) -> str:
    """Where the rows that a write shall make jobs of lie."""
    return f"{REPLAYS}/{replay}/{ROWS}-{write}"


def write_plan(lake: Lake, plan: Plan) -> Plan:
    """The plan that holds from now on: this one, or that of somebody who was sooner."""
    path = f"{REPLAYS}/{plan.id}/{_PLAN}"
    if lake.files.create(path, packed(plan)):
        return plan
    lake.files.delete(folder_of(plan.id, plan.write))
    return unpacked(Plan, path, lake.files.read(path))


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


def sweep(lake: Lake, older_than: float = LEFTOVER) -> list[str]:
    """Removes rows that no plan names, as who laid them down died, and returns where they were."""
    latest = time.time() - older_than
    still = still_folders(lake.files, REPLAYS, latest)
    named = {folder_of(plan.id, plan.write) for plan, _ in plans(lake)} if still else set()
    swept = sorted(still - named)
    for folder in swept:
        lake.files.delete(folder)
    return swept
