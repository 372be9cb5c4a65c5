"""Read the jobs of a namespace in bulk, through the sorted sets that list the jobs."""

from __future__ import annotations

import math
from dataclasses import dataclass

from headrace.engine.call import build, pack
from headrace.engine.states import STATES
from headrace.operations.batches import chunks
from headrace.operations.core import Core
from headrace.operations.queues import LISTED
from headrace.operations.requests import ask_all, ask_one
from headrace.operations.values import Job, read_job
from headrace.transport.drive import Operation

# Pages are small, because each job may have a payload of a megabyte.
JOBS_PER_PAGE = 200


@dataclass(frozen=True, slots=True)
class JobSet:
    """A sorted set of jobs on a shard, such as the waiting jobs of a queue.

    For example, the set with the role "waiting" and the name "mail" lists the waiting jobs of
    `mail`. `size` is approximate.
    """

    shard: int
    role: str
    name: str
    size: int


def job_sets(core: Core, queues: list[str]) -> Operation[list[JobSet]]:
    """Return the non-empty job sets of these queues, one set per shard, queue and state."""
    found: list[JobSet] = []
    for names in chunks(queues, LISTED):
        call = build("counts", list, [(name,) for name in names])
        replies = yield from ask_all(core, call)
        found += [
            JobSet(shard, state, name, size)
            for shard, counted in enumerate(replies)
            for name, counts in zip(names, counted, strict=True)
            for state, size in zip(STATES, counts[-len(STATES) :], strict=True)
            if size
        ]
    return found


def read_jobs(
    core: Core, where: JobSet, lowest: float, highest: float, cursor: bytes | None
) -> Operation[tuple[bytes, list[Job]]]:
    """Return the cursor of the next page, and a page of jobs with scores within the bounds.

    Pass None as the cursor of the first page. The cursor after the last page is b"".
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
