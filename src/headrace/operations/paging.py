"""Pages of jobs. One shard answers in one call; ids of several shards are merged first."""

from __future__ import annotations

from collections.abc import Callable
from heapq import merge
from itertools import islice
from typing import Any

from headrace.engine.call import Call, build
from headrace.engine.check import PAGE
from headrace.errors import InvalidArgument
from headrace.operations.core import Core
from headrace.operations.requests import ask_one
from headrace.operations.values import Job, Page, read_job
from headrace.transport.drive import Operation

# With several shards a page must end here at the latest.
LAST_POSITION = 100_000

Entry = tuple[tuple[float, int], str]


def page_reader(core: Core) -> Callable[[list[Any]], Page]:
    """Return a function that reads the reply of one shard as a page."""

    def decode(reply: list[Any]) -> Page:
        return Page(reply[0], [read_job(core.codec, described) for described in reply[1:]])

    return decode


def ids_of_page(
    core: Core, role: str, name: str, offset: int, count: int, *, newest_first: bool
) -> Operation[tuple[int, list[str]]]:
    """Return the total number of jobs on all shards, and the ids of one page of them.

    Every shard returns its ids up to the end of the page, in steps that do not keep the server busy
    for long. The lists are merged, not sorted, which preserves the order of each shard: pages do
    not overlap and leave nothing out.
    """
    end = offset + count
    if end > LAST_POSITION:
        raise InvalidArgument(
            f"with several shards offset + count may be {LAST_POSITION} at most, not {end}"
        )
    total = 0
    ids_by_shard = []
    for shard in range(core.shards):
        on_shard, ids = yield from _ids_of_shard(
            core, shard, role, name, end, newest_first=newest_first
        )
        total += on_shard
        ids_by_shard.append(ids)
    merged = merge(*ids_by_shard, key=lambda entry: entry[0], reverse=newest_first)
    return total, [job_id for _, job_id in islice(merged, offset, end)]


def _ids_of_shard(
    core: Core, shard: int, role: str, name: str, end: int, *, newest_first: bool
) -> Operation[tuple[int, list[Entry]]]:
    ids: list[Entry] = []
    while True:
        step = min(PAGE, end - len(ids))
        call: Call[list[Any]] = build(
            "list_ids",
            list,
            role=role,
            name=name,
            newest_first=int(newest_first),
            offset=len(ids),
            count=step,
        )
        total, *found = yield from ask_one(core, shard, call)
        rows = zip(found[::3], found[1::3], found[2::3], strict=True)
        ids += [((float(score), put), job_id.decode()) for job_id, score, put in rows]
        if len(ids) >= min(end, total) or not found:
            return total, ids


def still(jobs: list[Job], state: str) -> list[Job]:
    """Return the jobs that are still in this state since they were listed."""
    return [job for job in jobs if job.state == state]
