"""Messages on channels, commands on a connection, and functions in another thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec
import redis

from headrace import Client
from tests.support.servers import until

T = TypeVar("T")

END = b"the end"


class Listener:
    """A subscriber that knows nothing of Headrace but the names of channels."""

    def __init__(self, hr: Client, server: redis.Redis, channels: tuple[str, ...]) -> None:
        self._prefix = hr.core.key(0, "")
        self._server = server
        self._first = self._prefix + channels[0]
        self._pubsub: Any = server.pubsub()
        self._pubsub.ssubscribe(*(self._prefix + channel for channel in channels))
        for _ in channels:
            assert self._next()["type"] == "ssubscribe"

    def heard(self) -> list[tuple[str, bytes]]:
        """Return the messages since the last call, as (role:name, message)."""
        self._server.execute_command("SPUBLISH", self._first, END)
        found: list[tuple[str, bytes]] = []
        while (message := self._next())["data"] != END:
            found.append((message["channel"].decode().removeprefix(self._prefix), message["data"]))
        return found

    def messages(self) -> list[str]:
        """Return the messages of a queue's channel, without its name."""
        return [message.decode() for _, message in self.heard()]

    def told(self) -> list[list[str]]:
        """Return the decoded messages of a worker (what, id, token) or of finished jobs (ids)."""
        return [msgspec.msgpack.decode(message) for _, message in self.heard()]

    def _next(self) -> Any:
        message = self._pubsub.get_message(timeout=20)
        assert message is not None, "the server sends no notices"
        return message


@contextmanager
def listening(hr: Client, url: str, *channels: str) -> Iterator[Listener]:
    """Subscribe to the channels role:name of the first shard."""
    with redis.Redis.from_url(url) as server:
        listener = Listener(hr, server, channels)
        yield listener
        listener._pubsub.close()


@contextmanager
def commands(url: str, *, of_scripts: bool = False) -> Iterator[list[str]]:
    """Collect the commands that clients send within the block, or those that their scripts run."""
    found: list[str] = []
    with redis.Redis.from_url(url) as speaker, redis.Redis.from_url(url) as server:
        speaker.ping()
        with server.monitor() as monitor:
            yield found
            speaker.echo(END.decode())
            while END.decode() not in (line := monitor.next_command())["command"]:
                if (line["client_type"] == "lua") == of_scripts:
                    found.append(line["command"])


@contextmanager
def meanwhile(function: Callable[[], T]) -> Iterator[Future[T]]:
    """Run a function in another thread; its result must come before the block ends."""
    with ThreadPoolExecutor(1) as threads:
        future = threads.submit(function)
        yield future
        future.exception(timeout=30)


def until_listened_to(hr: Client, channel: str, listeners: int = 1) -> None:
    """Wait until a client is subscribed to the channel role:name."""
    name = hr.core.key(0, channel)

    def counted() -> bool:
        [reply] = hr.core.transport.send([(0, ("PUBSUB", "SHARDNUMSUB", name))])
        return bool(reply[1] == listeners)

    until(counted, f"{listeners} listen on {channel}")
