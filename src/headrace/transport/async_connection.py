"""Asyncio connections to one node, and the pool that hands them out.

redis-py opens the connections (TLS, login, Sentinel). After that, Headrace reads and writes bytes
directly through the asyncio transport, because otherwise a call would spend most of its time in
redis-py.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, cast

from redis.asyncio.connection import Connection
from redis.exceptions import InvalidResponse
from redis.exceptions import TimeoutError as RedisTimeoutError

from headrace.transport.connection import SILENCE, closed_by_server, no_longer_primary
from headrace.transport.redis_internals import (
    INCOMPLETE,
    is_watched_by_sentinel,
    leads_to_primary_async,
    mark_closed,
    reply_reader,
    streams_of,
)

# The maximum number of connections to one node. If all connections are in use, a call waits.
MOST_IN_USE = 64
MOST_IDLE = 16


class AsyncStream(asyncio.Protocol):
    """A connection that passes each message to `take`, until the connection is closed or lost."""

    def __init__(self, make_connection: Callable[[], Any]) -> None:
        self._make_connection = make_connection
        self._connection: Connection | None = None
        self._transport: asyncio.WriteTransport | None = None
        self._reader: Any = None

    @property
    def is_open(self) -> bool:
        """Whether the connection is open."""
        return self._transport is not None

    async def open(self) -> None:
        """Connect, unless the connection is open."""
        if self._transport is not None:
            return
        connection = cast(Connection, self._make_connection())
        try:
            await connection.connect()
        except BaseException:
            await connection.disconnect(nowait=True)
            raise
        self._reader = reply_reader(connection)
        reader, writer = streams_of(connection)
        # asyncio reports the end of a stream only once, and the reader of redis-py may already have
        # received this report.
        if writer.transport.is_closing() or reader.at_eof():
            await connection.disconnect(nowait=True)
            raise closed_by_server()
        # Keep a reference, because redis-py disconnects an unreferenced connection.
        self._connection = connection
        self._transport = writer.transport
        self._transport.set_protocol(self)

    def write(self, packed: bytes) -> None:
        """Send bytes, unless the connection is closed."""
        if self._transport is not None:
            self._transport.write(packed)

    def left_to_send(self) -> int:
        """Return the number of bytes that are not sent yet."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def close(self) -> None:
        """Disconnect, and pass no more messages to `take`."""
        transport, self._transport = self._transport, None
        if transport is not None and self._connection is not None:
            # asyncio calls connection_lost later, when this object may already have a new
            # connection. Replace the protocol, so that this object does not receive that call.
            transport.set_protocol(asyncio.Protocol())
            transport.abort()
            mark_closed(self._connection)
            self._connection = None

    def data_received(self, data: bytes) -> None:
        """Parse received bytes and pass each message to `take`."""
        try:
            self._reader.feed(data)
            while (
                self._transport is not None and (message := self._reader.gets()) is not INCOMPLETE
            ):
                self.take(message)
        except Exception as error:  # noqa: BLE001 - the stream is unusable after any error
            self._lose(error)

    def eof_received(self) -> None:
        """Treat the end of the stream as a lost connection."""
        self._lose(closed_by_server())

    def connection_lost(self, error: Exception | None) -> None:
        """Treat a closed socket as a lost connection."""
        self._lose(error or closed_by_server())

    def _lose(self, error: Exception) -> None:
        if self._transport is not None:
            self.lost(error)
            self.close()

    def take(self, message: Any) -> None:
        """Handle a message that has arrived."""
        raise NotImplementedError

    def lost(self, error: Exception) -> None:
        """Handle the loss of the connection."""
        raise NotImplementedError


class AsyncNodeConnection(AsyncStream):
    """A connection that sends a batch of commands and waits for their replies."""

    def __init__(self, make_connection: Callable[[], Any], timeout: float) -> None:
        super().__init__(make_connection)
        self._timeout = timeout
        self._replies: list[Any] = []
        self._wanted = 0
        self._waiter: asyncio.Future[None] | None = None
        self._error: Exception | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._unsent = 0
        self._is_moving = False
        self._is_watched = False
        self._answered_at = 0.0

    async def open(self) -> None:
        """Connect, unless the connection is open and leads to the primary."""
        if self.is_open and self._is_watched and not await self._still_leads_to_primary():
            self.close()
        if self.is_open:
            return
        self._answered_at = time.monotonic()
        await super().open()
        self._is_watched = is_watched_by_sentinel(self._connection)
        if self._is_watched and not await self._still_leads_to_primary():
            self.close()
            raise no_longer_primary()

    async def exchange(self, packed: bytes, count: int) -> list[Any]:
        """Send commands and return one reply per command; see NodeConnection.exchange."""
        loop = asyncio.get_running_loop()
        self._replies, self._wanted, self._error, self._is_moving = [], count, None, False
        self._waiter = loop.create_future()
        self.write(packed)
        self._unsent = self.left_to_send()
        self._timer = loop.call_later(self._timeout, self._check_progress)
        try:
            await self._waiter
        except BaseException:
            # Unread replies may remain, and the next call must not read them as its own replies.
            self.close()
            raise
        finally:
            self._timer.cancel()
            self._waiter = None
            replies, self._replies = self._replies, []
        if self._is_watched and self.is_open and not await self._still_leads_to_primary():
            # The demoted server may have carried out the calls, but their effects will be lost.
            self.close()
            return [no_longer_primary()] * count
        return replies + [self._error] * (count - len(replies))

    async def _still_leads_to_primary(self) -> bool:
        """Ask Sentinel whether the server is still the primary, but only after a silence."""
        silence = time.monotonic() - self._answered_at
        if silence > SILENCE and not await leads_to_primary_async(self._connection):
            return False
        self._answered_at = time.monotonic()
        return True

    def data_received(self, data: bytes) -> None:
        """Record that replies are arriving, and parse the replies."""
        self._is_moving = True
        super().data_received(data)

    def take(self, message: Any) -> None:
        """Add a reply; raise InvalidResponse if no command waits for a reply."""
        if len(self._replies) == self._wanted:
            raise InvalidResponse("the server sent a reply that no command waits for")
        self._replies.append(message)
        if len(self._replies) == self._wanted:
            self._wake()

    def lost(self, error: Exception) -> None:
        """Make the call that waits for replies return with the error."""
        self._error = error
        self._wake()

    def _check_progress(self) -> None:
        """Give up the connection if no bytes were sent or received since the last check."""
        unsent = self.left_to_send()
        if self._is_moving or unsent < self._unsent:
            self._is_moving, self._unsent = False, unsent
            self._timer = asyncio.get_running_loop().call_later(self._timeout, self._check_progress)
        else:
            self._lose(RedisTimeoutError(f"no reply within {self._timeout:g} seconds"))

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class AsyncNodePool:
    """A pool of at most MOST_IN_USE connections to one node; idle connections are reused."""

    def __init__(self, make_connection: Callable[[], Any], timeout: float) -> None:
        self._make_connection = make_connection
        self._timeout = timeout
        self._turns = asyncio.Semaphore(MOST_IN_USE)
        self._idle: list[AsyncNodeConnection] = []
        self._under_way = 0
        self._closed = False
        self._failures = 0
        self._failure: Exception | None = None

    async def exchange(self, packed: bytes, count: int, *, blocks: bool) -> list[Any]:
        """Send commands on a free connection and return one reply per command.

        If the pool cannot open a connection, it sends nothing and raises the error of the
        connection. A command that blocks on the server gets a connection at once and does not count
        against the limit.
        """
        self._under_way += 1
        try:
            if blocks:
                return await self._exchange(packed, count)
            return await self._exchange_in_turn(packed, count)
        finally:
            self._under_way -= 1
            self._close_surplus()

    async def _exchange_in_turn(self, packed: bytes, count: int) -> list[Any]:
        failures = self._failures
        async with self._turns:
            # The connection of another call failed while this call waited for a free connection, so
            # the connection of this call would fail too.
            if self._failure is not None and self._failures != failures:
                raise self._failure
            return await self._exchange(packed, count)

    async def _exchange(self, packed: bytes, count: int) -> list[Any]:
        connection = (
            self._idle.pop()
            if self._idle
            else AsyncNodeConnection(self._make_connection, self._timeout)
        )
        try:
            await connection.open()
        except Exception as error:
            self._note(error)
            raise
        replies = await connection.exchange(packed, count)
        if connection.is_open:
            self._idle.append(connection)
        elif isinstance(replies[-1], Exception):
            self._note(replies[-1])
        return replies

    def _note(self, failure: Exception) -> None:
        self._failures += 1
        self._failure = failure

    def _close_surplus(self) -> None:
        """Close the idle connections that are unlikely to be used soon."""
        kept = 0 if self._closed else max(MOST_IDLE, self._under_way)
        while len(self._idle) > kept:
            self._idle.pop().close()

    def close_idle(self) -> None:
        """Close the connections that no call uses."""
        while self._idle:
            self._idle.pop().close()

    def close(self) -> None:
        """Close idle connections now, and close each connection in use at the end of its call."""
        self._closed = True
        self.close_idle()
