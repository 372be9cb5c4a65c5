"""An ear: a subscription to channels of shards, one connection for each node that has some.

Broken means that notices may have been missed; ended, that nobody wants to hear more. A connection
may die without a word, so one that is silent for long is asked for a sign of life.
"""

from __future__ import annotations

import asyncio
import select
import time
from collections.abc import Sequence
from ssl import SSLWantReadError
from typing import Any, cast

import hiredis
from redis.asyncio.connection import Connection as AsyncConnection
from redis.asyncio.connection import ConnectionPool as AsyncConnectionPool
from redis.connection import Connection, ConnectionPool
from redis.exceptions import InvalidResponse, RedisError

from headrace.client.line import BROKEN, READ_AT_ONCE, closed_by_server
from headrace.client.topology import Topology

Notice = tuple[str, bytes]
Channels = tuple[tuple[int, str], ...]

SILENCE = 5.0
SUBSCRIBE_WITHIN = 5.0
_NOT_YET = object()


class Deaf(ConnectionError):
    """Nothing more will be heard: the shard has moved, or the server gives no sign of life."""


LOST = (*BROKEN, RedisError)


def _subscriptions(names: Sequence[str]) -> list[tuple[str, str]]:
    # One each: channels of several slots are refused together, also where one node has them all.
    return [("SSUBSCRIBE", name) for name in names]


def _notices(message: Any) -> list[Notice]:
    if message[0] == b"smessage":
        return [(message[1].decode(), message[2])]
    if message[0] == b"sunsubscribe":
        raise Deaf("the server has ended the subscription")
    return []


class Silence:
    """How long a connection has said nothing."""

    __slots__ = ("_asked", "_since")

    def __init__(self) -> None:
        self.is_broken()

    def is_broken(self) -> None:
        """Something was heard."""
        self._asked = False
        self._since = time.monotonic()

    def is_long(self) -> bool:
        """Whether it is time to ask for a sign of life; raises if that was done in vain."""
        if time.monotonic() - self._since < SILENCE:
            return False
        if self._asked:
            raise Deaf(f"the server has given no sign of life for {SILENCE:g} seconds")
        self._asked = True
        self._since = time.monotonic()
        return True


class Ear:
    """What a blocking waiter hears."""

    def __init__(self, topology: Topology[ConnectionPool], channels: Channels) -> None:
        self.broken = False
        self.ended = False
        self.cause: Exception | None = None
        self.channels = channels
        self._streams: list[Stream] = []
        self._early: list[Notice] = []
        self._poll = select.poll()
        try:
            for address, names in topology.channels_by_node(channels).items():
                stream = Stream(cast(Connection, topology.pool(address).make_connection()))
                self._streams.append(stream)
                self._early += stream.subscribe(names)
                self._poll.register(stream.fileno(), select.POLLIN)
        except LOST as error:
            self._lose(error)

    def hear(self, timeout: float) -> list[Notice]:
        """The notices that came within timeout seconds; returns with the first."""
        if self._early:
            early, self._early = self._early, []
            return early
        if self.broken:
            return []
        self._poll.poll(min(timeout, SILENCE) * 1000)
        return self._pending()

    def _pending(self) -> list[Notice]:
        heard: list[Notice] = []
        try:
            for stream in self._streams:
                if not self.broken:
                    stream.read(heard)
        except LOST as error:
            self._lose(error)
        except BaseException:
            self.disconnect()
            raise
        return heard

    def _lose(self, error: Exception) -> None:
        self.cause = error
        self.disconnect()

    def disconnect(self) -> None:
        self.broken = True
        for stream in self._streams:
            stream.close()

    def end(self) -> None:
        """For good; who waits in another thread wakes up."""
        self.ended = True
        self.disconnect()


class Stream:
    """One connection of a blocking ear: opened by redis-py, then read as it comes."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._silence = Silence()
        self._socket: Any = None
        self._reader: Any = None

    def subscribe(self, names: Sequence[str]) -> list[Notice]:
        """Connects and subscribes; what comes before the last confirmation is returned."""
        self._connection.connect()
        self._socket = self._connection._sock  # noqa: SLF001
        self._reader = hiredis.Reader(
            protocolError=InvalidResponse,
            replyError=self._connection._parser.parse_error,  # noqa: SLF001
            notEnoughData=_NOT_YET,
        )
        self._socket.settimeout(SUBSCRIBE_WITHIN)
        self._send(_subscriptions(names))
        early: list[Notice] = []
        missing = len(names)
        while missing:
            message = self._reader.gets()
            if message is _NOT_YET:
                self._feed()
            elif isinstance(message, Exception):
                raise message
            else:
                early += _notices(message)
                missing -= message[0] == b"ssubscribe"
        self._socket.setblocking(False)
        return early

    def fileno(self) -> int:
        return int(self._socket.fileno())

    def read(self, heard: list[Notice]) -> None:
        """Adds what has arrived; if nothing has for long, asks for a sign of life."""
        while True:
            message = self._reader.gets()
            if message is not _NOT_YET:
                self._silence.is_broken()
                heard += _notices(message)
                continue
            try:
                self._feed()
            except (BlockingIOError, SSLWantReadError):
                break
        if self._silence.is_long():
            self._send([("PING",)])

    def _send(self, commands: list[Any]) -> None:
        for packed in self._connection.pack_commands(commands):
            self._socket.sendall(packed)

    def _feed(self) -> None:
        data = self._socket.recv(READ_AT_ONCE)
        if not data:
            raise closed_by_server()
        self._reader.feed(data)

    def close(self) -> None:
        self._connection.disconnect()

    def __del__(self) -> None:
        # An ear that nobody holds any more; the connection itself may wait for a collection.
        self.close()


class AsyncEar:
    """What an awaiting waiter hears."""

    def __init__(self, channels: Channels) -> None:
        self.broken = False
        self.ended = False
        self.cause: Exception | None = None
        self.channels = channels
        self._connections: dict[AsyncConnection, Silence] = {}
        self._reads: dict[asyncio.Task[Any], AsyncConnection] = {}

    async def subscribe(self, topology: Topology[AsyncConnectionPool]) -> None:
        try:
            for address, names in topology.channels_by_node(self.channels).items():
                connection = cast(AsyncConnection, topology.pool(address).make_connection())
                self._connections[connection] = Silence()
                await connection.connect()
                await connection.send_packed_command(
                    connection.pack_commands(_subscriptions(names))
                )
                for _ in names:
                    await connection.read_response(timeout=SUBSCRIBE_WITHIN)
        except LOST as error:
            await self._lose(error)
        except BaseException:
            await self.disconnect()
            raise
        else:
            for connection in self._connections:
                self._read_from(connection)

    def _read_from(self, connection: AsyncConnection) -> None:
        read = connection.read_response(timeout=None)
        self._reads[asyncio.ensure_future(read)] = connection

    async def hear(self, timeout: float) -> list[Notice]:  # noqa: ASYNC109 - the wire's signature
        """The notices that came within timeout seconds; returns with the first."""
        if self.broken:
            return []
        done, _ = await asyncio.wait(
            self._reads, timeout=min(timeout, SILENCE), return_when=asyncio.FIRST_COMPLETED
        )
        heard: list[Notice] = []
        try:
            for read in done:
                # Who has ended us meanwhile has taken the reads away.
                connection = self._reads.pop(read, None)
                if connection is not None:
                    heard += _notices(read.result())
                    self._connections[connection].is_broken()
                    self._read_from(connection)
            await self._ask_silent_ones()
        except LOST as error:
            await self._lose(error)
        return heard

    async def _ask_silent_ones(self) -> None:
        for connection, silence in self._connections.items():
            if not self.broken and silence.is_long():
                await connection.send_command("PING")

    async def _lose(self, error: Exception) -> None:
        self.cause = error
        await self.disconnect()

    async def disconnect(self) -> None:
        self.broken = True
        reads, self._reads = self._reads, {}
        for read in reads:
            read.cancel()
        await asyncio.gather(*reads, return_exceptions=True)
        for connection in self._connections:
            await connection.disconnect(nowait=True)

    async def end(self) -> None:
        """For good; a task that waits wakes up."""
        self.ended = True
        await self.disconnect()
