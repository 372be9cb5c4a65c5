"""How commands travel: connections of redis-py, one exchange of many commands a node.

A wire sends commands and returns replies; errors are replies too. It repeats nothing: whether a
command may be repeated is for the talk to say.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, cast
from weakref import WeakSet

import hiredis
from redis.asyncio.connection import ConnectionPool as AsyncConnectionPool
from redis.connection import Connection, ConnectionPool
from redis.exceptions import MovedError, RedisError

from headrace.transport.async_connection import AsyncNodePool
from headrace.transport.connection import CONNECTION_ERRORS, NodeConnection
from headrace.transport.subscription import AsyncSubscription, Channels, Subscription
from headrace.transport.topology import Address, Topology

Words = tuple[str | bytes | int | float, ...]
Command = tuple[int, Words]

NUMBERS = frozenset((int, float))

# Idle subscriptions that are kept, of a thread or of an awaiting client: each is a connection.
EARS_KEPT = 16


class Unreachable(Exception):
    """There is no connection, so nothing was sent; the cause says why."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(f"{type(cause).__name__}: {cause}")
        self.cause = cause


def _by_node(
    commands: Sequence[Command], node_of: Callable[[int], Address]
) -> dict[Address, list[int]]:
    grouped: dict[Address, list[int]] = {}
    for position, (shard, _) in enumerate(commands):
        grouped.setdefault(node_of(shard), []).append(position)
    return grouped


def _place(
    topology: Topology[Any], replies: list[Any], positions: list[int], found: list[Any]
) -> None:
    for position, reply in zip(positions, found, strict=True):
        replies[position] = reply
        if isinstance(reply, MovedError):
            topology.heard(reply)


def _packed(commands: list[Words]) -> bytes:
    if len(commands) == 1:
        return _packed_words(commands[0])
    return b"".join([_packed_words(words) for words in commands])


def _packed_words(words: Words) -> bytes:
    # hiredis asks a number for its text, and dies if the handler of a signal raises meanwhile.
    texts = tuple([str(word) if type(word) in NUMBERS else word for word in words])
    return bytes(hiredis.pack_command(cast(Any, texts)))


def _exchanged(line: NodeConnection, commands: list[Words]) -> list[Any]:
    try:
        line.open()
    except (*CONNECTION_ERRORS, RedisError) as error:
        line.close()
        return [Unreachable(error)] * len(commands)
    return line.exchange(_packed(commands), len(commands))


def _blocks(commands: list[Words]) -> bool:
    return commands[0][:2] == ("XREAD", "BLOCK")


class ProcessGeneration:
    """The life of this process: after a fork it is another one. To ask for a pid takes longer."""

    this = object()

    @classmethod
    def begin(cls) -> None:
        cls.this = object()


os.register_at_fork(after_in_child=ProcessGeneration.begin)


class Transport:
    """The blocking wire. Each thread has its own connection to each node it talks to."""

    def __init__(self, topology: Topology[ConnectionPool]) -> None:
        self._topology = topology
        self._local = threading.local()
        self.closings = 0
        self._held: WeakSet[Subscription] = WeakSet()

    def send(self, commands: Sequence[Command]) -> list[Any]:
        """Sends commands in order, those for one node in one go; a reply for each."""
        if self._topology.single is not None:
            return self.exchange(self._topology.single, [words for _, words in commands])
        replies: list[Any] = [None] * len(commands)
        for address, positions in _by_node(commands, self._topology.node_of).items():
            words = [commands[position][1] for position in positions]
            _place(self._topology, replies, positions, self.exchange(address, words))
        return replies

    def nodes(self) -> list[Address]:
        """Every node that is known; one that has two names is listed by both."""
        single = self._topology.single
        return self._topology.addresses() if single is None else [single]

    def exchange(self, address: Address, commands: list[Words]) -> list[Any]:
        """Sends commands to one node, in one go; a reply for each."""
        lines: dict[Address, NodeConnection] = self._mine()["lines"]
        # Taken away meanwhile: the handler of a signal that interrupts us has a line of its own.
        line = lines.pop(address, None) or self._new_line(address)
        try:
            return _exchanged(line, commands)
        finally:
            if lines.setdefault(address, line) is not line:
                line.close()

    def refresh(self) -> None:
        """Learns anew which node has which slots, or which server is the primary."""
        if self._topology.single is not None:
            for line in self._mine()["lines"].values():
                line.close()
        for address in self._topology.addresses():
            reply = self.exchange(address, [("CLUSTER", "SLOTS")])[0]
            if not isinstance(reply, Exception):
                self._topology.learn(address, reply)
                return

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def listen(self, channels: Sequence[tuple[int, str]]) -> Subscription:
        """Subscribes to channels of shards; heard by the ear until it is closed."""
        subscriptions: dict[Channels, Subscription] = self._mine()["subscriptions"]
        wanted = tuple(channels)
        subscription = subscriptions.pop(wanted, None)
        if subscription is None or subscription.broken:
            subscription = Subscription(self._topology, wanted)
        return subscription

    def hold(self, subscription: Subscription) -> None:
        """Lets an ear be used beyond the end of its talk, until it is ended or we are closed."""
        self._held.add(subscription)

    def keep(self, subscription: Subscription) -> None:
        """Keeps a subscription for the next wait of this thread on the same channels."""
        subscriptions: dict[Channels, Subscription] = self._mine()["subscriptions"]
        if not subscription.broken:
            subscriptions[subscription.channels] = subscription
        if len(subscriptions) > EARS_KEPT:
            subscriptions.pop(next(iter(subscriptions))).disconnect()

    def close(self) -> None:
        """Closes the connections of this thread and all idle ones; ends what is listened to."""
        self.closings += 1
        for subscription in list(self._held):
            subscription.end()
        mine = self._mine()
        for subscription in mine["subscriptions"].values():
            subscription.disconnect()
        for line in mine["lines"].values():
            line.close()
        self._local.held = None
        for pool in self._topology.pools():
            pool.disconnect()

    def _mine(self) -> dict[str, Any]:
        held: dict[str, Any] | None = getattr(self._local, "held", None)
        if held is None or held["life"] is not ProcessGeneration.this:
            held = {"life": ProcessGeneration.this, "lines": {}, "subscriptions": {}}
            self._local.held = held
        return held

    def _new_line(self, address: Address) -> NodeConnection:
        return NodeConnection(cast(Connection, self._topology.pool(address).make_connection()))


class AsyncTransport:
    """The awaiting wire: each exchange has a line to itself, or waits until one is free."""

    def __init__(self, topology: Topology[AsyncConnectionPool], timeout: float) -> None:
        self._topology = topology
        self._timeout = timeout
        self.closings = 0
        self._lines: dict[Address, AsyncNodePool] = {}
        self._subscriptions: list[AsyncSubscription] = []
        self._held: set[AsyncSubscription] = set()

    async def send(self, commands: Sequence[Command]) -> list[Any]:
        """Sends commands in order, those for one node in one go; a reply for each."""
        if self._topology.single is not None:
            return await self._exchange(self._topology.single, [words for _, words in commands])
        replies: list[Any] = [None] * len(commands)
        grouped = _by_node(commands, self._topology.node_of)
        exchanges = [
            self._exchange(address, [commands[position][1] for position in positions])
            for address, positions in grouped.items()
        ]
        answers = await asyncio.gather(*exchanges)
        for positions, found in zip(grouped.values(), answers, strict=True):
            _place(self._topology, replies, positions, found)
        return replies

    async def refresh(self) -> None:
        """Learns anew which node has which slots, or which server is the primary."""
        if self._topology.single is not None:
            for lines in self._lines.values():
                lines.close_idle()
        for address in self._topology.addresses():
            reply = (await self._exchange(address, [("CLUSTER", "SLOTS")]))[0]
            if not isinstance(reply, Exception):
                self._topology.learn(address, reply)
                return

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def listen(self, channels: Sequence[tuple[int, str]]) -> AsyncSubscription:
        """Subscribes to channels of shards; heard by the ear until it is closed."""
        wanted = tuple(channels)
        for subscription in self._subscriptions:
            if subscription.channels == wanted and not subscription.broken:
                self._subscriptions.remove(subscription)
                return subscription
        subscription = AsyncSubscription(wanted)
        await subscription.subscribe(self._topology)
        return subscription

    def keep(self, subscription: AsyncSubscription) -> None:
        """Keeps a subscription for the next wait on the same channels."""
        self._subscriptions.append(subscription)
        while self._subscriptions and (self.closings or len(self._subscriptions) > EARS_KEPT):
            self._subscriptions.pop(0).disconnect()

    def hold(self, subscription: AsyncSubscription) -> None:
        """Lets an ear be used beyond the end of its talk, until it is ended or we are closed."""
        self._held = {held for held in self._held if not held.broken} | {subscription}

    async def close(self) -> None:
        """Closes every connection; ends what is listened to."""
        self.closings += 1
        while self._held:
            await self._held.pop().end()
        while self._subscriptions:
            self._subscriptions.pop().disconnect()
        for lines in self._lines.values():
            lines.close()
        for pool in self._topology.pools():
            await pool.disconnect()

    async def _exchange(self, address: Address, commands: list[Words]) -> list[Any]:
        lines = self._lines.get(address)
        if lines is None:
            pool = self._topology.pool(address)
            lines = self._lines[address] = AsyncNodePool(pool.make_connection, self._timeout)
        try:
            return await lines.exchange(_packed(commands), len(commands), blocks=_blocks(commands))
        except (*CONNECTION_ERRORS, RedisError) as error:
            return [Unreachable(error)] * len(commands)
