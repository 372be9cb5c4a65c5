"""Servers for a test run; clients, clocks and connections that tests share.

The fixtures `hr`, `calm`, `any_client` and `far_client` are clients of one namespace, which is new
for every test. The fixture `location` chooses the server of the namespace and its number of
shards. A directory or a module may override `location`, or use the marker `namespace`.
"""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import redis

from headrace import Client, Queue
from headrace.testing import Clock
from tests.support import servers
from tests.support.clients import CLIENT_KINDS, Location, opened, opened_on
from tests.support.effort import EFFORT
from tests.support.functions import FORMS, use_only_scripts
from tests.support.proxy import Way, way_to
from tests.support.restartable import Restartable, restartable

# Processes that a shell starts in the background ignore SIGINT, and so do their child processes.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Valkey and Redis run the same scripts, so only the long tests use Redis too.
KINDS = ["valkey", *(["redis7"] if EFFORT > 1 and servers.redis_server_path() else [])]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start the longest tests first: those that have a timeout of their own."""
    items.sort(key=lambda item: item.get_closest_marker("timeout") is None)


@pytest.fixture(scope="session")
def valkey_url() -> Iterator[str]:
    """A private Valkey."""
    with servers.valkey() as url:
        yield url


@pytest.fixture(scope="session", params=KINDS)
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A private server: Valkey, and in the long tests also Redis 7 if it is installed."""
    if request.param == "valkey":
        yield request.getfixturevalue("valkey_url")
        return
    with getattr(servers, request.param)() as found:
        yield found


@pytest.fixture(scope="module", autouse=True)
def _empty_server(valkey_url: str) -> None:
    """Delete the keys of other modules' tests, because `dump` reads the names of all keys."""
    with redis.Redis.from_url(valkey_url) as server:
        server.flushall()


@pytest.fixture
def location(request: pytest.FixtureRequest, url: str) -> Location:
    """The server and the shards of the test's namespace, from the marker `namespace`."""
    marker = request.node.get_closest_marker("namespace")
    return Location(url, **(marker.kwargs if marker else {}))


@pytest.fixture
def calm(location: Location) -> Iterator[Client]:
    """A sync client that prepares and inspects data while another client is under test."""
    with opened_on(location) as client:
        yield client


@pytest.fixture
def hr(calm: Client) -> Client:
    """A sync client on a namespace of its own, whose clock only moves when the test moves it."""
    return calm


@pytest.fixture
def clock(calm: Client) -> Clock:
    """The clock of the namespace."""
    return Clock(calm)


@pytest.fixture
def queue(hr: Client) -> Queue:
    """A queue of hr with the default profile."""
    return hr.queue("mail")


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The form in which the clients of a test call operations: function, then script."""
    form: str = request.param
    if form == "script":
        use_only_scripts(monkeypatch)
    return form


@pytest.fixture(params=CLIENT_KINDS)
async def any_client(
    request: pytest.FixtureRequest, location: Location, calm: Client
) -> AsyncIterator[Any]:
    """A sync client, then an asyncio client, on the namespace of the fixture calm."""
    async with opened(request.param, location.url, namespace=calm.core.namespace) as client:
        yield client


@pytest.fixture
def way(location: Location) -> Iterator[Way]:
    """A proxy to the server that cuts a connection at a moment that the test chooses."""
    with way_to(location.url) as found:
        yield found


@pytest.fixture(params=CLIENT_KINDS)
async def far_client(request: pytest.FixtureRequest, way: Way, calm: Client) -> AsyncIterator[Any]:
    """A sync or asyncio client, connected through the proxy `way`, on the namespace of calm."""
    async with opened(request.param, way.url, namespace=calm.core.namespace) as client:
        yield client


@pytest.fixture
def server() -> Iterator[Restartable]:
    """A server of the test's own that can be killed and started again."""
    with restartable() as found:
        yield found


@pytest.fixture
def admin(location: Location) -> Iterator[redis.Redis]:
    """A plain connection to the server, for commands that a client never sends."""
    with redis.Redis.from_url(location.url) as found:
        yield found
