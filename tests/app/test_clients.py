"""The clients of an app are connected once, however many ask for them at the same time."""

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

OPENING = b"EVALSHA"


@pytest.fixture
def app(way: Way) -> Iterator[App]:
    found = App(f"clients-{uuid4().hex[:12]}", url=way.url, retry_for=0)
    yield found
    found.close()


def test_threads_that_ask_at_once_get_the_same_client(app: App, way: Way) -> None:
    all_ask = threading.Barrier(8)

    def ask() -> object:
        all_ask.wait(20)
        return app.client

    with ThreadPoolExecutor(8) as pool:
        found = {id(client) for client in pool.map(lambda _: ask(), range(8))}

    assert found == {id(app.client)}
    assert way.welcomed == 1


async def test_tasks_that_ask_at_once_get_the_same_client(app: App, way: Way) -> None:
    found = await asyncio.gather(*[app.async_client() for _ in range(8)])

    assert {id(client) for client in found} == {id(await app.async_client())}
    assert way.welcomed == 1
    await app.aclose()


async def test_who_no_longer_wants_the_client_does_not_take_it_from_the_others(
    app: App, way: Way
) -> None:
    held = threading.Event()
    way.lose(OPENING, LATE, meanwhile=lambda: print(held.wait(20)))
    first, second = (asyncio.ensure_future(app.async_client()) for _ in range(2))
    await asyncio.to_thread(until, lambda: way.cuts > 0, "they wait for the server")

    first.cancel()
    await asyncio.wait([first])
    held.set()

    assert first.cancelled()
    assert await second is await app.async_client()
    await app.aclose()


async def test_a_connection_that_failed_is_tried_anew(app: App, way: Way) -> None:
    way.close()
    found = await asyncio.gather(*[app.async_client() for _ in range(8)], return_exceptions=True)
    assert {type(error) for error in found} == {ServerUnavailable}
    with pytest.raises(ServerUnavailable):
        print(app.client)

    way.open()

    assert await (await app.async_client()).queues() == {}
    assert app.client.queues() == {}
    await app.aclose()


async def test_an_app_that_is_closed_while_it_connects_leaves_no_connection(
    app: App, way: Way
) -> None:
    held = threading.Event()
    way.lose(OPENING, LATE, meanwhile=lambda: print(held.wait(20)))
    asking = asyncio.ensure_future(app.async_client())
    await asyncio.to_thread(until, lambda: way.cuts > 0, "it waits for the server")

    await app.aclose()
    held.set()

    with pytest.raises(asyncio.CancelledError):
        await asking
    await asyncio.to_thread(until, lambda: way.clients() == 0, "nobody is connected")


def test_each_loop_has_a_client_of_its_own_which_ends_with_it(app: App, way: Way) -> None:
    async def ask() -> None:
        assert await (await app.async_client()).queues() == {}

    for _ in range(3):
        asyncio.run(ask())

        until(lambda: way.clients() == 0, "nobody is connected")
