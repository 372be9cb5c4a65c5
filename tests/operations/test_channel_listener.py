"""Listeners survive broken connections and report what they may have missed."""

from __future__ import annotations

import asyncio
import inspect
import threading
from typing import Any

import pytest
import redis

import headrace
from headrace import Client, ServerUnavailable
from headrace.operations.channel_listener import (
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
from tests.support.valkey_only import location

# The tests use valkey_url directly, so their namespaces must be on the same server.
__all__ = ["location"]


async def listen(hr: Any, *, wait: float | None = 20) -> Any:
    """Return a listener that receives the notices of a queue and every subscription."""

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
    """Return the next item; None if the listener has ended."""
    if isinstance(listening, AsyncListener):
        return await anext(listening, None)
    return await asyncio.to_thread(next, listening, None)


def subscribers(admin: redis.Redis, hr: Any) -> int:
    _, name = hr.core.channel(0, "queue", "mail")
    return int(admin.pubsub_shardnumsub(name)[0][1])


@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
async def test_listener_receives_events_from_its_creation_on(
    client_kind: str, valkey_url: str, calm: Client
) -> None:
    async with opened(client_kind, valkey_url, namespace=calm.core.namespace) as hr:
        listening = await listen(hr)
        calm.queue("mail").put_many([1, 2, 3])
        calm.queue("mail").put(4)

        assert [await next_of(listening) for _ in range(3)] == ["subscribed", "work 3", "work 1"]
        await got(listening.close())


@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
async def test_listener_ends_after_the_wait_and_can_be_iterated_again(
    client_kind: str, valkey_url: str, calm: Client
) -> None:
    async with opened(client_kind, valkey_url, namespace=calm.core.namespace) as hr:
        listening = await listen(hr, wait=0.01)
        assert [await next_of(listening) for _ in range(3)] == ["subscribed", None, None]

        calm.queue("mail").put(1)

        assert [await next_of(listening) for _ in range(2)] == ["work 1", None]
        await got(listening.close())
        assert await next_of(listening) is None


@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
async def test_listener_survives_a_killed_connection(
    client_kind: str, valkey_url: str, calm: Client, admin: redis.Redis
) -> None:
    async with opened(client_kind, valkey_url, namespace=calm.core.namespace) as hr:
        listening = await listen(hr)
        assert await next_of(listening) == "subscribed"
        for _ in range(3):
            await kill_subscribers(admin, hr)

            assert await next_of(listening) == "subscribed"
            calm.queue("mail").put(1)
            assert await next_of(listening) == "work 1"
        await got(listening.close())


async def no_client_is_subscribed(admin: redis.Redis, hr: Any) -> None:
    await asyncio.to_thread(until, lambda: subscribers(admin, hr) == 0, "no client is subscribed")


async def kill_subscribers(admin: redis.Redis, hr: Any) -> None:
    for client in admin.client_list():
        if int(client["ssub"]) > 0:
            admin.client_kill_filter(_id=client["id"])
    await no_client_is_subscribed(admin, hr)


@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
async def test_listener_survives_a_restart_of_the_server(
    client_kind: str, server: Restartable
) -> None:
    async with opened(client_kind, server.url) as hr:
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


@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
async def test_listener_raises_while_the_server_is_down_and_continues_afterwards(
    client_kind: str, way: Way, calm: Client
) -> None:
    options: Any = {"namespace": calm.core.namespace, "retry_for": 0.2}
    async with opened(client_kind, way.url, **options) as hr:
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


@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
async def test_silent_connection_is_replaced(
    client_kind: str, way: Way, calm: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscription, "PROBE_AFTER", 0.25)
    async with opened(client_kind, way.url, namespace=calm.core.namespace) as hr:
        listening = await listen(hr)
        assert await next_of(listening) == "subscribed"
        waiting = asyncio.ensure_future(next_of(listening))
        await asyncio.to_thread(
            until, lambda: pings(way) >= 3, "the listener has pinged three times"
        )
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


@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
async def test_closing_ends_a_waiting_iteration(
    client_kind: str, valkey_url: str, calm: Client, admin: redis.Redis
) -> None:
    async with opened(client_kind, valkey_url, namespace=calm.core.namespace) as hr:
        listening = await listen(hr)
        assert await next_of(listening) == "subscribed"
        waiting = asyncio.ensure_future(next_of(listening))
        await asyncio.sleep(0)

        await got(listening.close())

        assert await waiting is None
        assert await next_of(listening) is None
        await no_client_is_subscribed(admin, calm)


@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
async def test_listener_ends_when_its_client_closes(
    client_kind: str, valkey_url: str, calm: Client, admin: redis.Redis
) -> None:
    async with opened(client_kind, valkey_url, namespace=calm.core.namespace) as hr:
        listening = await listen(hr)
        assert await next_of(listening) == "subscribed"
        waiting = asyncio.ensure_future(next_of(listening))
        await asyncio.sleep(0)

        await got(hr.close())

        assert await waiting is None
        await no_client_is_subscribed(admin, calm)


@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
async def test_with_statement_closes_the_listener(
    client_kind: str, valkey_url: str, calm: Client, admin: redis.Redis
) -> None:
    async with opened(client_kind, valkey_url, namespace=calm.core.namespace) as hr:
        listening = await listen(hr)
        if isinstance(listening, AsyncListener):
            async with listening as same:
                assert same is listening
        else:
            with listening as same:
                assert same is listening

        assert await next_of(listening) == "subscribed"
        assert await next_of(listening) is None
        await no_client_is_subscribed(admin, calm)


async def test_cancelled_wait_loses_no_event(valkey_url: str, calm: Client) -> None:
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


def test_missing_permission_to_subscribe_is_reported_at_once(
    valkey_url: str, calm: Client, admin: redis.Redis
) -> None:
    rights = ("on", ">secret", "~*", "+@all", "resetchannels")
    admin.execute_command("ACL", "SETUSER", "deaf", *rights)
    url = valkey_url.replace("unix://", "unix://deaf:secret@")
    hr = headrace.connect(url, namespace=calm.core.namespace)
    with hr, pytest.raises(ServerUnavailable, match="lacks a permission"):
        asyncio.run(listen(hr))
    admin.execute_command("ACL", "DELUSER", "deaf")


def test_sync_and_async_classes_have_equal_methods() -> None:
    def offered(kind: type) -> dict[str, str]:
        found = inspect.getmembers(kind, inspect.isfunction)
        return {name: inspect.getdoc(f) or "" for name, f in found if name[0] != "_"}

    assert offered(Listener).keys() == offered(AsyncListener).keys()
    assert inspect.getdoc(Listener)
