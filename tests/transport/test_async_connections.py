"""The connections of the asyncio client: their number, their sharing and their end."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any
from uuid import uuid4

import pytest
import redis

import headrace
from headrace import AsyncClient, ServerUnavailable
from headrace.transport.async_connection import MOST_IDLE, MOST_IN_USE
from headrace.transport.transport import IDLE_SUBSCRIPTIONS
from tests.support.proxy import LATE, Way
from tests.support.repeats import mark
from tests.support.servers import until


@pytest.fixture
async def ahr(way: Way) -> AsyncIterator[AsyncClient]:
    async with await connected(way) as client:
        yield client


async def connected(way: Way, **options: Any) -> AsyncClient:
    return await headrace.connect_async(way.url, namespace=f"lines-{uuid4().hex}", **options)


async def until_open(way: Way, count: int) -> None:
    await asyncio.to_thread(until, lambda: way.clients() == count, f"{count} are connected")


async def test_concurrent_calls_share_a_bounded_number_of_connections(
    ahr: AsyncClient, way: Way
) -> None:
    queue = ahr.queue("mail")

    await asyncio.gather(*[queue.put(number) for number in range(1500)])

    assert way.welcomed <= MOST_IN_USE
    await until_open(way, MOST_IDLE)
    assert (await queue.counts()).waiting == 1500
    assert way.welcomed <= MOST_IN_USE


async def test_calls_cancelled_while_waiting_for_a_connection_leave_nothing(
    ahr: AsyncClient, way: Way
) -> None:
    queue = ahr.queue("mail")
    for turns in range(0, 40, 5):
        calls = [asyncio.ensure_future(queue.counts()) for _ in range(3 * MOST_IN_USE)]
        for _ in range(turns):
            await asyncio.sleep(0)
        for call in calls[turns % 2 :: 2]:
            call.cancel()
        await asyncio.gather(*calls[1 - turns % 2 :: 2])
    # All connections can still be used.
    held = [asyncio.ensure_future(until_released(ahr)) for _ in range(MOST_IN_USE)]
    await asyncio.gather(*held)
    await until_open(way, MOST_IDLE)


async def until_released(hr: AsyncClient) -> None:
    await asyncio.wait_for(hr.queue("mail").counts(), 20)


async def test_closing_the_client_ends_calls_that_wait_for_a_connection(way: Way) -> None:
    hr = await connected(way)
    calls = [asyncio.ensure_future(hr.queue("mail").put(n)) for n in range(5 * MOST_IN_USE)]
    for _ in range(10):
        await asyncio.sleep(0)

    await hr.close()

    assert len(await asyncio.gather(*calls)) == 5 * MOST_IN_USE
    await until_open(way, 0)


async def test_following_the_log_does_not_block_other_calls(ahr: AsyncClient, way: Way) -> None:
    def blocked() -> int:
        return sum(b"XREAD" in request for request in way.requests)

    async def first_event() -> str:
        async for event in ahr.events(follow=True):
            return event.kind
        return ""

    followers = [asyncio.ensure_future(first_event()) for _ in range(MOST_IN_USE + 5)]
    await asyncio.to_thread(until, lambda: blocked() >= len(followers), "all followers wait")
    assert not any(follower.done() for follower in followers)

    await ahr.queue("mail").put("x")

    assert set(await asyncio.gather(*followers)) == {"put"}
    await until_open(way, MOST_IDLE)


async def test_queued_call_to_a_silent_server_times_out_with_the_others(
    way: Way,
) -> None:
    hr = await connected(way, timeout=0.2, retry_for=0)
    way.close()
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(way.path))
        silent.listen(1000)
        calls = [hr.queue("mail").counts() for _ in range(4 * MOST_IN_USE)]

        found = await asyncio.gather(*calls, return_exceptions=True)

        assert {type(error) for error in found} == {ServerUnavailable}
        assert waiting_at(silent) <= MOST_IN_USE
        await hr.close()


def waiting_at(door: socket.socket) -> int:
    door.setblocking(False)
    count = 0
    with suppress(BlockingIOError):
        while True:
            door.accept()[0].close()
            count += 1
    return count


async def test_only_a_few_idle_subscriptions_are_kept(ahr: AsyncClient, valkey_url: str) -> None:
    _, name = ahr.core.channel(0, "queue", "mail")
    with redis.Redis.from_url(valkey_url) as admin:

        async def until_heard_by(count: int) -> None:
            def listeners() -> int:
                return int(admin.pubsub_shardnumsub(name)[0][1])

            await asyncio.to_thread(until, lambda: listeners() == count, f"{count} listen")

        pops = [asyncio.ensure_future(ahr.queue("mail").pop("w", wait=20)) for _ in range(40)]
        await until_heard_by(40)
        await ahr.queue("mail").put_many(range(40))
        assert [len(leases) for leases in await asyncio.gather(*pops)] == [1] * 40
        await until_heard_by(IDLE_SUBSCRIPTIONS)


async def test_pop_waiting_while_the_client_closes_leaves_no_connection(way: Way) -> None:
    hr = await connected(way)
    waiting = asyncio.ensure_future(hr.queue("mail").pop("w", wait=20))
    await asyncio.to_thread(until, lambda: way.clients() == 2, "the listener is connected")

    await hr.close()
    await hr.queue("mail").put("x")

    assert len(await waiting) == 1
    await until_open(way, 0)


async def test_late_reply_is_discarded(way: Way) -> None:
    hr = await connected(way, timeout=0.3, retry_for=20)
    queue = hr.queue("mail")
    await queue.put("x", id="a")
    late = threading.Event()
    way.lose(mark(hr, "pop"), LATE, meanwhile=lambda: print(late.wait(20)))

    [lease] = await queue.pop("w")
    late.set()

    assert (lease.id, await lease.complete("well")) == ("a", "complete")
    assert (await hr.result("a")).value == "well"
    await hr.close()
    await until_open(way, 0)
