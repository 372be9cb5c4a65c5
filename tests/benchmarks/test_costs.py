"""Costs of operations: the figures that are the same on every machine."""

from __future__ import annotations

import pytest

from benchmarks import costs
from benchmarks.cost_report import Cost
from headrace.local_server.scratch import private_server


@pytest.fixture(scope="module")
def found() -> dict[str, Cost]:
    with private_server() as url:
        return {cost.operation: cost for cost in costs.measure(url)}


@pytest.mark.parametrize("operation", ["put", "pop", "complete", "heartbeat", "release"])
def test_operation_takes_one_round_trip(found: dict[str, Cost], operation: str) -> None:
    assert found[operation].round_trips == 1


@pytest.mark.parametrize(
    "operation",
    ["put_many of 100", "pop of 100", "complete_many of 100", "complete_and_pop of 100"],
)
def test_batch_takes_one_round_trip(found: dict[str, Cost], operation: str) -> None:
    assert found[operation].round_trips == pytest.approx(0.01)


@pytest.mark.parametrize("operation", ["put", "pop", "complete"])
def test_job_in_a_batch_takes_fewer_than_two_commands(
    found: dict[str, Cost], operation: str
) -> None:
    many = {"put": "put_many of 100", "pop": "pop of 100", "complete": "complete_many of 100"}
    assert found[many[operation]].commands < 1.5
