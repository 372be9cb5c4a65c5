"""A subscription to channels of shards, with one connection to each node of these shards.

A broken subscription may have missed notices; an ended subscription was closed on purpose. A
connection can die without an error, so PING probes a silent connection.
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
from redis.exceptions import RedisError

from headrace.transport.async_connection import AsyncStream
from headrace.transport.connection import CONNECTION_ERRORS, READ_SIZE, closed_by_server
from headrace.transport.redis_internals import INCOMPLETE, reply_reader, socket_of
from headrace.transport.topology import Topology

Notice = tuple[str, bytes]
Channels = tuple[tuple[int, str], ...]

PROBE_AFTER = 5.0
SUBSCRIBE_WITHIN = 5.0
pack_command: Callable[[Any], bytes] = hiredis.pack_command


class SubscriptionLost(ConnectionError):
    """No more notices will arrive: the shard has moved, or the server does not answer."""


LOST = (*CONNECTION_ERRORS, RedisError)


def _subscriptions(names: Sequence[str]) -> list[tuple[str, str]]:
    # Send one command per channel: a Cluster refuses channels of several slots in one command.
    return [("SSUBSCRIBE", name) for name in names]


def _notices(message: Any) -> list[Notice]:
    if isinstance(message, Exception):
        raise message
    if message[0] == b"smessage":
        return [(message[1].decode(), message[2])]
    if message[0] == b"sunsubscribe":
        raise SubscriptionLost("the server ended the subscription")
    return []


class LivenessProbe:
    """Decides when a silent connection is probed, and when it counts as dead."""

    __slots__ = ("_is_probed", "_since")

    def __init__(self) -> None:
        self.received()

    def received(self) -> None:
        """Record that a message has arrived."""
        self._is_probed = False
        self._since = time.monotonic()

    def is_due(self) -> bool:
        """Return whether to send PING now; raise SubscriptionLost if the last PING got no reply."""
        if time.monotonic() - self._since < PROBE_AFTER:
            return False
        if self._is_probed:
            raise SubscriptionLost(f"the server did not answer PING within {PROBE_AFTER:g} s")
        self._is_probed = True
        self._since = time.monotonic()
        return True


class Subscription:
    """A subscription of the sync client. Several threads may use one subscription."""

    def __init__(self, topology: Topology[ConnectionPool], channels: Channels) -> None:
        self.broken = False
        self.ended = False
        self.cause: Exception | None = None
        self.channels = channels
        self._process = os.getpid()
        self._receiving = threading.RLock()
        self._streams: list[SubscriptionStream] = []
        self._early: list[Notice] = []
        self._poll = select.poll()
        try:
            for address, names in topology.channels_by_node(channels).items():
                stream = SubscriptionStream(
                    cast(Connection, topology.pool(address).make_connection())
                )
                self._streams.append(stream)
                self._early += stream.subscribe(names)
                self._poll.register(stream.fileno(), select.POLLIN)
        except LOST as error:
            self._lose(error)

    def receive(self, timeout: float) -> list[Notice]:
        """Return the notices that have arrived; wait up to `timeout` seconds for the first."""
        if self._process != os.getpid():
            # This process is a forked child. The notices belong to the parent process. Do not wait
            # for the lock, because a thread of the parent may have held the lock during the fork.
            self.disconnect()
            return []
        with self._receiving:
            if self._early:
                early, self._early = self._early, []
                return early
            if self.broken:
                return []
            self._poll.poll(min(timeout, PROBE_AFTER) * 1000)
            return self._pending()

    def _pending(self) -> list[Notice]:
        received: list[Notice] = []
        try:
            for stream in self._streams:
                if not self.broken:
                    stream.read(received)
        except LOST as error:
            self._lose(error)
        except BaseException:
            self.disconnect()
            raise
        return received

    def _lose(self, error: Exception) -> None:
        self.cause = error
        self.disconnect()

    def disconnect(self) -> None:
        """Close the connections, and mark the subscription as broken."""
        self.broken = True
        for stream in self._streams:
            stream.close()

    def end(self) -> None:
        """End the subscription for good, and wake the threads that wait for a notice."""
        self.ended = True
        if self._process != os.getpid():
            # This process is a forked child. No thread of the child waits for a notice, and the
            # connections belong to the parent process.
            self.disconnect()
            return
        for stream in self._streams:
            stream.wake()
        # Close the sockets under the lock. Otherwise a thread could still poll a closed file
        # descriptor, and a new connection may reuse that file descriptor.
        with self._receiving:
            self.disconnect()


class SubscriptionStream:
    """One connection of a Subscription."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._probe = LivenessProbe()
        self._socket: Any = None
        self._reader: Any = None

    def subscribe(self, names: Sequence[str]) -> list[Notice]:
        """Connect and subscribe; return the notices that arrive before the last confirmation."""
        self._connection.connect()
        self._socket = socket_of(self._connection)
        self._reader = reply_reader(self._connection)
        self._socket.settimeout(SUBSCRIBE_WITHIN)
        self._send(_subscriptions(names))
        early: list[Notice] = []
        missing = len(names)
        while missing:
            message = self._reader.gets()
            if message is INCOMPLETE:
                self._feed()
            else:
                early += _notices(message)
                missing -= message[0] == b"ssubscribe"
        self._socket.setblocking(False)
        # Read the notices that arrived together with the last confirmation. These notices are
        # already in the reader, so poll does not report them.
        self.read(early)
        return early

    def fileno(self) -> int:
        """Return the file descriptor to poll."""
        return int(self._socket.fileno())

    def read(self, received: list[Notice]) -> None:
        """Append the notices that have arrived to `received`; probe a silent connection."""
        while True:
            message = self._reader.gets()
            if message is not INCOMPLETE:
                self._probe.received()
                received += _notices(message)
                continue
            try:
                self._feed()
            except (BlockingIOError, SSLWantReadError):
                break
        if self._probe.is_due():
            self._send([("PING",)])

    def _send(self, commands: list[Any]) -> None:
        for packed in self._connection.pack_commands(commands):
            self._socket.sendall(packed)

    def _feed(self) -> None:
        data = self._socket.recv(READ_SIZE)
        if not data:
            raise closed_by_server()
        self._reader.feed(data)

    def wake(self) -> None:
        """Wake the thread that waits for this connection."""
        if self._socket is not None:
            # Shut down a duplicate of the socket: shutting down a TLS socket would drop state that
            # another thread uses.
            with suppress(OSError), socket.socket(fileno=os.dup(self._socket.fileno())) as same:
                same.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection."""
        self._connection.disconnect()

    def __del__(self) -> None:
        # A reference cycle may keep the connection object alive, so close its socket now.
        self.close()


class AsyncSubscription:
    """A subscription of the asyncio client."""

    def __init__(self, channels: Channels) -> None:
        self.ended = False
        self.cause: Exception | None = None
        self.channels = channels
        self.on_notice: Callable[[str, bytes], bool] = lambda *_: False
        self._lost = False
        self._streams: list[AsyncSubscriptionStream] = []
        self._received: list[Notice] = []
        self._waiters: set[asyncio.Future[None]] = set()

    @property
    def broken(self) -> bool:
        """Whether the connections are lost and `receive` has no more notices to return."""
        return self._lost and not self._received

    async def subscribe(self, topology: Topology[AsyncConnectionPool]) -> None:
        """Connect to the nodes of the channels and subscribe."""
        try:
            for address, names in topology.channels_by_node(self.channels).items():
                stream = AsyncSubscriptionStream(topology.pool(address).make_connection, self)
                self._streams.append(stream)
                await stream.subscribe(names)
                if self._lost:
                    # Another stream was lost while this stream subscribed.
                    stream.close()
                    return
        except LOST as error:
            self.lose(error)
        except BaseException:
            self.disconnect()
            raise

    async def receive(self, timeout: float) -> list[Notice]:  # noqa: ASYNC109 - as the sync form
        """Return the notices that have arrived; wait up to `timeout` seconds for the first."""
        if not self._received and not self._lost:
            await self._wait(min(timeout, PROBE_AFTER))
        received, self._received = self._received, []
        try:
            for stream in self._streams:
                if not self._lost:
                    stream.probe_if_silent()
        except SubscriptionLost as error:
            self.lose(error)
        return received

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

    def add(self, notices: list[Notice]) -> None:
        """Pass notices to `on_notice`, and keep the notices that `on_notice` does not handle."""
        self._received += [notice for notice in notices if not self.on_notice(*notice)]
        if self._received:
            self._wake()

    def lose(self, error: Exception) -> None:
        """Store the cause, and mark the subscription as broken."""
        self.cause = self.cause or error
        self.disconnect()

    def disconnect(self) -> None:
        """Close the connections and wake the tasks that wait."""
        self._lost = True
        for stream in self._streams:
            stream.close()
        self._wake()

    async def end(self) -> None:
        """End the subscription for good, and wake the tasks that wait for a notice."""
        self.ended = True
        self.disconnect()


def _settle(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


class AsyncSubscriptionStream(AsyncStream):
    """One connection of an AsyncSubscription."""

    def __init__(self, make_connection: Callable[[], Any], subscription: AsyncSubscription) -> None:
        super().__init__(make_connection)
        self._subscription = subscription
        self._probe = LivenessProbe()
        self._missing = 0
        self._subscribed: asyncio.Future[None] | None = None

    async def subscribe(self, names: Sequence[str]) -> None:
        """Connect and subscribe."""
        await self.open()
        self._missing = len(names)
        self._subscribed = asyncio.get_running_loop().create_future()
        self.write(b"".join(map(pack_command, _subscriptions(names))))
        try:
            async with asyncio.timeout(SUBSCRIBE_WITHIN):
                await self._subscribed
        except TimeoutError:
            raise SubscriptionLost("the server did not confirm the subscription in time") from None

    def probe_if_silent(self) -> None:
        """Send PING if nothing has arrived for PROBE_AFTER seconds."""
        if self._probe.is_due():
            self.write(pack_command(("PING",)))

    def take(self, message: Any) -> None:
        """Handle a notice or a confirmation."""
        self._probe.received()
        if notices := _notices(message):
            self._subscription.add(notices)
        elif message[0] == b"ssubscribe":
            self._missing -= 1
            if not self._missing and self._subscribed is not None:
                _settle(self._subscribed)

    def lost(self, error: Exception) -> None:
        """Report the loss to the pending `subscribe`, or to the subscription if none is pending."""
        if self._subscribed is not None and not self._subscribed.done():
            self._subscribed.set_exception(error)
        else:
            self._subscription.lose(error)

    def close(self) -> None:
        """Close the connection, and fail a pending `subscribe`."""
        super().close()
        if self._subscribed is not None and not self._subscribed.done():
            self._subscribed.set_exception(
                SubscriptionLost("the subscription was closed before the server confirmed it")
            )
