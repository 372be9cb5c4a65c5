"""Listening goes on where connections break, and says what may have been missed."""

from __future__ import annotations

import asyncio
import inspect
import threading
from typing import Any

import pytest
import redis

import headrace
from headrace import Client, ServerUnavailable
from headrace.operations.listening import (
    AsyncListener,
    Listener,
    ListeningState,
    seconds,
    subscribe,
)
from headrace.transport import subscription
from headrace.transport.drive import Operation, drive, drive_async
from tests.support.clients import CLIENT_KINDS, got, opened
from tests.support.proxy import LATE, Way
from tests.support.restartable import Restartable
from tests.support.servers import until


async def listen(hr: Any, *, wait: float | None = 20) -> Any:
    """Hears of the work in a queue, and of every subscription."""

    def check() -> Operation[list[str]]:
        yield from ()
        return ["subscribed"]

    channels = [hr.core.channel(shard, "queue", "mail") for shard in range(hr.core.shards)]
    station: ListeningState[str] = ListeningState(
        hr.core, channels, lambda _, message: [message.decode()], check, seconds(wait)
    )
    if isinstance(hr, Client):
        return Listener(drive(hr.core.transport, subscribe(station)))
    return AsyncListener(await drive_async(hr.core.transport, subscribe(station)))


async def next_of(listening: Any) -> Any:
    """The next one; None if it has ended."""
    if isinstance(listening, AsyncListener):
        return await anext(listening, None)
    return await asyncio.to_thread(next, listening, None)


def subscribers(admin: redis.Redis, hr: Any) -> int:
    _, name = hr.core.channel(0, "queue", "mail")
    return int(admin.pubsub_shardnumsub(name)[0][1])


@pytest.mark.parametrize("colour", CLIENT_KINDS)
async def test_it_hears_from_the_moment_it_is_made(
    colour: str, valkey_url: str, calm: Client
) -> None:
    async with opened(colour, valkey_url, namespace=calm.core.namespace) as hr:
        listening = await listen(hr)
        calm.queue("mail").put_many([1, 2, 3])
        calm.queue("mail").put(4)

        assert [await next_of(listening) for _ in range(3)] == ["subscribed", "work 3", "work 1"]
        await got(listening.close())


@pytest.mark.parametrize("colour", CLIENT_KINDS)
async def test_it_ends_when_nothing_comes_and_can_go_on(
    colour: str, valkey_url: str, calm: Client
) -> None:
    async with opened(colour, valkey_url, namespace=calm.core.namespace) as hr:
        listening = await listen(hr, wait=0.01)
        assert [await next_of(listening) for _ in range(3)] == ["subscribed", None, None]

        calm.queue("mail").put(1)

        assert [await next_of(listening) for _ in range(2)] == ["work 1", None]
        await got(listening.close())
        assert await next_of(listening) is None


@pytest.mark.parametrize("colour", CLIENT_KINDS)
async def test_it_outlives_a_killed_connection(
    colour: str, valkey_url: str, calm: Client, admin: redis.Redis
) -> None:
    async with opened(colour, valkey_url, namespace=calm.core.namespace) as hr:
        listening = await listen(hr)
        assert await next_of(listening) == "subscribed"
        for _ in range(3):
            await kill_subscribers(admin, hr)

            assert await next_of(listening) == "subscribed"
            calm.queue("mail").put(1)
            assert await next_of(listening) == "work 1"
        await got(listening.close())


async def nobody_listens(admin: redis.Redis, hr: Any) -> None:
    await asyncio.to_thread(until, lambda: subscribers(admin, hr) == 0, "nobody listens")


async def kill_subscribers(admin: redis.Redis, hr: Any) -> None:
    for client in admin.client_list():
        if int(client["ssub"]) > 0:
            admin.client_kill_filter(_id=client["id"])
    await nobody_listens(admin, hr)


@pytest.mark.parametrize("colour", CLIENT_KINDS)
async def test_it_outlives_a_server(colour: str, server: Restartable) -> None:
    async with opened(colour, server.url) as hr:
        listening = await listen(hr)
        server.kill()
        waiting = asyncio.ensure_future(two_of(listening))
        await asyncio.to_thread(server.start)

        assert await waiting == ["subscribed", "subscribed"]
        await got(hr.queue("mail").put(1))
        assert await next_of(listening) == "work 1"
        await got(listening.close())


async def two_of(listening: Any) -> list[Any]:
    return [await next_of(listening), await next_of(listening)]


@pytest.mark.parametrize("colour", CLIENT_KINDS)
async def test_it_says_that_the_server_stays_away_and_goes_on_when_it_is_back(
    colour: str, way: Way, calm: Client
) -> None:
    options: Any = {"namespace": calm.core.namespace, "retry_for": 0.2}
    async with opened(colour, way.url, **options) as hr:
        listening = await listen(hr)
        assert await next_of(listening) == "subscribed"
        way.close()

        with pytest.raises(ServerUnavailable, match="did not answer in time"):
            await next_of(listening)
        with pytest.raises(ServerUnavailable, match="did not answer in time"):
            await listen(hr)

        way.open()
        assert await next_of(listening) == "subscribed"
        calm.queue("mail").put(1)
        assert await next_of(listening) == "work 1"
        await got(listening.close())


@pytest.mark.parametrize("colour", CLIENT_KINDS)
async def test_a_connection_that_gives_no_sign_of_life_is_replaced(
    colour: str, way: Way, calm: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscription, "PROBE_AFTER", 0.25)
    async with opened(colour, way.url, namespace=calm.core.namespace) as hr:
        listening = await listen(hr)
        assert await next_of(listening) == "subscribed"
        waiting = asyncio.ensure_future(next_of(listening))
        await asyncio.to_thread(until, lambda: pings(way) >= 3, "it has asked and was answered")
        assert not waiting.done()

        seen = threading.Event()
        way.lose(b"PING", LATE, meanwhile=lambda: print(seen.wait(20)))

        assert await waiting == "subscribed"
        seen.set()
        calm.queue("mail").put(1)
        assert await next_of(listening) == "work 1"
        await got(listening.close())


def pings(way: Way) -> int:
    return sum(b"PING" in request for request in way.requests)


@pytest.mark.parametrize("colour", CLIENT_KINDS)
async def test_closing_wakes_who_waits(
    colour: str, valkey_url: str, calm: Client, admin: redis.Redis
) -> None:
    async with opened(colour, valkey_url, namespace=calm.core.namespace) as hr:
        listening = await listen(hr)
        assert await next_of(listening) == "subscribed"
        waiting = asyncio.ensure_future(next_of(listening))
        await asyncio.sleep(0)

        await got(listening.close())

        assert await waiting is None
        assert await next_of(listening) is None
        await nobody_listens(admin, calm)


@pytest.mark.parametrize("colour", CLIENT_KINDS)
async def test_it_ends_with_its_client(
    colour: str, valkey_url: str, calm: Client, admin: redis.Redis
) -> None:
    async with opened(colour, valkey_url, namespace=calm.core.namespace) as hr:
        listening = await listen(hr)
        assert await next_of(listening) == "subscribed"
        waiting = asyncio.ensure_future(next_of(listening))
        await asyncio.sleep(0)

        await got(hr.close())

        assert await waiting is None
        await nobody_listens(admin, calm)


@pytest.mark.parametrize("colour", CLIENT_KINDS)
async def test_a_block_closes_it(
    colour: str, valkey_url: str, calm: Client, admin: redis.Redis
) -> None:
    async with opened(colour, valkey_url, namespace=calm.core.namespace) as hr:
        listening = await listen(hr)
        if isinstance(listening, AsyncListener):
            async with listening as same:
                assert same is listening
        else:
            with listening as same:
                assert same is listening

        assert await next_of(listening) == "subscribed"
        assert await next_of(listening) is None
        await nobody_listens(admin, calm)


async def test_a_wait_that_is_cancelled_loses_nothing(valkey_url: str, calm: Client) -> None:
    async with opened("async", valkey_url, namespace=calm.core.namespace) as hr:
        listening = await listen(hr, wait=None)
        assert await next_of(listening) == "subscribed"
        for number in range(1, 20):
            waiting = asyncio.ensure_future(next_of(listening))
            await asyncio.sleep(0)
            calm.queue("mail").put_many(range(number))
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)

            assert waiting.cancelled()
            assert await next_of(listening) == f"work {number}"
        await listening.close()


def test_a_user_who_may_not_listen_is_told_so_at_once(
    valkey_url: str, calm: Client, admin: redis.Redis
) -> None:
    rights = ("on", ">secret", "~*", "+@all", "resetchannels")
    admin.execute_command("ACL", "SETUSER", "deaf", *rights)
    url = valkey_url.replace("unix://", "unix://deaf:secret@")
    hr = headrace.connect(url, namespace=calm.core.namespace)
    with hr, pytest.raises(ServerUnavailable, match="lacks a permission"):
        asyncio.run(listen(hr))
    admin.execute_command("ACL", "DELUSER", "deaf")


def test_both_colours_offer_the_same() -> None:
    def offered(kind: type) -> dict[str, str]:
        found = inspect.getmembers(kind, inspect.isfunction)
        return {name: inspect.getdoc(f) or "" for name, f in found if name[0] != "_"}

    assert offered(Listener).keys() == offered(AsyncListener).keys()
    assert inspect.getdoc(Listener)
