from __future__ import annotations

from typing import Any

import pytest

from benchmarks.rivals.bars import Bar, beside, best_of_each_round, judge, percentiles

PURE = ("slow", "fast")


def figures(**changed: Any) -> dict[str, Any]:
    """A run in which every bar is reached, but for what is changed."""
    reached = {
        "drain": {
            "headrace": {"rate": [400.0, 900.0, 410.0]},
            "slow": {"rate": [50.0, 300.0, 50.0]},
            "fast": {"rate": [100.0, 200.0, 100.0]},
            "of another language": {"rate": [9000.0] * 3},
        },
        "latency": {"headrace": {"p50": [1.9, 3.0]}, "bare BLPOP": {"p50": [1.0, 2.0]}},
        "recovery": {"the process": [0.1, 0.2], "the tree": [3.1, 4.9]},
        "idle": {"headrace": {"pss_mib": [59.9], "rss_mib": [99.0], "cpu_percent": [0.9]}},
    }
    return reached | changed


def missed(found: dict[str, Any]) -> list[str]:
    return [bar.name for bar in judge(found, PURE) if not bar.reached]


def test_a_run_that_reaches_every_bar_misses_none() -> None:
    assert missed(figures()) == []


def test_the_drain_is_held_against_the_best_pure_python_rival_of_each_round() -> None:
    drain = judge(figures(), PURE)[0]

    # 400/100, 900/300, 410/100: neither the slower ones nor other languages count.
    assert drain.found == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        (
            {"drain": {"headrace": {"rate": [399.0]}, "fast": {"rate": [100.0]}}},
            "drain, of the best pure-Python rival",
        ),
        (
            {"latency": {"headrace": {"p50": [2.0]}, "bare BLPOP": {"p50": [1.0]}}},
            "idle latency p50, of a bare BLPOP",
        ),
        (
            {"recovery": {"the process": [0.1], "the tree": [1.0, 5.0, 1.0]}},
            "kill -9 of the tree, until all runs again",
        ),
        ({"idle": {"headrace": {"pss_mib": [60.0], "cpu_percent": [0.1]}}}, "idle memory (Pss)"),
        ({"idle": {"headrace": {"pss_mib": [50.0], "cpu_percent": [1.0]}}}, "idle CPU, of a core"),
    ],
)
def test_a_figure_at_its_limit_or_beyond_misses_that_bar_alone(
    changed: dict[str, Any], name: str
) -> None:
    assert missed(figures(**changed)) == [name]


def test_what_was_not_measured_is_missed() -> None:
    nothing: dict[str, Any] = {"drain": {}, "latency": {}, "recovery": {}, "idle": {}}

    bars = judge(nothing, PURE)

    assert [bar.found for bar in bars] == [None] * len(bars)
    assert not any(bar.reached for bar in bars)


def test_without_a_pure_python_rival_there_is_nothing_to_be_held_against() -> None:
    alone = {"headrace": {"rate": [400.0]}, "of another language": {"rate": [1.0]}}

    assert missed(figures(drain=alone)) == ["drain, of the best pure-Python rival"]


def test_a_bar_from_below_is_reached_at_its_limit_and_one_from_above_is_not() -> None:
    assert Bar("rate", 4.0, 4.0, "x", at_least=True).reached
    assert not Bar("size", 60.0, 60.0, "MiB").reached


def test_ratios_are_taken_round_by_round() -> None:
    # The machine was half as fast in the second round; the medians alone would say 1.5.
    assert beside([10.0, 2.0, 6.0], [5.0, 1.0, 4.0]) == 2.0
    assert beside([], [1.0]) is None


def test_the_best_of_each_round_may_be_another_each_time() -> None:
    assert best_of_each_round({"a": [1.0, 5.0], "b": [3.0, 2.0]}, ["a", "b"]) == [3.0, 5.0]
    assert best_of_each_round({"a": [1.0]}, []) == []


def test_percentiles_lie_among_what_was_found() -> None:
    assert percentiles([float(n) for n in range(101)]) == {"p50": 50.0, "p99": 99.0}
