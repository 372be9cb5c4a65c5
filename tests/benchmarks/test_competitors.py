from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.comparison.competitors import ALL, COMPETITORS, Competitor, Load
from benchmarks.comparison.environments import PINS, ROOT, pins, version
from benchmarks.comparison.registry import WORKLOADS

LOADS = [Load(), Load(processes=2), Load(concurrency=100)]


@pytest.mark.parametrize("workload", [workload.name for workload in WORKLOADS])
def test_names_are_unique_within_a_workload(workload: str) -> None:
    names = [competitor.name for competitor in ALL if workload in competitor.workloads]

    assert len(names) == len(set(names)) > 0


def test_workloads_of_competitors_exist() -> None:
    assert set().union(*(competitor.workloads for competitor in ALL)) == {
        workload.name for workload in WORKLOADS
    }


@pytest.mark.parametrize(
    "environment", sorted({competitor.environment for competitor in COMPETITORS})
)
def test_every_competitor_has_a_pinned_version(environment: str) -> None:
    assert version(environment)[0].isdigit()


def test_every_pinned_version_is_used() -> None:
    assert set(PINS.iterdir()) == {pins(competitor.environment) for competitor in COMPETITORS}


@pytest.mark.parametrize("competitor", ALL, ids=lambda competitor: competitor.name)
def test_modules_and_scripts_of_a_competitor_exist(competitor: Competitor) -> None:
    commands = [competitor.put, *(command for load in LOADS for command in competitor.work(load))]
    words = {word.partition(":")[0] for command in commands for word in command}
    modules = [word for word in words if word.startswith("benchmarks.")]
    scripts = [word for word in words if word.endswith(".js")]

    for module in modules:
        place = ROOT / module.replace(".", "/")
        assert place.with_suffix(".py").exists() or place.parent.with_suffix(".py").exists()
    assert all(Path(script).exists() for script in scripts)
    assert modules or scripts
