"""Our own contestant, once through every workload, with next to nothing to do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.field.bench import Bench, Effort
from benchmarks.field.contestants import BARE, OURS
from benchmarks.field.parts import PARTS, Part
from benchmarks.field.servers import servers
from benchmarks.field.workloads import idle

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
    pops=20,
)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with servers(tmp_path) as ready:
        yield Bench(ready, tmp_path, LITTLE)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_a_workload_gives_figures(
    part: Part, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idle, "SETTLE", 0.5)

    figures = part.measure(bench, OURS)

    assert figures
    assert all(figure >= 0 for figure in figures.values())


def test_the_floor_of_latency_is_measured(bench: Bench) -> None:
    [latency] = [part for part in PARTS if part.name == "latency"]

    assert latency.measure(bench, BARE)["p50"] > 0
