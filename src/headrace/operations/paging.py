"""Pages of jobs: one script on one shard; with several, ids are merged before jobs are read."""

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

FARTHEST = 100_000

Entry = tuple[tuple[float, int], str]


def page_reader(core: Core) -> Callable[[list[Any]], Page]:
    """Reads a page of one shard."""

    def decode(reply: list[Any]) -> Page:
        return Page(reply[0], [read_job(core.codec, described) for described in reply[1:]])

    return decode


def ids_of_page(
    core: Core, role: str, name: str, offset: int, count: int, *, newest_first: bool
) -> Operation[tuple[int, list[str]]]:
    """How many there are on all shards, and the ids of a page of them.

    Every shard is asked for all up to the end of the page, in steps that keep no server busy for
    long. Merged, not sorted: the order of each shard holds, so pages neither overlap nor leave out.
    """
    reach = offset + count
    if reach > FARTHEST:
        raise InvalidArgument(f"with several shards pages reach to {FARTHEST} jobs, not {reach}")
    total = 0
    lines = []
    for shard in range(core.shards):
        on_shard, line = yield from _line(core, shard, role, name, reach, newest_first=newest_first)
        total += on_shard
        lines.append(line)
    every = merge(*lines, key=lambda entry: entry[0], reverse=newest_first)
    return total, [job_id for _, job_id in islice(every, offset, reach)]


def _line(
    core: Core, shard: int, role: str, name: str, reach: int, *, newest_first: bool
) -> Operation[tuple[int, list[Entry]]]:
    line: list[Entry] = []
    while True:
        asked = min(PAGE, reach - len(line))
        call: Call[list[Any]] = build(
            "list_ids",
            list,
            role=role,
            name=name,
            newest_first=int(newest_first),
            offset=len(line),
            count=asked,
        )
        total, *found = yield from ask_one(core, shard, call)
        rows = zip(found[::3], found[1::3], found[2::3], strict=True)
        line += [((float(score), put), job_id.decode()) for job_id, score, put in rows]
        if len(line) >= min(reach, total) or not found:
            return total, line


def still(jobs: list[Job], state: str) -> list[Job]:
    """Those that have not moved on since they were listed."""
    return [job for job in jobs if job.state == state]
