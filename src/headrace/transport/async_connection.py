"""Lines for code that awaits. redis-py opens them, with all that this takes (TLS, login, Sentinel);
from then on bytes go straight through, which takes a fraction of the time of a call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import hiredis
from redis.asyncio.connection import Connection
from redis.exceptions import InvalidResponse
from redis.exceptions import TimeoutError as RedisTimeoutError

from headrace.transport.connection import closed_by_server

_NOT_YET = object()

# To one node. Whoever finds all of them in use waits for the first that is free.
LINES_IN_USE = 64
LINES_KEPT = 16


class AsyncStream(asyncio.Protocol):
    """A connection whose messages are handed over as they arrive, until it is closed or lost."""

    def __init__(self, make_connection: Callable[[], Any]) -> None:
        self._make_connection = make_connection
        self._connection: Connection | None = None
        self._transport: asyncio.WriteTransport | None = None
        self._reader: Any = None

    @property
    def is_open(self) -> bool:
        return self._transport is not None

    async def open(self) -> None:
        """Connects, if that is not done."""
        if self._transport is not None:
            return
        connection = cast(Connection, self._make_connection())
        try:
            await connection.connect()
        except BaseException:
            await connection.disconnect(nowait=True)
            raise
        self._reader = hiredis.Reader(
            protocolError=InvalidResponse,
            replyError=connection._parser.parse_error,  # noqa: SLF001
            notEnoughData=_NOT_YET,
        )
        reader = cast(asyncio.StreamReader, connection._reader)  # noqa: SLF001
        writer = cast(asyncio.StreamWriter, connection._writer)  # noqa: SLF001
        # An end that the former reader was told of is not told again.
        if writer.transport.is_closing() or reader.at_eof():
            await connection.disconnect(nowait=True)
            raise closed_by_server()
        # Held, because it disconnects when nobody does.
        self._connection = connection
        self._transport = writer.transport
        self._transport.set_protocol(self)

    def write(self, packed: bytes) -> None:
        if self._transport is not None:
            self._transport.write(packed)

    def left_to_send(self) -> int:
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def close(self) -> None:
        """Disconnects; nothing more is handed over."""
        transport, self._transport = self._transport, None
        if transport is not None and self._connection is not None:
            # It tells of its end later, when we may have another.
            transport.set_protocol(asyncio.Protocol())
            transport.abort()
            self._connection._close()  # noqa: SLF001 - so that it does not complain of being open
            self._connection = None

    # what the transport tells us

    def data_received(self, data: bytes) -> None:
        try:
            self._reader.feed(data)
            while self._transport is not None and (message := self._reader.gets()) is not _NOT_YET:
                self.take(message)
        except Exception as error:  # noqa: BLE001 - whatever it is, this line is of no more use
            self._lose(error)

    def eof_received(self) -> None:
        self._lose(closed_by_server())

    def connection_lost(self, error: Exception | None) -> None:
        self._lose(error or closed_by_server())

    def _lose(self, error: Exception) -> None:
        if self._transport is not None:
            self.lost(error)
            self.close()

    # what becomes of it

    def take(self, message: Any) -> None:
        """A message has arrived."""
        raise NotImplementedError

    def lost(self, error: Exception) -> None:
        """The connection is lost."""
        raise NotImplementedError


class AsyncNodeConnection(AsyncStream):
    """A connection for questions and answers. Errors of the server are replies."""

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

    async def exchange(self, packed: bytes, count: int) -> list[Any]:
        """Sends commands and waits for a reply to each; where it broke, the error is the reply."""
        loop = asyncio.get_running_loop()
        self._replies, self._wanted, self._error, self._is_moving = [], count, None, False
        self._waiter = loop.create_future()
        self.write(packed)
        self._unsent = self.left_to_send()
        self._timer = loop.call_later(self._timeout, self._look)
        try:
            await self._waiter
        except BaseException:
            # Replies may be left unread: the next call must not take them for its own.
            self.close()
            raise
        finally:
            self._timer.cancel()
            self._waiter = None
            replies, self._replies = self._replies, []
        return replies + [self._error] * (count - len(replies))

    def data_received(self, data: bytes) -> None:
        self._is_moving = True
        super().data_received(data)

    def take(self, message: Any) -> None:
        if len(self._replies) == self._wanted:
            raise InvalidResponse("the server has answered what was not asked")
        self._replies.append(message)
        if len(self._replies) == self._wanted:
            self._wake()

    def lost(self, error: Exception) -> None:
        self._error = error
        self._wake()

    def _look(self) -> None:
        """After a time without a reply: as long as bytes go out or come in, it is only much."""
        unsent = self.left_to_send()
        if self._is_moving or unsent < self._unsent:
            self._is_moving, self._unsent = False, unsent
            self._timer = asyncio.get_running_loop().call_later(self._timeout, self._look)
        else:
            self._lose(RedisTimeoutError(f"no reply within {self._timeout:g} seconds"))

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class AsyncNodePool:
    """The lines to one node: so many are in use at a time at most, and a few are kept idle."""

    def __init__(self, make_connection: Callable[[], Any], timeout: float) -> None:
        self._make_connection = make_connection
        self._timeout = timeout
        self._turns = asyncio.Semaphore(LINES_IN_USE)
        self._idle: list[AsyncNodeConnection] = []
        self._under_way = 0
        self._closed = False
        self._failures = 0
        self._failure: Exception | None = None

    async def exchange(self, packed: bytes, count: int, *, blocks: bool) -> list[Any]:
        """Sends commands on a line that is free; raises if there is none, and nothing was sent.

        What the server may block has a line at once: it must not take the turns of others.
        """
        self._under_way += 1
        try:
            if blocks:
                return await self._exchange(packed, count)
            return await self._exchange_in_turn(packed, count)
        finally:
            self._under_way -= 1
            self._let_go()

    async def _exchange_in_turn(self, packed: bytes, count: int) -> list[Any]:
        failures = self._failures
        async with self._turns:
            # Who waited for those that failed would only wait as long again.
            if self._failure is not None and self._failures != failures:
                raise self._failure
            return await self._exchange(packed, count)

    async def _exchange(self, packed: bytes, count: int) -> list[Any]:
        line = (
            self._idle.pop()
            if self._idle
            else AsyncNodeConnection(self._make_connection, self._timeout)
        )
        try:
            await line.open()
        except Exception as error:
            self._note(error)
            raise
        replies = await line.exchange(packed, count)
        if line.is_open:
            self._idle.append(line)
        elif isinstance(replies[-1], Exception):
            self._note(replies[-1])
        return replies

    def _note(self, failure: Exception) -> None:
        self._failures += 1
        self._failure = failure

    def _let_go(self) -> None:
        """Closes what is idle and more than is likely to be used soon."""
        kept = 0 if self._closed else max(LINES_KEPT, self._under_way)
        while len(self._idle) > kept:
            self._idle.pop().close()

    def close_idle(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def close(self) -> None:
        """Closes what is idle, and what is in use when it is free; who waits has its turn."""
        self._closed = True
        self.close_idle()
