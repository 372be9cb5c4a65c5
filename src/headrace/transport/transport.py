"""Transports: send each command to the node of the command's shard, and return the replies.

If a command fails, its error is returned in place of its reply. A transport never repeats a
command; operations decide whether to repeat a command.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
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
_WORDS_OF: Callable[[Command], Words] = itemgetter(1)

# The maximum number of idle subscriptions that a thread or an async client keeps. Each subscription
# has at least one connection.
IDLE_SUBSCRIPTIONS = 16


class Unreachable(Exception):
    """A connection could not be opened, so nothing was sent; `cause` is the reason."""

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
            topology.note_moved(reply)


def _answered(replies: list[Any]) -> bool:
    return not isinstance(replies[-1], (Unreachable, *CONNECTION_ERRORS))


def _packed(commands: Iterable[Words]) -> bytes:
    # Convert numbers here, because hiredis crashes if a signal handler raises an exception while
    # hiredis converts a number.
    return b"".join(
        [
            hiredis.pack_command(
                cast(Any, tuple([str(word) if type(word) in NUMBERS else word for word in words]))
            )
            for words in commands
        ]
    )


def _blocks(commands: list[Words]) -> bool:
    return commands[0][:2] == ("XREAD", "BLOCK")


class ProcessGeneration:
    """A token that changes after a fork. Comparing tokens is faster than calling getpid."""

    current = object()

    @classmethod
    def renew(cls) -> None:
        """Begin a new generation after a fork, in the child process."""
        cls.current = object()


os.register_at_fork(after_in_child=ProcessGeneration.renew)


class Transport:
    """The transport of the sync client. Each thread has its own connection to each node."""

    def __init__(self, topology: Topology[ConnectionPool]) -> None:
        self._topology = topology
        self._local = threading.local()
        self.closings = 0
        self._held: WeakSet[Subscription] = WeakSet()

    def send(self, commands: Sequence[Command]) -> list[Any]:
        """Send commands in order, one batch per node, and return one reply per command."""
        if self._topology.single is not None:
            return self.exchange(self._topology.single, list(map(_WORDS_OF, commands)))
        replies: list[Any] = [None] * len(commands)
        for address, positions in _by_node(commands, self._topology.node_of).items():
            words = [commands[position][1] for position in positions]
            found = self.exchange(address, words)
            self._topology.note_reachable(address, _answered(found))
            _place(self._topology, replies, positions, found)
        return replies

    def node_of(self, shard: int) -> Address:
        """Return the node that has a shard."""
        return self._topology.node_of(shard)

    def nodes(self) -> list[Address]:
        """Return every known node; a node with two names is listed under both names."""
        single = self._topology.single
        return self._topology.addresses() if single is None else [single]

    def exchange(self, address: Address, commands: list[Words]) -> list[Any]:
        """Send commands to one node in one batch and return one reply per command."""
        connections: dict[Address, NodeConnection] = self._mine()["connections"]
        # Remove the connection from `connections` while this call uses the connection, so that a
        # signal handler opens another connection.
        connection = connections.pop(address, None) or self._new_connection(address)
        try:
            if connection.socket is None or connection.is_watched:
                try:
                    connection.open()
                except (*CONNECTION_ERRORS, RedisError) as error:
                    connection.close()
                    return [Unreachable(error)] * len(commands)
            return connection.exchange(_packed(commands), len(commands))
        finally:
            if connections.setdefault(address, connection) is not connection:
                connection.close()

    def refresh(self) -> None:
        """Look up again which node has which slots, or which server is the primary."""
        if self._topology.single is not None:
            for connection in self._mine()["connections"].values():
                connection.close()
        for address in self._topology.addresses():
            reply = self.exchange(address, [("CLUSTER", "SLOTS")])[0]
            if not isinstance(reply, Exception):
                self._topology.learn(address, reply)
                return

    def sleep(self, seconds: float) -> None:
        """Block for this many seconds."""
        time.sleep(seconds)

    def subscribe(self, channels: Sequence[tuple[int, str]]) -> Subscription:
        """Return a subscription to channels of shards."""
        subscriptions: dict[Channels, Subscription] = self._mine()["subscriptions"]
        wanted = tuple(channels)
        subscription = subscriptions.pop(wanted, None)
        if subscription is None or subscription.broken:
            subscription = Subscription(self._topology, wanted)
        return subscription

    def hold(self, subscription: Subscription) -> None:
        """Keep a subscription beyond this operation, until the subscription or the client ends."""
        self._held.add(subscription)

    def keep(self, subscription: Subscription) -> None:
        """Keep a subscription for the next wait of this thread on the same channels."""
        subscriptions: dict[Channels, Subscription] = self._mine()["subscriptions"]
        if not subscription.broken:
            subscriptions[subscription.channels] = subscription
        if len(subscriptions) > IDLE_SUBSCRIPTIONS:
            subscriptions.pop(next(iter(subscriptions))).disconnect()

    def close(self) -> None:
        """Close idle connections and the connections of this thread; end held subscriptions."""
        self.closings += 1
        for subscription in list(self._held):
            subscription.end()
        mine = self._mine()
        for subscription in mine["subscriptions"].values():
            subscription.disconnect()
        for connection in mine["connections"].values():
            connection.close()
        self._local.held = None
        for pool in self._topology.pools():
            pool.disconnect()

    def _mine(self) -> dict[str, Any]:
        held: dict[str, Any] | None = getattr(self._local, "held", None)
        if held is None or held["generation"] is not ProcessGeneration.current:
            held = {"generation": ProcessGeneration.current, "connections": {}, "subscriptions": {}}
            self._local.held = held
        return held

    def _new_connection(self, address: Address) -> NodeConnection:
        return NodeConnection(cast(Connection, self._topology.pool(address).make_connection()))


class AsyncTransport:
    """The transport of the asyncio client. Each batch of commands has its own connection."""

    def __init__(self, topology: Topology[AsyncConnectionPool], timeout: float) -> None:
        self._topology = topology
        self._timeout = timeout
        self.closings = 0
        self._pools: dict[Address, AsyncNodePool] = {}
        self._subscriptions: list[AsyncSubscription] = []
        self._held: set[AsyncSubscription] = set()

    @property
    def has_one_node(self) -> bool:
        """Whether one server has all shards."""
        return self._topology.single is not None

    async def send(self, commands: Sequence[Command]) -> list[Any]:
        """Send commands in order, one batch per node, and return one reply per command."""
        if self._topology.single is not None:
            return await self._exchange(self._topology.single, [words for _, words in commands])
        replies: list[Any] = [None] * len(commands)
        grouped = _by_node(commands, self._topology.node_of)
        exchanges = [
            self._exchange(address, [commands[position][1] for position in positions])
            for address, positions in grouped.items()
        ]
        answers = await asyncio.gather(*exchanges)
        for address, found in zip(grouped, answers, strict=True):
            self._topology.note_reachable(address, _answered(found))
            _place(self._topology, replies, grouped[address], found)
        return replies

    async def refresh(self) -> None:
        """Look up again which node has which slots, or which server is the primary."""
        if self._topology.single is not None:
            for node_pool in self._pools.values():
                node_pool.close_idle()
        for address in self._topology.addresses():
            reply = (await self._exchange(address, [("CLUSTER", "SLOTS")]))[0]
            if not isinstance(reply, Exception):
                self._topology.learn(address, reply)
                return

    async def sleep(self, seconds: float) -> None:
        """Sleep for this many seconds."""
        await asyncio.sleep(seconds)

    async def subscribe(self, channels: Sequence[tuple[int, str]]) -> AsyncSubscription:
        """Return a subscription to channels of shards."""
        wanted = tuple(channels)
        for subscription in self._subscriptions:
            if subscription.channels == wanted and not subscription.broken:
                self._subscriptions.remove(subscription)
                return subscription
        subscription = AsyncSubscription(wanted)
        await subscription.subscribe(self._topology)
        return subscription

    def keep(self, subscription: AsyncSubscription) -> None:
        """Keep a subscription for the next wait on the same channels."""
        self._subscriptions.append(subscription)
        while self._subscriptions and (
            self.closings or len(self._subscriptions) > IDLE_SUBSCRIPTIONS
        ):
            self._subscriptions.pop(0).disconnect()

    def hold(self, subscription: AsyncSubscription) -> None:
        """Keep a subscription beyond this operation, until the subscription or the client ends."""
        self._held = {held for held in self._held if not held.broken} | {subscription}

    async def close(self) -> None:
        """Close every connection and end held subscriptions."""
        self.closings += 1
        while self._held:
            await self._held.pop().end()
        while self._subscriptions:
            self._subscriptions.pop().disconnect()
        for node_pool in self._pools.values():
            node_pool.close()
        for pool in self._topology.pools():
            await pool.disconnect()

    async def _exchange(self, address: Address, commands: list[Words]) -> list[Any]:
        node_pool = self._pools.get(address)
        if node_pool is None:
            pool = self._topology.pool(address)
            node_pool = self._pools[address] = AsyncNodePool(pool.make_connection, self._timeout)
        try:
            return await node_pool.exchange(
                _packed(commands), len(commands), blocks=_blocks(commands)
            )
        except (*CONNECTION_ERRORS, RedisError) as error:
            return [Unreachable(error)] * len(commands)
