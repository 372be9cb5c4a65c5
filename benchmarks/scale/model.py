"""A model of a Cluster, derived from the measured cost of a job; not a measurement.

In the model, a node uses one core and runs only scripts, and the network has no cost. The hash slot
of a shard determines its node, and the fullest node limits the throughput. Batches are as large as
in the measurement, and the number of workers is sufficient.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from headrace.transport.topology import SLOTS, slot_of

SHARDS_A_NODE = 4


@dataclass(frozen=True)
class Costs:
    """The microseconds of one core that a job takes."""

    put_server: float
    drain_server: float
    worker: float


@dataclass(frozen=True)
class Forecast:
    """The modelled throughput of this many nodes."""

    nodes: int
    shards: int
    fullest: int
    jobs_a_second: float
    worker_cores: float


def forecast(costs: Costs, nodes: int, namespace: str = "shop") -> Forecast:
    """Return the jobs per second that a Cluster of this many nodes can put, pop and complete."""
    shards = nodes * SHARDS_A_NODE
    fullest = max(shards_by_node(namespace, shards, nodes).values())
    of_a_core = 1e6 / (costs.put_server + costs.drain_server)
    rate = of_a_core * shards / fullest
    return Forecast(nodes, shards, fullest, rate, rate * costs.worker / 1e6)


def shards_by_node(namespace: str, shards: int, nodes: int) -> Counter[int]:
    """Return the number of shards on each node if all nodes have the same number of slots."""
    return Counter(slot_of(f"{namespace}:{shard}") * nodes // SLOTS for shard in range(shards))
