"""Tags: labels of jobs. Tags can be added, removed and searched at any time."""

from __future__ import annotations

from typing import Any

from headrace.engine import keys
from headrace.engine.call import Call, build, is_refusal, job_refusal, pack
from headrace.engine.check import page, text, whole
from headrace.engine.check import tags as checked_tags
from headrace.operations.core import Core
from headrace.operations.jobs import page_of_jobs
from headrace.operations.paging import counts_of_names
from headrace.operations.protocols import ClientLike
from headrace.operations.requests import ask_one
from headrace.operations.values import Page
from headrace.transport.drive import Operation


def tag(client: ClientLike, job_id: str, *tags: str) -> Operation[list[str]]:
    """Add tags to a job in any state and return all tags of the job.

    Raises JobNotFound if there is no such job, and TooMany if the job would have more tags than
    Limits.tags.

        client.tags.add("order-7", "urgent", "customer-12")
    """
    core = client.core
    return (yield from _retag(core, "tag", job_id, tags, most=core.limits.tags))


def untag(client: ClientLike, job_id: str, *tags: str) -> Operation[list[str]]:
    """Remove tags from a job and return the remaining tags; tags that the job lacks are ignored.

    Raises JobNotFound if there is no such job.

        client.tags.remove("order-7", "urgent")
    """
    return (yield from _retag(client.core, "untag", job_id, tags))


def _retag(
    core: Core, op: str, job_id: str, tags: tuple[str, ...], **args: int
) -> Operation[list[str]]:
    text("id", job_id, core.limits.name)
    names = pack(checked_tags(tags, core.limits))
    call: Call[list[Any]] = build(op, list, [(job_id,)], names=names, **args)
    [answer] = yield from ask_one(core, core.shard_of(job_id), call)
    if is_refusal(answer):
        raise job_refusal(job_id, answer)
    return [name.decode() for name in answer]


def tagged(client: ClientLike, name: str, *, offset: int = 0, count: int = 25) -> Operation[Page]:
    """Return a page of the jobs with a tag, in any state, in the order in which they were tagged.

    The page also has the total number of jobs with the tag.

    Raises InvalidArgument if the tag is malformed, or `offset` or `count` is out of range.

        client.tags.jobs("urgent").jobs
    """
    text("a tag", name, client.core.limits.name)
    bounds = page(offset, count)
    return (yield from page_of_jobs(client, keys.tag, name, bounds, newest_first=False))


def top_tags(
    client: ClientLike, *, offset: int = 0, count: int = 25, least: int = 2
) -> Operation[dict[str, int]]:
    """Return the tags that at least `least` jobs have, with the number of jobs, most used first.

    Raises InvalidArgument if `offset`, `count` or `least` is out of range.

        for tag, jobs in client.tags.top(count=10).items():
            print(tag, jobs)
    """
    core = client.core
    offset, count = page(offset, count)
    whole("least", least, 1, 10**9)
    bounds = {"least": least, "most": offset + count} if core.shards == 1 else {}
    totals = yield from counts_of_names(core, keys.TAGS, **bounds)
    often = sorted(
        ((times, name) for name, times in totals.items() if times >= least), reverse=True
    )
    return {name: times for times, name in often[offset : offset + count]}
