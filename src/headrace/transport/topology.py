"""Which node has which shard: one server, the primary of a Sentinel, or the nodes of a Cluster."""

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
    """The Cluster slot of a hash tag."""
    return crc_hqx(tag.encode(), 0) % SLOTS


class Topology(Generic[P]):
    """The pools of connections, one a node; made when first needed."""

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

    def pool(self, address: Address) -> P:
        if address not in self._pools:
            self._pools[address] = self._make_pool(address)
        return self._pools[address]

    def pools(self) -> Iterable[P]:
        """All pools that may have connections."""
        return [*self._pools.values(), *self._sentinels]

    def node_of(self, shard: int) -> Address:
        """The node that has a shard; some node if that is not known (yet): it will tell."""
        if self.single is not None:
            return self.single
        slot = slot_of(f"{self._namespace}:{shard}")
        for first, last, address in self._ranges:
            if first <= slot <= last:
                return address
        return self._seeds[0]

    def addresses(self) -> list[Address]:
        """All known nodes of a Cluster, those that have just got a slot first."""
        known = [address for _, _, address in self._ranges]
        return list(dict.fromkeys([*self._moved.values(), *known, *self._seeds]))

    def heard(self, moved: MovedError) -> None:
        """Notes where a slot is by the word of the node that had it."""
        if moved.host:
            self._moved[moved.slot_id] = (moved.host, moved.port)

    def learn(self, asked: Address, slots: Any) -> None:
        """Takes in the answer of CLUSTER SLOTS; an empty host is that of the node asked.

        A node may not know yet of a slot that moved between others: what was heard counts more.
        """
        moved, self._moved = self._moved, {}
        self._ranges = [(slot, slot, address) for slot, address in moved.items()] + [
            (first, last, ((primary[0] or b"").decode() or asked[0], primary[1]))
            for first, last, primary, *_ in slots
        ]

    def channels_by_node(self, channels: Iterable[tuple[int, str]]) -> dict[Address, list[str]]:
        grouped: dict[Address, list[str]] = {}
        for shard, name in channels:
            grouped.setdefault(self.node_of(shard), []).append(name)
        return grouped
