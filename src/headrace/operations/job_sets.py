"""The jobs of a namespace, read in bulk through the sets in which they are."""

from __future__ import annotations

import math
from dataclasses import dataclass

from headrace.engine.call import build, pack
from headrace.engine.states import STATES
from headrace.operations.core import Core
from headrace.operations.queues import LISTED
from headrace.operations.requests import ask, ask_one
from headrace.operations.values import Job, read_job
from headrace.transport.drive import Operation

# Each may have a payload of a megabyte.
JOBS_PER_PAGE = 200


@dataclass(frozen=True, slots=True)
class JobSet:
    """One of the sorted sets of a shard: its role, its name, about how many jobs are in it."""

    shard: int
    role: str
    name: str
    size: int


def job_sets(core: Core, queues: list[str]) -> Operation[list[JobSet]]:
    """The sets of all states of these queues, without the empty ones."""
    found: list[JobSet] = []
    for first in range(0, len(queues), LISTED):
        names = queues[first : first + LISTED]
        call = build("counts", list, [(name,) for name in names])
        replies = yield from ask(core, [(shard, call) for shard in range(core.shards)])
        found += [
            JobSet(shard, state, name, size)
            for shard, counted in enumerate(replies)
            for name, (*_, waiting, scheduled, blocked, running, failed, complete) in zip(
                names, counted, strict=True
            )
            for state, size in zip(
                STATES, (waiting, scheduled, blocked, running, failed, complete), strict=True
            )
            if size
        ]
    return found


def read_jobs(
    core: Core, where: JobSet, lowest: float, highest: float, cursor: bytes | None
) -> Operation[tuple[bytes, list[Job]]]:
    """A page of jobs whose scores are within bounds, and the cursor of the next, b"" at the end.

    The first page has no cursor.
    """
    if cursor is None:
        cursor = b"" if lowest == -math.inf else pack([str(int(lowest)), ""])
    call = build(
        "scan_jobs",
        list,
        role=where.role,
        name=where.name,
        highest=highest,
        at_most=JOBS_PER_PAGE,
        cursor=cursor,
    )
    after, *described = yield from ask_one(core, where.shard, call)
    return after, [read_job(core.codec, each) for each in described]
