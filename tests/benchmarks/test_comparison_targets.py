from __future__ import annotations

from typing import Any

import pytest

from benchmarks.comparison.targets import best_of_each_round, evaluate
from benchmarks.targets import Target
from tests.benchmarks.support.sample_results import found, killed


def targets(**changed: Any) -> dict[str, Target]:
    return {target.name: target for target in evaluate(found(**changed))}


def missed(**changed: Any) -> list[str]:
    return [name for name, target in targets(**changed).items() if target.verdict == "missed"]


def test_run_that_reaches_every_target_misses_none() -> None:
    assert {target.verdict for target in evaluate(found())} == {"reached"}


def test_target_names_are_unique() -> None:
    assert len(targets()) == len(list(evaluate(found())))


@pytest.mark.parametrize(
    ("workload", "competitor", "figures", "name"),
    [
        ("put", "huey", {"rate": [10_001.0]}, "put, of huey"),
        ("bulk", "streaq", {"rate": [16_000.0]}, "put in bulk, of streaq"),
        ("drain", "celery", {"rate": [6_000.0]}, "drain, of the best pure Python queue"),
        ("drain2", "bullmq", {"rate": [31_000.0]}, "drain by two, of the best competitor"),
        ("drain2", "beanstalkd", {"rate": [31_000.0]}, "drain by two, of beanstalkd"),
        ("latency", "taskiq", {"p50": [0.8], "p99": [2.0]}, "latency p50, of the best competitor"),
        ("bytes", "bullmq", {"bytes": [499.0]}, "bytes, of bullmq"),
        ("bytes", "huey", {"bytes": [199.0]}, "bytes, profile task, of huey"),
        ("kill", "headrace", killed(0, again_s=5.1), "worker killed, until all runs again"),
        ("kill-process", "headrace", killed(1, again_s=0.1), "process killed, lost"),
        (
            "kill",
            "bullmq",
            killed(0, again_s=2.4),
            "worker killed, of the fastest competitor that loses nothing",
        ),
    ],
)
def test_figure_beyond_its_limit_misses_its_target(
    workload: str, competitor: str, figures: dict[str, list[float]], name: str
) -> None:
    assert name in missed(**{workload: found()[workload] | {competitor: figures}})


def test_competitor_that_loses_jobs_does_not_count() -> None:
    with_huey = found()["kill"] | {"huey": killed(1, again_s=0.1)}

    assert missed(kill=with_huey) == []


def test_target_of_a_missing_competitor_is_not_measured() -> None:
    alone = {"headrace": found()["bulk"]["headrace"]}

    verdicts = {target.verdict for name, target in targets(bulk=alone).items() if "bulk" in name}

    assert verdicts == {"not measured"}
    assert missed(bulk=alone) == []


def test_all_targets_of_an_empty_run_are_not_measured() -> None:
    assert {target.verdict for target in evaluate({})} == {"not measured"}


def test_incomplete_round_does_not_count() -> None:
    half = {"headrace": {"rate": [100.0, 1.0]}, "huey": {"rate": [50.0]}}

    assert targets(put=half)["put, of huey"].found == 2.0


def test_best_of_each_round_may_differ_between_rounds() -> None:
    rows = {"a": [1.0, 5.0], "b": [3.0, 2.0]}

    assert best_of_each_round(rows, ["a", "b", "c"], max) == [3.0, 5.0]
    assert best_of_each_round(rows, ["a", "b"], min) == [1.0, 2.0]
    assert best_of_each_round(rows, [], max) == []
