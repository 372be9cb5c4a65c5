"""Topology: which nodes a deployment has, and which node has which shard.

A deployment is one server, the primary of a Sentinel, or a Cluster.
"""

from __future__ import annotations

from binascii import crc_hqx
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

from redis.exceptions import MovedError

P = TypeVar("P")
Address = tuple[str, int]

SLOTS = 16384
ONE = ("", 0)


def slot_of(tag: str) -> int:
    """Return the Cluster slot of a hash tag."""
    return crc_hqx(tag.encode(), 0) % SLOTS


class Topology(Generic[P]):
    """The connection pools of redis-py, one per node, created when first needed."""

    def __init__(
        self,
        namespace: str,
        make_pool: Callable[[Address], P],
        seeds: Sequence[Address] = (),
        sentinels: Sequence[P] = (),
    ) -> None:
        self.single: Address | None = None if seeds else ONE
        self._namespace = namespace
        self._make_pool = make_pool
        self._seeds = list(seeds)
        self._sentinels = sentinels
        self._pools: dict[Address, P] = {}
        self._ranges: list[tuple[int, int, Address]] = []
        self._moved: dict[int, Address] = {}
        self._silent: set[Address] = set()

    def pool(self, address: Address) -> P:
        """Return the pool of a node."""
        if address not in self._pools:
            self._pools[address] = self._make_pool(address)
        return self._pools[address]

    def pools(self) -> Iterable[P]:
        """Return all pools that may have connections."""
        return [*self._pools.values(), *self._sentinels]

    def node_of(self, shard: int) -> Address:
        """Return the node of a shard, or any node if the shard's node is unknown.

        A node without the shard replies with a redirect.
        """
        if self.single is not None:
            return self.single
        slot = slot_of(f"{self._namespace}:{shard}")
        for first, last, address in self._ranges:
            if first <= slot <= last:
                return address
        return self._seeds[0]

    def addresses(self) -> list[Address]:
        """Return all known nodes of a Cluster.

        Nodes that have just received a slot come first, and nodes that did not answer come last.
        """
        known = [address for _, _, address in self._ranges]
        every = dict.fromkeys([*self._moved.values(), *known, *self._seeds])
        return sorted(every, key=self._silent.__contains__)

    def note_reachable(self, address: Address, reachable: bool) -> None:  # noqa: FBT001
        """Record whether a node answered the last time."""
        if reachable:
            self._silent.discard(address)
        else:
            self._silent.add(address)

    def note_moved(self, moved: MovedError) -> None:
        """Record the new node of a slot from a MOVED reply."""
        if moved.host:
            self._moved[moved.slot_id] = (moved.host, moved.port)

    def learn(self, asked: Address, slots: Any) -> None:
        """Read the reply to CLUSTER SLOTS; an empty host means the node that was asked.

        Earlier MOVED replies take precedence, because the node that was asked may not know yet that
        a slot moved between other nodes.
        """
        moved, self._moved = self._moved, {}
        self._ranges = [(slot, slot, address) for slot, address in moved.items()] + [
            (first, last, ((primary[0] or b"").decode() or asked[0], primary[1]))
            for first, last, primary, *_ in slots
        ]

    def channels_by_node(self, channels: Iterable[tuple[int, str]]) -> dict[Address, list[str]]:
        """Return the names of channels, grouped by the node of each channel's shard."""
        grouped: dict[Address, list[str]] = {}
        for shard, name in channels:
            grouped.setdefault(self.node_of(shard), []).append(name)
        return grouped
