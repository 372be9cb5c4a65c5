"""Concurrent callers share one connection attempt of an app's clients."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

from headrace import App, ServerUnavailable
from tests.support.proxy import LATE, Way
from tests.support.servers import until

OPENING = b"FCALL"


@pytest.fixture
def app(way: Way) -> Iterator[App]:
    found = App(f"clients-{uuid4().hex[:12]}", url=way.url, retry_for=0)
    yield found
    found.close()


def test_concurrent_threads_share_one_client(app: App, way: Way) -> None:
    barrier = threading.Barrier(8)

    def ask() -> object:
        barrier.wait(20)
        return app.client

    with ThreadPoolExecutor(8) as pool:
        found = {id(client) for client in pool.map(lambda _: ask(), range(8))}

    assert found == {id(app.client)}
    assert way.welcomed == 1


async def test_concurrent_asyncio_tasks_share_one_client(app: App, way: Way) -> None:
    found = await asyncio.gather(*[app.async_client() for _ in range(8)])

    assert {id(client) for client in found} == {id(await app.async_client())}
    assert way.welcomed == 1
    await app.aclose()


async def test_cancelled_caller_does_not_cancel_the_connection_of_others(
    app: App, way: Way
) -> None:
    held = threading.Event()
    way.lose(OPENING, LATE, meanwhile=lambda: print(held.wait(20)))
    first, second = (asyncio.ensure_future(app.async_client()) for _ in range(2))
    await asyncio.to_thread(until, lambda: way.cuts > 0, "both callers wait for the server")

    first.cancel()
    await asyncio.wait([first])
    held.set()

    assert first.cancelled()
    assert await second is await app.async_client()
    await app.aclose()


async def test_failed_connection_is_retried_by_the_next_call(app: App, way: Way) -> None:
    way.close()
    found = await asyncio.gather(*[app.async_client() for _ in range(8)], return_exceptions=True)
    assert {type(error) for error in found} == {ServerUnavailable}
    with pytest.raises(ServerUnavailable):
        print(app.client)

    way.open()

    assert await (await app.async_client()).queues() == {}
    assert app.client.queues() == {}
    await app.aclose()


async def test_closing_an_app_while_it_connects_leaves_no_connection(app: App, way: Way) -> None:
    held = threading.Event()
    way.lose(OPENING, LATE, meanwhile=lambda: print(held.wait(20)))
    asking = asyncio.ensure_future(app.async_client())
    await asyncio.to_thread(until, lambda: way.cuts > 0, "the app waits for the server")

    await app.aclose()
    held.set()

    with pytest.raises(asyncio.CancelledError):
        await asking
    await asyncio.to_thread(until, lambda: way.clients() == 0, "no client is connected")


def test_every_loop_has_its_own_client_which_closes_with_the_loop(app: App, way: Way) -> None:
    async def ask() -> None:
        assert await (await app.async_client()).queues() == {}

    for _ in range(3):
        asyncio.run(ask())

        until(lambda: way.clients() == 0, "no client is connected")
