"""For your tests: a private server, a namespace for each test, and a clock you can move.

Installed as a pytest plugin, so the fixtures are there without an import:

    def test_a_late_job_comes_back(headrace_client, headrace_clock):
        queue = headrace_client.queue("mail")
        queue.put("hello")
        queue.pop("first", lease=30)
        headrace_clock.tick(30)
        assert queue.pop("second")[0].attempt == 2
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

if TYPE_CHECKING:
    from headrace.client.client import Client
    from headrace.engine.script import Library

START = datetime(2026, 1, 1, tzinfo=UTC)

_NOW = "local now = tonumber(redis.call('GET', shard .. 'clock') or '{}')\n"


@cache
def settable_clock() -> Library:
    """The scripts as they are, but for where they read the time; for connect(library=...)."""
    from headrace.engine.script import Library

    return Library(swaps={"now": _NOW.format(round(START.timestamp() * 1000))})


class Clock:
    """The clock of a namespace that was opened with library=settable_clock()."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.now = START

    def tick(self, seconds: float | timedelta) -> None:
        """Moves the clock, also backwards if you must."""
        span = seconds if isinstance(seconds, timedelta) else timedelta(seconds=seconds)
        self.set(self.now + span)

    def set(self, moment: datetime) -> None:
        """Sets the clock."""
        self.now = moment
        core = self._client.core
        ms = str(round(moment.timestamp() * 1000))
        commands = [(shard, ("SET", core.key(shard, "clock"), ms)) for shard in range(core.shards)]
        for reply in core.wire.send(commands):
            if isinstance(reply, Exception):
                raise reply


def open_with_clock(url: str, **options: Any) -> tuple[Client, Clock]:
    """A client on a namespace of its own, and the clock of that namespace."""
    import headrace

    options.setdefault("namespace", f"test-{uuid4().hex[:12]}")
    client = headrace.connect(url, library=settable_clock(), **options)
    return client, Clock(client)


@pytest.fixture(scope="session")
def headrace_url() -> Iterator[str]:
    """The URL of a private server that is gone after the test run."""
    from headrace.client.scratch import private_server

    with private_server() as url:
        yield url


@pytest.fixture
def headrace_client(headrace_url: str) -> Iterator[Client]:
    """A client on a namespace of its own, whose clock stands still until it is moved."""
    client, _ = open_with_clock(headrace_url)
    with client:
        yield client


@pytest.fixture
def headrace_clock(headrace_client: Client) -> Clock:
    """The clock of headrace_client."""
    return Clock(headrace_client)
