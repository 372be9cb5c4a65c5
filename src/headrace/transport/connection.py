"""A line: one connection that one thread keeps. redis-py opens it, with all that this takes (TLS,
login, Sentinel); from then on bytes go straight through, which takes half the time of a call.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import hiredis
from redis.connection import Connection
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import InvalidResponse
from redis.exceptions import TimeoutError as RedisTimeoutError

from headrace.transport.spin_wait import SpinWait

CONNECTION_ERRORS = (RedisConnectionError, RedisTimeoutError, OSError)
READ_AT_ONCE = 65536
_NOT_YET = object()


def closed_by_server() -> RedisConnectionError:
    """What the end of a stream means."""
    return RedisConnectionError("the server closed the connection")


class NodeConnection:
    """A blocking connection. Errors of the server are replies; a broken line raises."""

    __slots__ = ("_connection", "_patience", "_reader", "_socket")

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._socket: Any = None
        self._reader: Any = None
        self._patience: SpinWait | None = None

    def open(self) -> None:
        """Connects, if that is not done."""
        if self._socket is None:
            self._connection.connect()
            opened: Any = self._connection._sock  # noqa: SLF001
            self._reader = hiredis.Reader(
                protocolError=InvalidResponse,
                replyError=self._connection._parser.parse_error,  # noqa: SLF001
                notEnoughData=_NOT_YET,
            )
            self._patience = SpinWait.on(opened.fileno())
            self._socket = opened

    def exchange(self, packed: bytes, count: int) -> list[Any]:
        """Sends commands and reads a reply for each; where it broke, the error is the reply."""
        replies: list[Any] = []
        try:
            asked_at = perf_counter()
            self._socket.sendall(packed)
            if self._patience is not None:
                self._patience.wait(asked_at)
            gets = self._reader.gets
            while True:
                reply = gets()
                if reply is _NOT_YET:
                    self._feed()
                else:
                    replies.append(reply)
                    if len(replies) == count:
                        return replies
        except BaseException as error:
            # Replies may be left unread: the next call must not take them for its own.
            self.close()
            if not isinstance(error, (RedisConnectionError, OSError)):
                raise
            return replies + [error] * (count - len(replies))

    def _feed(self) -> None:
        data = self._socket.recv(READ_AT_ONCE)
        if not data:
            raise closed_by_server()
        self._reader.feed(data)

    def close(self) -> None:
        """Disconnects; the next use connects again."""
        self._socket = None
        self._connection.disconnect()
