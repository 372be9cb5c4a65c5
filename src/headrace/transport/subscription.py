"""An ear: a subscription to channels of shards, one connection for each node that has some.

Broken means that notices may have been missed; ended, that nobody wants to hear more. A connection
may die without a word, so one that is silent for long is asked for a sign of life.
"""

from __future__ import annotations

import asyncio
import os
import select
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from ssl import SSLWantReadError
from typing import Any, cast

import hiredis
from redis.asyncio.connection import ConnectionPool as AsyncConnectionPool
from redis.connection import Connection, ConnectionPool
from redis.exceptions import InvalidResponse, RedisError

from headrace.transport.async_connection import AsyncStream
from headrace.transport.connection import CONNECTION_ERRORS, READ_AT_ONCE, closed_by_server
from headrace.transport.topology import Topology

Notice = tuple[str, bytes]
Channels = tuple[tuple[int, str], ...]

SILENCE = 5.0
SUBSCRIBE_WITHIN = 5.0
_NOT_YET = object()
pack_command: Callable[[Any], bytes] = hiredis.pack_command


class Deaf(ConnectionError):
    """Nothing more will be heard: the shard has moved, or the server gives no sign of life."""


LOST = (*CONNECTION_ERRORS, RedisError)


def _subscriptions(names: Sequence[str]) -> list[tuple[str, str]]:
    # One each: channels of several slots are refused together, also where one node has them all.
    return [("SSUBSCRIBE", name) for name in names]


def _notices(message: Any) -> list[Notice]:
    if isinstance(message, Exception):
        raise message
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


class Subscription:
    """What a blocking waiter hears."""

    def __init__(self, topology: Topology[ConnectionPool], channels: Channels) -> None:
        self.broken = False
        self.ended = False
        self.cause: Exception | None = None
        self.channels = channels
        self._process = os.getpid()
        self._hearing = threading.RLock()
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
        if self._process != os.getpid():
            # After a fork: what comes is for the parent, where a thread may hold the lock.
            self.disconnect()
            return []
        with self._hearing:
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
        if self._process != os.getpid():
            # After a fork: nobody waits here, and the connections are those of the parent.
            self.disconnect()
            return
        for stream in self._streams:
            stream.wake()
        # A socket that is closed under who waits for it may have become another connection by then.
        with self._hearing:
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
            else:
                early += _notices(message)
                missing -= message[0] == b"ssubscribe"
        self._socket.setblocking(False)
        # What came with the last confirmation is no longer in the socket, which is waited for.
        self.read(early)
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

    def wake(self) -> None:
        """Whoever waits for this connection, waits no more."""
        if self._socket is not None:
            # By another name: TLS would forget its state at once, under who reads.
            with suppress(OSError), socket.socket(fileno=os.dup(self._socket.fileno())) as same:
                same.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._connection.disconnect()

    def __del__(self) -> None:
        # An ear that nobody holds any more; the connection itself may wait for a collection.
        self.close()


class AsyncSubscription:
    """What an awaiting waiter hears."""

    def __init__(self, channels: Channels) -> None:
        self.ended = False
        self.cause: Exception | None = None
        self.channels = channels
        self.on_notice: Callable[[str, bytes], bool] = lambda *_: False
        self._lost = False
        self._streams: list[AsyncEarStream] = []
        self._heard: list[Notice] = []
        self._waiters: set[asyncio.Future[None]] = set()

    @property
    def broken(self) -> bool:
        """Whether nothing more is heard; what came before is heard first."""
        return self._lost and not self._heard

    async def subscribe(self, topology: Topology[AsyncConnectionPool]) -> None:
        try:
            for address, names in topology.channels_by_node(self.channels).items():
                stream = AsyncEarStream(topology.pool(address).make_connection, self)
                self._streams.append(stream)
                await stream.subscribe(names)
                if self._lost:
                    # Another was lost meanwhile; this one has not been closed with it.
                    stream.close()
                    return
        except LOST as error:
            self.lose(error)
        except BaseException:
            self.disconnect()
            raise

    async def hear(self, timeout: float) -> list[Notice]:  # noqa: ASYNC109 - the wire's signature
        """The notices that came within timeout seconds; returns with the first."""
        if not self._heard and not self._lost:
            await self._wait(min(timeout, SILENCE))
        heard, self._heard = self._heard, []
        try:
            for stream in self._streams:
                if not self._lost:
                    stream.ask_if_silent()
        except Deaf as error:
            self.lose(error)
        return heard

    async def _wait(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        waiter = loop.create_future()
        self._waiters.add(waiter)
        timer = loop.call_later(seconds, _settle, waiter)
        try:
            await waiter
        finally:
            timer.cancel()
            self._waiters.discard(waiter)

    def _wake(self) -> None:
        for waiter in self._waiters:
            _settle(waiter)

    def told(self, notices: list[Notice]) -> None:
        """A stream has brought these; those that nobody takes at once are heard in their turn."""
        self._heard += [notice for notice in notices if not self.on_notice(*notice)]
        if self._heard:
            self._wake()

    def lose(self, error: Exception) -> None:
        """Nothing more will be heard."""
        self.cause = self.cause or error
        self.disconnect()

    def disconnect(self) -> None:
        self._lost = True
        for stream in self._streams:
            stream.close()
        self._wake()

    async def end(self) -> None:
        """For good; a task that waits wakes up."""
        self.ended = True
        self.disconnect()


def _settle(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


class AsyncEarStream(AsyncStream):
    """One connection of an awaiting ear."""

    def __init__(self, make_connection: Callable[[], Any], subscription: AsyncSubscription) -> None:
        super().__init__(make_connection)
        self._ear = subscription
        self._silence = Silence()
        self._missing = 0
        self._subscribed: asyncio.Future[None] | None = None

    async def subscribe(self, names: Sequence[str]) -> None:
        """Connects and subscribes."""
        await self.open()
        self._missing = len(names)
        self._subscribed = asyncio.get_running_loop().create_future()
        self.write(b"".join(map(pack_command, _subscriptions(names))))
        try:
            async with asyncio.timeout(SUBSCRIBE_WITHIN):
                await self._subscribed
        except TimeoutError:
            raise Deaf("the server has not confirmed the subscription in time") from None

    def ask_if_silent(self) -> None:
        if self._silence.is_long():
            self.write(pack_command(("PING",)))

    def take(self, message: Any) -> None:
        self._silence.is_broken()
        if notices := _notices(message):
            self._ear.told(notices)
        elif message[0] == b"ssubscribe":
            self._missing -= 1
            if not self._missing and self._subscribed is not None:
                _settle(self._subscribed)

    def lost(self, error: Exception) -> None:
        if self._subscribed is not None and not self._subscribed.done():
            self._subscribed.set_exception(error)
        else:
            self._ear.lose(error)

    def close(self) -> None:
        super().close()
        if self._subscribed is not None and not self._subscribed.done():
            self._subscribed.set_exception(Deaf("the subscription was ended meanwhile"))
