from __future__ import annotations

import pytest

from benchmarks.bars import Bar, beside, percentiles


@pytest.mark.parametrize(("found", "verdict"), [(3.9, "missed"), (4.0, "reached")])
def test_a_bar_from_below_is_reached_at_its_limit(found: float, verdict: str) -> None:
    assert Bar("rate", found, 4.0, "x", at_least=True).verdict == verdict


@pytest.mark.parametrize(("found", "verdict"), [(60.0, "reached"), (60.1, "missed")])
def test_a_bar_from_above_is_reached_at_its_limit(found: float, verdict: str) -> None:
    assert Bar("size", found, 60.0, "MiB").verdict == verdict


def test_what_was_not_measured_is_neither_reached_nor_missed() -> None:
    bar = Bar("rate", None, 4.0, "x", at_least=True)

    assert bar.verdict == "not measured"
    assert not bar.reached


def test_ratios_are_taken_round_by_round() -> None:
    # The machine was half as fast in the second round; the medians alone would say 1.5.
    assert beside([10.0, 2.0, 6.0], [5.0, 1.0, 4.0]) == 2.0
    assert beside([], [1.0]) is None


def test_a_round_that_only_one_was_in_does_not_count() -> None:
    assert beside([10.0, 2.0, 6.0], [5.0]) == 2.0


def test_percentiles_lie_among_what_was_found() -> None:
    assert percentiles([float(n) for n in range(101)]) == {"p50": 50.0, "p99": 99.0}
