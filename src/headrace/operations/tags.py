"""Tags: labels of jobs that can be added, removed and searched at any time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from headrace.engine import keys
from headrace.engine.call import build, is_refusal, job_refusal, pack
from headrace.engine.check import page, text, whole
from headrace.engine.check import tags as checked_tags
from headrace.operations.core import Core
from headrace.operations.jobs import jobs
from headrace.operations.paging import ids_of_page, page_reader
from headrace.operations.protocols import ClientLike
from headrace.operations.requests import ask_one, raw
from headrace.operations.values import Page
from headrace.transport.drive import Operation

# Tags read from each of several shards: one that is rare on each may be frequent in total.
MOST_TAGS = 10_000


def tag(client: ClientLike, job_id: str, *tags: str) -> Operation[list[str]]:
    """Add tags to a job in any state and return all its tags.

    Raises JobNotFound if there is no such job, TooMany if it would have more than Limits.tags.

        client.tags.add("order-7", "urgent", "customer-12")
    """
    core = client.core
    return (yield from _retag(core, "tag", job_id, tags, most=core.limits.tags))


def untag(client: ClientLike, job_id: str, *tags: str) -> Operation[list[str]]:
    """Remove tags from a job and return the remaining ones; tags that it lacks are ignored.

    Raises JobNotFound if there is no such job.
    """
    return (yield from _retag(client.core, "untag", job_id, tags))


def _retag(
    core: Core, op: str, job_id: str, tags: tuple[str, ...], **args: int
) -> Operation[list[str]]:
    text("id", job_id, core.limits.name)
    packed_names = pack(checked_tags(tags, core.limits))
    call = build(op, _tags_of(job_id), [(job_id,)], names=packed_names, **args)
    return (yield from ask_one(core, core.shard_of(job_id), call))


def _tags_of(job_id: str) -> Callable[[list[Any]], list[str]]:
    def decode(answers: list[Any]) -> list[str]:
        [answer] = answers
        if is_refusal(answer):
            raise job_refusal(job_id, answer)
        return [name.decode() for name in answer]

    return decode


def tagged(client: ClientLike, name: str, *, offset: int = 0, count: int = 25) -> Operation[Page]:
    """Return a page of the jobs that have a tag, in any state; the first that got it comes first.

    The page also has the total number of jobs with the tag.

        client.tags.jobs("urgent").jobs
    """
    core = client.core
    text("a tag", name, core.limits.name)
    offset, count = page(offset, count)
    if core.shards > 1:
        total, ids = yield from ids_of_page(core, "tag", name, offset, count, newest_first=False)
        found = yield from jobs(client, ids)
        return Page(total, [job for job in found if name in job.tags])
    call = build("tagged", page_reader(core), tag=name, offset=offset, count=count)
    return (yield from ask_one(core, 0, call))


def top_tags(
    client: ClientLike, *, offset: int = 0, count: int = 25, least: int = 2
) -> Operation[dict[str, int]]:
    """Return the tags that at least `least` jobs have, with their numbers, most used first."""
    core = client.core
    offset, count = page(offset, count)
    whole("least", least, 1, 10**9)
    if core.shards == 1:
        return (yield from top_of_shards(core, [0], least, offset, count))[0]
    totals: dict[str, int] = {}
    for found in (yield from top_of_shards(core, range(core.shards), 1, 0, MOST_TAGS)):
        for name, times in found.items():
            totals[name] = totals.get(name, 0) + times
    often = [(times, name.encode()) for name, times in totals.items() if times >= least]
    ranked = sorted(often, reverse=True)[offset : offset + count]
    return {name.decode(): times for times, name in ranked}


def top_of_shards(
    core: Core, shards: Iterable[int], least: int, offset: int, count: int
) -> Operation[list[dict[str, int]]]:
    """Return tags of each shard with their counts, the most used first."""
    words = ("+inf", least, "BYSCORE", "REV", "LIMIT", offset, count, "WITHSCORES")
    replies = yield from raw(
        core, [(shard, ("ZRANGE", core.key(shard, keys.TAGS), *words)) for shard in shards]
    )
    return [
        {tag.decode(): int(times) for tag, times in zip(reply[::2], reply[1::2], strict=True)}
        for reply in replies
    ]
