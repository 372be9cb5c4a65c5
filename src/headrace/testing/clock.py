"""A clock that stands still until it is moved, in place of the server's."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any
from uuid import uuid4

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
        self._clients = [client]
        self.now = START

    def tick(self, seconds: float | timedelta) -> None:
        """Moves the clock, also backwards if you must."""
        span = seconds if isinstance(seconds, timedelta) else timedelta(seconds=seconds)
        self.set(self.now + span)

    def set(self, moment: datetime) -> None:
        """Sets the clock."""
        self.now = moment
        for client in self._clients:
            self._tell(client)

    def join(self, client: Client) -> None:
        """From now on the namespace of this client has the same time."""
        self._clients.append(client)
        self._tell(client)

    def leave(self, client: Client) -> None:
        """The namespace of this client keeps the time it has."""
        self._clients.remove(client)

    def _tell(self, client: Client) -> None:
        core = client.core
        ms = str(round(self.now.timestamp() * 1000))
        commands = [(shard, ("SET", core.key(shard, "clock"), ms)) for shard in range(core.shards)]
        for reply in core.transport.send(commands):
            if isinstance(reply, Exception):
                raise reply


def open_with_clock(url: str, **options: Any) -> tuple[Client, Clock]:
    """A client on a namespace of its own, and the clock of that namespace."""
    import headrace

    options.setdefault("namespace", f"test-{uuid4().hex[:12]}")
    client = headrace.connect(url, library=settable_clock(), **options)
    return client, Clock(client)
