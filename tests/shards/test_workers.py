"""Workers on several shards."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from headrace import AsyncClient, Client, Put, SessionEnded, SessionRequired
from headrace.testing import Clock
from tests.support.clients import got
from tests.support.servers import until
from tests.support.shards import (
    SOON,
    is_listened_to,
    numbered_without_holes,
    on_each_shard,
    one_for_each_shard,
    waiting_pop,
)


async def test_session_is_started_on_every_shard(hr: Any, calm: Client, clock: Clock) -> None:
    calm.queue("mail").configure("task")
    calm.queue("mail").put_many(range(40))
    with pytest.raises(SessionRequired):
        await got(hr.queue("mail").pop("w", count=40))

    session = await got(hr.session("w", ttl=5))
    assert await got(session.serve("mail")) == 40
    assert len(await got(hr.queue("mail").pop("w", count=40))) == 40

    [worker] = await got(hr.workers.list())
    assert (worker.name, worker.queues, worker.jobs) == ("w", ["mail"], 40)
    assert worker.expires_in == 5
    clock.tick(4)
    assert await got(session.renew()) == 5
    clock.tick(4)
    await got(session.unserve("mail"))
    assert calm.queue("mail").counts().waiting == 40
    await got(session.end())
    assert await got(hr.workers.list()) == []
    assert on_each_shard(calm, "workers", offset=0, count=10) == [[]] * calm.core.shards
    with pytest.raises(SessionEnded):
        await got(session.renew())


@pytest.mark.parametrize("noticed_by", ["pop", "sweep"])
async def test_a_dead_worker_is_recovered_on_every_shard(
    hr: Any, calm: Client, clock: Clock, noticed_by: str
) -> None:
    calm.queue("mail").put_many(range(40))
    await got(hr.session("dead", ttl=3))
    first = await got(hr.queue("mail").pop("dead", count=40, lease=3600))
    clock.tick(3)

    if noticed_by == "sweep":
        await got(hr.sweep())
        assert calm.queue("mail").counts().waiting == 40
    second = await got(hr.queue("mail").pop("peer", count=40))

    assert {lease.id for lease in second} == {lease.id for lease in first}
    assert {lease.attempt for lease in second} == {2}
    events = list(calm.events())
    lost = [event for event in events if event.kind == "lost"]
    assert {event.reason for event in lost} == {"session ended"}
    assert len(lost) == 40
    assert await got(hr.workers.list()) == []
    assert numbered_without_holes(calm)
    assert calm.audit().problems == []


async def test_holder_is_notified_on_every_shard(hr: Any, calm: Client) -> None:
    ids = one_for_each_shard(calm)
    calm.queue("mail").put_many([Put(1, id=job_id) for job_id in ids])
    heard: list[str] = []
    watch = await got(hr.watch("w", on_taken=lambda lease, _: heard.append(lease.id)))
    leases = await got(hr.queue("mail").pop("w", count=len(ids)))
    for number, job_id in enumerate(ids, 1):
        began = time.monotonic()

        calm.timeout(job_id)

        await asyncio.to_thread(until, lambda: len(heard) == number, "the holder is notified")  # noqa: B023
        assert time.monotonic() - began < SOON
    assert (heard, {lease.taken for lease in leases}) == (ids, {"lost"})
    await got(watch.close())


async def test_waiting_pop_is_woken_by_any_shard(hr: Any, calm: Client) -> None:
    for job_id in one_for_each_shard(calm):
        waiting = asyncio.ensure_future(waiting_pop(hr))
        await asyncio.to_thread(
            until, lambda: is_listened_to(calm, "queue", "mail"), "the pop waits"
        )
        began = time.monotonic()

        calm.queue("mail").put(1, id=job_id)

        assert [lease.id for lease in await waiting] == [job_id]
        assert time.monotonic() - began < SOON
        calm.finish(job_id)


async def test_waiting_for_a_result_ends_on_any_shard(hr: Any, calm: Client) -> None:
    ids = one_for_each_shard(calm)
    calm.queue("mail").put_many([Put(1, id=job_id) for job_id in ids])
    for lease in calm.queue("mail").pop("w", count=20):
        waiting = asyncio.ensure_future(waiting_result(hr, lease.id))
        await asyncio.to_thread(wait_for_a_listener, calm, calm.core.shard_of(lease.id))
        began = time.monotonic()

        lease.complete("well")

        assert (await waiting).value == "well"
        assert time.monotonic() - began < SOON


async def test_events_are_followed_on_every_shard(hr: Any, calm: Client) -> None:
    seen: list[str] = []
    ids = one_for_each_shard(calm)
    following = asyncio.ensure_future(follow(hr, seen, len(ids)))
    for number, job_id in enumerate(ids, 1):
        calm.queue("mail").put(1, id=job_id)
        await asyncio.to_thread(until, lambda: len(seen) == number, "the event is received")  # noqa: B023
    await following
    assert seen == ids


def wait_for_a_listener(calm: Client, shard: int) -> None:
    _, name = calm.core.channel(shard, "ended", "")

    def is_heard() -> bool:
        [reply] = calm.core.transport.send([(shard, ("PUBSUB", "SHARDNUMSUB", name))])
        return bool(reply[1] > 0)

    until(is_heard, "a client waits for the result")


async def waiting_result(hr: Any, job_id: str) -> Any:
    if isinstance(hr, AsyncClient):
        return await hr.result(job_id, wait=20)
    return await asyncio.to_thread(hr.result, job_id, wait=20)


async def follow(hr: Any, seen: list[str], count: int) -> None:
    if isinstance(hr, AsyncClient):
        async for event in hr.events(follow=True):
            seen.append(event.job_id)
            if len(seen) == count:
                return

    def read() -> None:
        for event in hr.events(follow=True):
            seen.append(event.job_id)
            if len(seen) == count:
                return

    await asyncio.to_thread(read)
