"""A listener receives the events of tracked jobs and learns if events may be missing."""

from __future__ import annotations

import asyncio
from typing import Any

import redis

from headrace import Client
from headrace.testing import Clock
from tests.proof import proves
from tests.support.clients import got, next_of
from tests.support.servers import until


async def kinds(listening: Any, count: int) -> list[str | None]:
    heard = [await next_of(listening) for _ in range(count)]
    return [event and event.kind for event in heard]


async def interrupt(admin: redis.Redis, calm: Client) -> None:
    for client in admin.client_list():
        if int(client["ssub"]) > 0:
            admin.client_kill_filter(_id=client["id"])
    await heard_by(0, admin, calm)


async def heard_by(listeners: int, admin: redis.Redis, calm: Client) -> None:
    _, name = calm.core.channel(0, "tracked", "")
    await asyncio.to_thread(
        until,
        lambda: admin.pubsub_shardnumsub(name)[0][1] == listeners,
        f"{listeners} listen",
    )


@proves("QL-13")
async def test_listener_receives_events_of_tracked_jobs(any_client: Any, calm: Client) -> None:
    mail = calm.queue("mail")
    mail.put_many(["x"])
    mine = mail.put("mine", priority=-1, tags=["ä"])
    calm.tracking.add(mine)
    listening = await got(any_client.tracking.listen(wait=20))
    mail.put("other")
    mail.put("new", id=mine)
    [lease] = mail.pop("w")
    lease.complete()

    heard = [await next_of(listening) for _ in range(3)]

    assert heard == [event for event in calm.events() if event.job_id == mine][2:]
    assert (heard[0].data, heard[0].tags) == (b'"new"', '["ä"]')
    await got(listening.close())
    assert await next_of(listening) is None


@proves("QL-13")
async def test_listener_ends_after_the_wait(any_client: Any, calm: Client) -> None:
    listening = await got(any_client.tracking.listen(wait=0.01))
    calm.queue("mail").put("not tracked")
    assert await kinds(listening, 2) == [None, None]
    await got(listening.close())


@proves("QL-13")
async def test_reconnected_listener_reports_missed_events(
    any_client: Any, calm: Client, clock: Clock, admin: redis.Redis
) -> None:
    mail = calm.queue("mail")
    mail.put("x", id="x")
    calm.tracking.add("x")
    listening = await got(any_client.tracking.listen(wait=20))
    mail.pop("w")
    assert await kinds(listening, 1) == ["popped"]

    await interrupt(admin, calm)
    clock.tick(5)
    calm.timeout("x")
    missed = await next_of(listening)

    assert (missed.kind, missed.shard, missed.number, missed.at) == ("missed", 0, 4, clock.now)
    assert (missed.job_id, missed.queue, missed.data) == ("", "", None)
    calm.cancel("x")
    assert await kinds(listening, 1) == ["cancelled"]
    await got(listening.close())


@proves("QL-13")
async def test_reconnected_listener_reports_nothing_if_nothing_happened(
    any_client: Any, calm: Client, admin: redis.Redis
) -> None:
    mail = calm.queue("mail")
    mail.put("x", id="x")
    calm.tracking.add("x")
    listening = await got(any_client.tracking.listen(wait=20))
    for number in range(3):
        mail.put(number, id="x")
        assert await kinds(listening, 1) == ["put"]
        await interrupt(admin, calm)
        waiting = asyncio.ensure_future(next_of(listening))
        await heard_by(1, admin, calm)
        await asyncio.to_thread(
            until, lambda: listening._state.checked, "the listener has checked the log"
        )
        mail.put("y", id="x")
        assert (await waiting).kind == "put"
    await got(listening.close())
