"""What a Cluster would do, from what a job costs here: a model, not a measurement.

A node runs scripts on one core; nothing else holds it up, networks least of all. Shards lie on the
nodes as their slots fall, and the fullest node sets the pace of all. Batches are as large as those
that were measured, and there are workers enough.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from headrace.transport.topology import SLOTS, slot_of

SHARDS_A_NODE = 4


@dataclass(frozen=True)
class Costs:
    """Microseconds of one core that a job takes."""

    put_server: float
    drain_server: float
    worker: float


@dataclass(frozen=True)
class Forecast:
    """What so many nodes would do."""

    nodes: int
    shards: int
    fullest: int
    jobs_a_second: float
    worker_cores: float


def forecast(costs: Costs, nodes: int, namespace: str = "shop") -> Forecast:
    """Jobs that are put, handed out and completed in a second by a Cluster of so many nodes."""
    shards = nodes * SHARDS_A_NODE
    fullest = max(shards_by_node(namespace, shards, nodes).values())
    of_a_core = 1e6 / (costs.put_server + costs.drain_server)
    rate = of_a_core * shards / fullest
    return Forecast(nodes, shards, fullest, rate, rate * costs.worker / 1e6)


def shards_by_node(namespace: str, shards: int, nodes: int) -> Counter[int]:
    """How many shards each node has, where each has as many slots as the others."""
    return Counter(slot_of(f"{namespace}:{shard}") * nodes // SLOTS for shard in range(shards))
