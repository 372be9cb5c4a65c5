"""A test clock in place of the server's clock. The test clock moves only when a test moves it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from headrace.engine import keys

if TYPE_CHECKING:
    from headrace.client.client import Client
    from headrace.engine.script import Library

START = datetime(2026, 1, 1, tzinfo=UTC)

_NOW = """\
local function current_time()
  return tonumber(redis.call('GET', shard .. 'clock') or '{}')
end
"""

# Turn off the scripts' outage detection: they would take a jump of this clock for a server outage.
_NO_OUTAGE = """\
local CONTACTS = {}
local function note_call() end
"""


@cache
def settable_clock() -> Library:
    """Return a script library that reads the time from a settable clock.

    Pass the library to connect(library=...) or app.bound_to(library=...).
    """
    from headrace.engine.script import Library

    now = _NOW.format(round(START.timestamp() * 1000))
    return Library(swaps={"now": now, "contact": _NO_OUTAGE})


class Clock:
    """The clock of a namespace that was opened with library=settable_clock().

    The clock starts at START, and `now` is its current time.

        clock = Clock(client)
        clock.tick(3600)
    """

    def __init__(self, client: Client) -> None:
        self._clients = [client]
        self.now = START

    def tick(self, seconds: float | timedelta) -> None:
        """Move the clock forward, or backward if the number of seconds is negative."""
        step = seconds if isinstance(seconds, timedelta) else timedelta(seconds=seconds)
        self.set(self.now + step)

    def set(self, time: datetime) -> None:
        """Set the clock to a time."""
        self.now = time
        for client in self._clients:
            self._write(client)

    def join(self, client: Client) -> None:
        """Make the namespace of this client follow this clock, until `leave` is called."""
        self._clients.append(client)
        self._write(client)

    def leave(self, client: Client) -> None:
        """Stop changing the clock of this client's namespace. The clock stays at its last time."""
        self._clients.remove(client)

    def _write(self, client: Client) -> None:
        core = client.core
        ms = str(round(self.now.timestamp() * 1000))
        commands = [
            (shard, ("SET", core.key(shard, keys.CLOCK), ms)) for shard in range(core.shards)
        ]
        for reply in core.transport.send(commands):
            if isinstance(reply, Exception):
                raise reply


def open_with_clock(url: str, **options: Any) -> tuple[Client, Clock]:
    """Return a client on a new namespace, and the clock of that namespace.

    Accepts the keyword options of headrace.connect.

        with private_server() as url:
            client, clock = open_with_clock(url)
    """
    import headrace

    options.setdefault("namespace", f"test-{uuid4().hex[:12]}")
    client = headrace.connect(url, library=settable_clock(), **options)
    return client, Clock(client)
