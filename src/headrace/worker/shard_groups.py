"""Group the shards that a worker asks together in one round trip.

Each node of a Cluster can become unreachable on its own, and so can a shard whose slot moves. A
worker of a Cluster therefore asks each shard separately, and an unreachable shard delays no other.
On one server, all shards share a round trip.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from headrace.operations.channel_listener import ListeningState
from headrace.operations.core import Core
from headrace.operations.lease_watch import LostLease


@dataclass(slots=True, eq=False)
class ShardGroup:
    """Shards that share a round trip, and the state of the round trip and of their subscription."""

    shards: frozenset[int]
    notices: ListeningState[LostLease] | None = None
    # The task of the round trip that is under way, how many jobs it requests, and whether it
    # carries acknowledgements.
    task: asyncio.Task[None] | None = None
    requested: int = 0
    sends_acks: bool = False
    # Whether the server may have handed over jobs without the worker's knowledge.
    check_unknown: bool = False
    # Set when the lease lengths of queues have changed, so that the worker renews leases at once.
    lengths_changed: asyncio.Event = field(default_factory=asyncio.Event)

    def suspect_unknown(self) -> None:
        """Record that the server may have handed over a job in a notice that did not arrive."""
        self.check_unknown = True

    def receives_notices(self) -> bool:
        """Return whether the worker receives the notices of these shards."""
        notices = self.notices
        return notices is not None and notices.checked and not notices.subscription.broken


def shard_groups(core: Core) -> list[ShardGroup]:
    """Divide the shards of a namespace into groups."""
    transport: Any = core.transport
    if transport.has_one_node:
        return [ShardGroup(frozenset(range(core.shards)))]
    return [ShardGroup(frozenset([shard])) for shard in range(core.shards)]
