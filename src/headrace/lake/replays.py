"""Replay plans: which jobs of the past are put again.

A replay first writes the chosen rows to files, then a plan that names them, and in the end its
outcome. An interrupted replay therefore resumes with the same jobs, however the lake has grown.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import time

from headrace.lake.batches import LEFTOVER
from headrace.lake.files import still_folders
from headrace.lake.lake import Lake
from headrace.lake.manifest import LakeRecord, packed, unpacked

REPLAYS = "replays"
ROWS = "rows"
_PLAN, _OUTCOME = "plan.json", "outcome.json"


class ReplayPlan(LakeRecord, frozen=True):
    """The rows in a folder, and the write that turns them into jobs; rate is jobs per second."""

    id: str
    write: str
    at: dt.datetime
    where: str
    into: str
    rows: int
    rate: float | None = None


class ReplayOutcome(LakeRecord, frozen=True):
    """The result of a replay."""

    at: dt.datetime
    made: int


def plan_id(where: str, into: str, generation: int) -> str:
    """Return the id of the nth replay of the same jobs into the same queue."""
    return hashlib.sha256(f"{generation}\0{into}\0{where}".encode()).hexdigest()[:16]


def folder_of(replay: str, write: str) -> str:
    """Return the folder with the rows of a write."""
    return f"{REPLAYS}/{replay}/{ROWS}-{write}"


def write_plan(lake: Lake, plan: ReplayPlan) -> ReplayPlan:
    """Store a plan and return the valid one: this one, or the one another process stored first."""
    path = f"{REPLAYS}/{plan.id}/{_PLAN}"
    if lake.files.create(path, packed(plan)):
        return plan
    lake.files.delete(folder_of(plan.id, plan.write))
    return unpacked(ReplayPlan, path, lake.files.read(path))


def write_outcome(lake: Lake, plan: ReplayPlan, outcome: ReplayOutcome) -> None:
    """Store the outcome of a finished replay."""
    lake.files.create(f"{REPLAYS}/{plan.id}/{_OUTCOME}", packed(outcome))


def plans(lake: Lake) -> list[tuple[ReplayPlan, ReplayOutcome | None]]:
    """Return all replays with their outcomes, oldest first."""
    found: dict[str, bytes] = {}
    for file in lake.files.list(REPLAYS):
        if file.path.endswith((_PLAN, _OUTCOME)):
            found[file.path] = lake.files.read(file.path)
    rows: list[tuple[ReplayPlan, ReplayOutcome | None]] = []
    for path, text in found.items():
        if path.endswith(_PLAN):
            ended = path.removesuffix(_PLAN) + _OUTCOME
            outcome = unpacked(ReplayOutcome, ended, found[ended]) if ended in found else None
            rows.append((unpacked(ReplayPlan, path, text), outcome))
    return sorted(rows, key=lambda row: row[0].at)


def sweep(lake: Lake, older_than: float = LEFTOVER) -> list[str]:
    """Remove rows without a plan, which a dead process left, and return their folders."""
    latest = time.time() - older_than
    still = still_folders(lake.files, REPLAYS, latest)
    named = {folder_of(plan.id, plan.write) for plan, _ in plans(lake)} if still else set()
    swept = sorted(still - named)
    for folder in swept:
        lake.files.delete(folder)
    return swept
