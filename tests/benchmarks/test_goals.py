from __future__ import annotations

from typing import Any

import pytest

from benchmarks.bars import Bar
from benchmarks.field.goals import best_of_each_round, judge
from tests.benchmarks.field import found, killed


def bars(**changed: Any) -> dict[str, Bar]:
    return {bar.name: bar for bar in judge(found(**changed))}


def missed(**changed: Any) -> list[str]:
    return [name for name, bar in bars(**changed).items() if bar.verdict == "missed"]


def test_a_run_that_reaches_every_bar_misses_none() -> None:
    assert {bar.verdict for bar in judge(found())} == {"reached"}


def test_no_two_bars_have_a_name() -> None:
    assert len(bars()) == len(list(judge(found())))


@pytest.mark.parametrize(
    ("part", "who", "figures", "name"),
    [
        ("put", "huey", {"rate": [10_001.0]}, "put, of huey"),
        ("bulk", "streaq", {"rate": [16_000.0]}, "put in bulk, of streaq"),
        ("drain", "celery", {"rate": [6_000.0]}, "drain, of the best in pure Python"),
        ("drain2", "bullmq", {"rate": [31_000.0]}, "drain by two, of the best rival"),
        ("drain2", "beanstalkd", {"rate": [31_000.0]}, "drain by two, of beanstalkd"),
        ("latency", "taskiq", {"p50": [0.8], "p99": [2.0]}, "latency p50, of the best rival"),
        ("bytes", "bullmq", {"bytes": [499.0]}, "bytes, of bullmq"),
        ("bytes", "huey", {"bytes": [199.0]}, "bytes, profile task, of huey"),
        ("kill", "headrace", killed(0, again_s=5.1), "worker killed, until all runs again"),
        ("kill-process", "headrace", killed(1, again_s=0.1), "process killed, lost"),
        (
            "kill",
            "bullmq",
            killed(0, again_s=2.4),
            "worker killed, of the soonest rival that loses nothing",
        ),
    ],
)
def test_a_figure_beyond_its_limit_misses_its_bar(
    part: str, who: str, figures: dict[str, list[float]], name: str
) -> None:
    assert name in missed(**{part: found()[part] | {who: figures}})


def test_who_loses_jobs_is_not_held_against_us() -> None:
    with_huey = found()["kill"] | {"huey": killed(1, again_s=0.1)}

    assert missed(kill=with_huey) == []


def test_a_rival_that_is_not_there_makes_its_bar_not_measured() -> None:
    alone = {"headrace": found()["bulk"]["headrace"]}

    verdicts = {bar.verdict for name, bar in bars(bulk=alone).items() if "bulk" in name}

    assert verdicts == {"not measured"}
    assert missed(bulk=alone) == []


def test_of_nothing_nothing_is_measured() -> None:
    assert {bar.verdict for bar in judge({})} == {"not measured"}


def test_a_round_that_was_not_finished_does_not_count() -> None:
    half = {"headrace": {"rate": [100.0, 1.0]}, "huey": {"rate": [50.0]}}

    assert bars(put=half)["put, of huey"].found == 2.0


def test_the_best_of_each_round_may_be_another_each_time() -> None:
    rows = {"a": [1.0, 5.0], "b": [3.0, 2.0]}

    assert best_of_each_round(rows, ["a", "b", "c"], max) == [3.0, 5.0]
    assert best_of_each_round(rows, ["a", "b"], min) == [1.0, 2.0]
    assert best_of_each_round(rows, [], max) == []
