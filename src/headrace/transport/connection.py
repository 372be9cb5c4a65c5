"""A sync connection to one node, owned by one thread.

redis-py opens the connection (TLS, login, Sentinel). After that, Headrace reads and writes bytes
directly through the socket. This direct I/O halves the time of a call.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

from redis.connection import Connection
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from headrace.transport.redis_internals import (
    INCOMPLETE,
    is_watched_by_sentinel,
    leads_to_primary,
    reply_reader,
    socket_of,
)
from headrace.transport.spin_wait import SpinWait

CONNECTION_ERRORS = (RedisConnectionError, RedisTimeoutError, OSError)
READ_SIZE = 65536
# After this many seconds without a reply, a connection to a primary that a Sentinel watches is
# suspicious: the server may have been stopped, and another server may be the primary now.
SILENCE = 0.25


def no_longer_primary() -> RedisConnectionError:
    """Return the error for a server that is no longer the primary, according to Sentinel."""
    return RedisConnectionError("Sentinel has made another server the primary")


def closed_by_server() -> RedisConnectionError:
    """Return the error for a stream that the server has ended."""
    return RedisConnectionError("the server closed the connection")


class NodeConnection:
    """A connection that sends a batch of commands and reads their replies.

    `socket` is None while the connection is closed. A connection to a primary that a Sentinel
    watches asks the Sentinel after a silence. Otherwise a server that was stopped would accept
    calls until the Sentinel demotes it, and the calls would be lost.
    """

    __slots__ = ("_answered_at", "_connection", "_reader", "_spin_wait", "is_watched", "socket")

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.socket: Any = None
        self._reader: Any = None
        self._spin_wait: SpinWait | None = None
        self.is_watched = is_watched_by_sentinel(connection)
        self._answered_at = 0.0

    def open(self) -> None:
        """Connect, unless the connection is open and leads to the primary."""
        if self.socket is not None:
            if not self.is_watched or self._still_leads_to_primary():
                return
            self.close()
        self._answered_at = perf_counter()
        self._connection.connect()
        if self.is_watched and not self._still_leads_to_primary():
            raise no_longer_primary()
        opened = socket_of(self._connection)
        self._reader = reply_reader(self._connection)
        self._spin_wait = SpinWait.on(opened.fileno())
        self.socket = opened

    def exchange(self, packed: bytes, count: int) -> list[Any]:
        """Send commands and return one reply per command.

        An error that the server returns counts as a reply. If the connection breaks, the error of
        the connection replaces each missing reply.
        """
        replies: list[Any] = []
        try:
            called_at = perf_counter()
            self.socket.sendall(packed)
            if self._spin_wait is not None:
                self._spin_wait.wait(called_at)
            gets = self._reader.gets
            while True:
                reply = gets()
                if reply is INCOMPLETE:
                    self._feed()
                else:
                    replies.append(reply)
                    if len(replies) == count:
                        return self._trusted(replies) if self.is_watched else replies
        except BaseException as error:
            # Unread replies may remain, and the next call must not read them as its own replies.
            self.close()
            if not isinstance(error, (RedisConnectionError, OSError)):
                raise
            return replies + [error] * (count - len(replies))

    def _trusted(self, replies: list[Any]) -> list[Any]:
        """Return the replies, or errors if they come late and from a server that was demoted."""
        if self._still_leads_to_primary():
            return replies
        self.close()
        return [no_longer_primary()] * len(replies)

    def _still_leads_to_primary(self) -> bool:
        """Ask Sentinel whether the server is still the primary, but only after a silence."""
        if perf_counter() - self._answered_at > SILENCE and not leads_to_primary(self._connection):
            return False
        self._answered_at = perf_counter()
        return True

    def _feed(self) -> None:
        data = self.socket.recv(READ_SIZE)
        if not data:
            raise closed_by_server()
        self._reader.feed(data)

    def close(self) -> None:
        """Disconnect; the next use connects again."""
        self.socket = None
        self._connection.disconnect()
