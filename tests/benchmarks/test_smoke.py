"""Headrace in every workload of the comparison, with very little work."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.comparison.bench import Bench, Effort
from benchmarks.comparison.competitors import BARE_LIST, HEADRACE
from benchmarks.comparison.registry import WORKLOADS, Workload
from benchmarks.comparison.servers import servers
from benchmarks.comparison.workloads import idle, pop

LITTLE = Effort(
    rounds=1,
    seconds=1,
    jobs=200,
    latencies=5,
    naps=100,
    burns=4,
    idle_seconds=0.2,
    steps=200,
    backlog=500,
    pops=50,
)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with servers(tmp_path) as ready:
        yield Bench(ready, tmp_path, LITTLE)


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_workload_returns_figures(
    workload: Workload, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idle, "SETTLE", 0.5)
    monkeypatch.setattr(pop, "FIRST", 100)

    figures = workload.measure(bench, HEADRACE)

    assert figures
    assert all(figure >= 0 for figure in figures.values())


def test_lower_bound_of_latency_is_measured(bench: Bench) -> None:
    [latency] = [workload for workload in WORKLOADS if workload.name == "latency"]

    assert latency.measure(bench, BARE_LIST)["p50"] > 0
