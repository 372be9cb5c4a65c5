from __future__ import annotations

import pytest

from benchmarks.targets import Target, median_ratio, percentiles


@pytest.mark.parametrize(("found", "verdict"), [(3.9, "missed"), (4.0, "reached")])
def test_lower_limit_is_reached_at_equality(found: float, verdict: str) -> None:
    assert Target("rate", found, 4.0, "x", at_least=True).verdict == verdict


@pytest.mark.parametrize(("found", "verdict"), [(60.0, "reached"), (60.1, "missed")])
def test_upper_limit_is_reached_at_equality(found: float, verdict: str) -> None:
    assert Target("size", found, 60.0, "MiB").verdict == verdict


def test_missing_figure_is_neither_reached_nor_missed() -> None:
    target = Target("rate", None, 4.0, "x", at_least=True)

    assert target.verdict == "not measured"
    assert not target.reached


def test_ratio_is_the_median_of_the_rounds() -> None:
    # The machine was half as fast in the second round, so the ratio of the medians would be 1.5.
    assert median_ratio([10.0, 2.0, 6.0], [5.0, 1.0, 4.0]) == 2.0
    assert median_ratio([], [1.0]) is None


def test_round_with_one_figure_does_not_count() -> None:
    assert median_ratio([10.0, 2.0, 6.0], [5.0]) == 2.0


def test_percentiles_are_interpolated() -> None:
    assert percentiles([float(n) for n in range(101)]) == {"p50": 50.0, "p99": 99.0}
