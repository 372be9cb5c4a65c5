"""Connections and subscriptions survive events in an unfortunate order."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import hiredis
import pytest
import redis
from redis.asyncio.connection import ConnectionPool as AsyncConnectionPool
from redis.connection import ConnectionPool
from redis.exceptions import ConnectionError as RedisConnectionError

import headrace
from headrace.local_server import server_process
from headrace.transport import subscription as subscriptions
from headrace.transport.async_connection import AsyncNodeConnection
from headrace.transport.subscription import AsyncSubscription, Subscription
from headrace.transport.topology import Topology
from tests.support.proxy import LATE, TOGETHER, Way, way_to
from tests.support.servers import until

CHANNEL = "news"
PING: bytes = hiredis.pack_command(("PING",))
NEVER = 1000.0


def maker(url: str) -> Callable[[], Any]:
    return AsyncConnectionPool.from_url(url, protocol=2).make_connection


async def until_no_client_is_connected(way: Way) -> None:
    await asyncio.to_thread(until, lambda: way.clients() == 0, "no client is connected")


async def until_cut(way: Way) -> None:
    await asyncio.to_thread(until, lambda: way.cuts > 0, "the proxy has cut the connection")


# Connections.


async def test_connection_can_be_closed_and_reopened_at_once(valkey_url: str) -> None:
    connection = AsyncNodeConnection(maker(valkey_url), 20)
    for _ in range(20):
        await connection.open()
        assert await connection.exchange(PING, 1) == [b"PONG"]
        connection.close()
        connection.close()
    assert not connection.is_open


async def test_connection_with_surplus_replies_is_not_reused(
    valkey_url: str,
) -> None:
    connection = AsyncNodeConnection(maker(valkey_url), 20)
    await connection.open()

    assert await connection.exchange(PING + PING, 1) == [b"PONG"]
    async with asyncio.timeout(20):
        while connection.is_open:  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0)
    await connection.open()
    assert await connection.exchange(PING + PING, 2) == [b"PONG"] * 2
    connection.close()


async def test_replies_that_arrive_separately_are_awaited(valkey_url: str) -> None:
    slow: Any = (0, ("XREAD", "BLOCK", 600, "STREAMS", f"none-{uuid4().hex}", "0-0"))
    options: Any = {"namespace": f"streams-{uuid4().hex}", "timeout": 1.5}
    async with await headrace.connect_async(valkey_url, **options) as hr:
        assert await hr.core.transport.send([slow] * 3) == [None] * 3


async def test_connection_cancelled_while_opening_leaves_no_socket(way: Way) -> None:
    held = threading.Event()
    way.lose(b"SETINFO", LATE, meanwhile=lambda: print(held.wait(20)))
    connection = AsyncNodeConnection(maker(way.url), 20)
    opening = asyncio.ensure_future(connection.open())
    await until_cut(way)

    opening.cancel()
    await asyncio.wait([opening])
    held.set()

    assert (opening.cancelled(), connection.is_open) == (True, False)
    await until_no_client_is_connected(way)


async def test_connection_closed_right_after_opening_is_noticed(
    tmp_path: Path,
) -> None:
    with closing(socket.socket(socket.AF_UNIX)) as door:
        door.bind(str(tmp_path / "door"))
        door.listen()
        threading.Thread(target=greet_and_hang_up, args=(door,), daemon=True).start()
        connection = AsyncNodeConnection(maker(server_process.url_of(tmp_path / "door")), NEVER)
        for _ in range(20):
            with suppress(RedisConnectionError):
                await connection.open()
                [error] = await asyncio.wait_for(connection.exchange(PING, 1), 20)
                assert isinstance(error, (RedisConnectionError, OSError))
            assert not connection.is_open


def greet_and_hang_up(door: socket.socket) -> None:
    with suppress(OSError):
        while True:
            client, _ = door.accept()
            with client:
                asked = 0
                while asked < 2:
                    asked += client.recv(4096).count(b"SETINFO")
                client.sendall(b"+OK\r\n" * asked)


async def test_large_request_does_not_block_other_replies(valkey_url: str) -> None:
    namespace = f"streams-{uuid4().hex}"
    async with await headrace.connect_async(valkey_url, namespace=namespace) as hr:
        large = ["x" * 1_000_000] * 40
        putting = asyncio.ensure_future(hr.queue("large").put_many(large))
        await asyncio.gather(*[hr.queue("small").put(n) for n in range(100)])
        ids = await putting

        assert [job.data for job in await hr.jobs(ids)] == large


# Subscriptions.


def on(url: str) -> Topology[ConnectionPool]:
    return Topology("n", lambda _: ConnectionPool.from_url(url, protocol=2))


def async_on(url: str) -> Topology[AsyncConnectionPool]:
    return Topology("n", lambda _: AsyncConnectionPool.from_url(url, protocol=2))


@pytest.mark.timeout(15)
def test_message_sent_with_the_confirmation_is_received(
    way: Way, admin: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscriptions, "PROBE_AFTER", NEVER)
    way.lose(b"SSUBSCRIBE", TOGETHER, meanwhile=lambda: publish(admin, "early"))
    subscription = Subscription(on(way.url), ((0, CHANNEL),))

    assert subscription.receive(NEVER) == [(CHANNEL, b"early")]
    subscription.disconnect()


@pytest.mark.timeout(15)
def test_subscription_ended_by_another_thread_returns_at_once(
    valkey_url: str,
) -> None:
    subscription = Subscription(on(valkey_url), ((0, CHANNEL),))
    poll = subscription._poll
    taken: list[tuple[socket.socket, socket.socket]] = []
    woken: list[tuple[int, int]] = []

    class EndedJustBefore:
        def poll(self, _: float) -> None:
            ending = threading.Thread(target=subscription.end)
            ending.start()
            until(lambda: subscription.ended, "the subscription has ended")
            # The thread has ended by then unless it waits for this thread.
            ending.join(0.2)
            # If the subscription had closed its socket, a new socket would get its file number.
            taken.extend(socket.socketpair() for _ in range(8))
            woken.extend(poll.poll(1000))

    subscription._poll = EndedJustBefore()  # type: ignore[assignment]

    assert subscription.receive(NEVER) == []
    assert woken
    until(lambda: subscription.broken, "the subscription is disconnected")
    for pair in taken:
        for end in pair:
            end.close()


@pytest.mark.timeout(15)
def test_subscription_in_a_forked_child_receives_nothing_and_does_not_hang(
    valkey_url: str,
) -> None:
    subscription = Subscription(on(valkey_url), ((0, CHANNEL),))
    held, told = threading.Event(), threading.Event()

    def hold() -> None:
        with subscription._receiving:
            held.set()
            told.wait(10)

    holding = threading.Thread(target=hold)
    holding.start()
    held.wait(10)
    subscription._process += 1

    assert subscription.receive(NEVER) == []
    assert subscription.broken
    told.set()
    holding.join()


def publish(admin: redis.Redis, message: str) -> None:
    admin.execute_command("SPUBLISH", CHANNEL, message)


async def test_async_message_sent_with_the_confirmation_is_received(
    way: Way, admin: redis.Redis
) -> None:
    way.lose(b"SSUBSCRIBE", TOGETHER, meanwhile=lambda: publish(admin, "early"))
    subscription = AsyncSubscription(((0, CHANNEL),))
    await subscription.subscribe(async_on(way.url))

    assert await subscription.receive(20) == [(CHANNEL, b"early")]
    subscription.disconnect()


async def test_message_wakes_all_waiting_tasks(valkey_url: str, admin: redis.Redis) -> None:
    subscription = AsyncSubscription(((0, CHANNEL),))
    await subscription.subscribe(async_on(valkey_url))
    waiting = [asyncio.ensure_future(subscription.receive(4)) for _ in range(3)]
    await asyncio.sleep(0)

    publish(admin, "x")

    async with asyncio.timeout(20):
        heard = await asyncio.gather(*waiting)
    assert [notice for notices in heard for notice in notices] == [(CHANNEL, b"x")]
    subscription.disconnect()


@pytest.mark.parametrize("moment", ["opening", "subscribing"])
async def test_subscription_cancelled_while_subscribing_leaves_no_connection(
    way: Way, moment: str
) -> None:
    held = threading.Event()
    mark = {"opening": b"SETINFO", "subscribing": b"SSUBSCRIBE"}[moment]
    way.lose(mark, LATE, meanwhile=lambda: print(held.wait(20)))
    subscription = AsyncSubscription(((0, CHANNEL),))
    subscribing = asyncio.ensure_future(subscription.subscribe(async_on(way.url)))
    await until_cut(way)

    subscribing.cancel()
    await asyncio.wait([subscribing])
    held.set()

    assert (subscribing.cancelled(), subscription.broken) == (True, True)
    await until_no_client_is_connected(way)


@pytest.mark.parametrize("mark", [b"SETINFO", b"SSUBSCRIBE"])
async def test_subscription_that_loses_a_node_while_subscribing_is_broken(
    valkey_url: str, way: Way, mark: bytes
) -> None:
    held = threading.Event()
    way.lose(mark, LATE, meanwhile=lambda: print(held.wait(20)))
    with way_to(valkey_url) as first:
        ways = {"first": first, "second": way}
        topology = Topology(
            "n",
            lambda address: AsyncConnectionPool.from_url(ways[address[0]].url, protocol=2),
            [("first", 1)],
        )
        half = 8191
        topology.learn(("", 0), [(0, half, (b"first", 1)), (half + 1, 16383, (b"second", 1))])
        shards = [shard_on(topology, name) for name in ways]
        subscription = AsyncSubscription(tuple((shard, f"of {shard}") for shard in shards))
        subscribing = asyncio.ensure_future(subscription.subscribe(topology))
        await until_cut(way)

        first.close()
        await asyncio.to_thread(
            until, lambda: first.clients() == 0, "the first client is disconnected"
        )
        if mark == b"SETINFO":
            held.set()
        async with asyncio.timeout(4):
            await subscribing
        held.set()

        assert subscription.broken
        assert isinstance(subscription.cause, (RedisConnectionError, OSError))
        await until_no_client_is_connected(way)


def shard_on(topology: Topology[Any], name: str) -> int:
    return next(shard for shard in range(100) if topology.node_of(shard)[0] == name)


def test_error_instead_of_a_pong_breaks_a_subscription(
    valkey_url: str, admin: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscriptions, "PROBE_AFTER", 0.05)
    rights = ("on", ">secret", "~*", "&*", "+@all", "-ping")
    admin.execute_command("ACL", "SETUSER", "mute", *rights)
    subscription = Subscription(
        on(valkey_url.replace("unix://", "unix://mute:secret@")), ((0, CHANNEL),)
    )

    until(lambda: not subscription.receive(1) and subscription.broken, "the subscription is broken")

    assert "ping" in str(subscription.cause).lower()
    admin.execute_command("ACL", "DELUSER", "mute")
