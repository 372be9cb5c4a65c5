"""One server of each kind for a test run; a namespace and a clock for each test."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from headrace import Client, Queue
from headrace.testing import Clock, open_with_clock
from tests.support import servers
from tests.support.effort import EFFORT

# Whoever starts the tests in the background of a shell makes them, and all they start, deaf to it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The scripts are the same; on both servers they are tried in the long run.
KINDS = ["valkey", *(["redis7"] if EFFORT > 1 and servers.redis_server_path() else [])]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What may take longest, and says so by a time of its own, is begun first."""
    items.sort(key=lambda item: item.get_closest_marker("timeout") is None)


@pytest.fixture(scope="session")
def valkey_url() -> Iterator[str]:
    """A private Valkey."""
    with servers.valkey() as url:
        yield url


@pytest.fixture(scope="session", params=KINDS)
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A private server; tests that use it run on Valkey and, where installed, on Redis 7."""
    with getattr(servers, request.param)() as found:
        yield found


@pytest.fixture
def hr(url: str) -> Iterator[Client]:
    """A client on a namespace of its own, whose clock stands still."""
    client, _ = open_with_clock(url)
    with client:
        yield client


@pytest.fixture
def clock(hr: Client) -> Clock:
    """The clock of hr."""
    return Clock(hr)


@pytest.fixture
def queue(hr: Client) -> Queue:
    """A queue of hr with the default profile."""
    return hr.queue("mail")
