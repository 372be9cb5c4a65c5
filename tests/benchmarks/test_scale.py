"""The model of a Cluster computes correctly and depends only on its constants."""

from __future__ import annotations

import pytest

from benchmarks.scale.model import SHARDS_A_NODE, Costs, forecast, shards_by_node

COSTS = Costs(put_server=10.0, drain_server=30.0, worker=20.0)


def test_every_shard_is_on_a_node() -> None:
    found = shards_by_node("shop", 48, 12)
    assert sum(found.values()) == 48
    assert set(found) <= set(range(12))


def test_one_node_is_limited_by_its_core() -> None:
    forecasted = forecast(COSTS, 1)
    assert forecasted.jobs_a_second == pytest.approx(25_000)
    assert forecasted.worker_cores == pytest.approx(0.5)


@pytest.mark.parametrize("nodes", [3, 12, 48])
def test_fullest_node_limits_the_throughput(nodes: int) -> None:
    forecasted = forecast(COSTS, nodes)
    assert forecasted.shards == nodes * SHARDS_A_NODE
    assert forecasted.fullest >= SHARDS_A_NODE
    assert forecasted.jobs_a_second == pytest.approx(
        25_000 * forecasted.shards / forecasted.fullest
    )
    assert forecasted.jobs_a_second <= 25_000 * nodes
