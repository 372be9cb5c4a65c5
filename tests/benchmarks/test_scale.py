"""The model of a Cluster: what it counts, and that it says no more than its constants."""

from __future__ import annotations

import pytest

from benchmarks.scale.model import SHARDS_A_NODE, Costs, forecast, shards_by_node

COSTS = Costs(put_server=10.0, drain_server=30.0, worker=20.0)


def test_every_shard_lies_on_some_node() -> None:
    found = shards_by_node("shop", 48, 12)
    assert sum(found.values()) == 48
    assert set(found) <= set(range(12))


def test_one_node_does_what_its_core_does() -> None:
    told = forecast(COSTS, 1)
    assert told.jobs_a_second == pytest.approx(25_000)
    assert told.worker_cores == pytest.approx(0.5)


@pytest.mark.parametrize("nodes", [3, 12, 48])
def test_the_fullest_node_sets_the_pace(nodes: int) -> None:
    told = forecast(COSTS, nodes)
    assert told.shards == nodes * SHARDS_A_NODE
    assert told.fullest >= SHARDS_A_NODE
    assert told.jobs_a_second == pytest.approx(25_000 * told.shards / told.fullest)
    assert told.jobs_a_second <= 25_000 * nodes
