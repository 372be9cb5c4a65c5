"""Rates, percentiles and sort orders, computed from snapshots."""

from __future__ import annotations

import pytest

from headrace.cli.top.model import (
    ORDERS,
    WINDOW,
    Percentiles,
    growth,
    percentiles,
    rate,
)
from headrace.engine.statistics import Stats, quantile
from tests.cli.support.views import at, queue, totals, view_of


def test_rates_are_the_growth_of_the_books_per_second() -> None:
    [row] = view_of(at(1, mail=queue(10, 5)), at(3, mail=queue(30, 6))).rows

    assert (row.put, row.done) == (10.0, 0.5)


def test_one_snapshot_gives_no_rates() -> None:
    [row] = view_of(at(1, mail=queue(10, 5))).rows

    assert (row.put, row.done, row.failed, row.wait) == (None, None, None, None)


def test_new_or_recreated_queue_has_no_rates() -> None:
    view = view_of(at(1, old=queue(10, 5)), at(2, old=queue(3, 0), new=queue(1, 1)))

    assert [(row.put, row.done) for row in view.rows] == [(None, None), (None, None)]
    assert view.throughput == [0.0]


def test_clock_set_back_resets_the_history() -> None:
    [row] = view_of(at(9, mail=queue(1)), at(5, mail=queue(2)), at(6, mail=queue(5))).rows

    assert row.put == 3.0
    assert rate(1, 2, 0) is None


def test_percentiles_cover_the_last_minute() -> None:
    def day(fast: int, slow: int) -> Stats:
        return totals(7, 0, {"s0": fast, "m2": slow}, {"s3": slow})

    minute = WINDOW / 1000
    history = [
        at(0, mail=queue(day=day(0, 0))),
        at(1, mail=queue(day=day(5000, 0))),
        at(1 + minute, mail=queue(day=day(5060, 40))),
    ]
    [row] = view_of(*history).rows

    assert row.wait == Percentiles(1, 180), "older values are not counted"
    assert row.run == Percentiles(4, 4)


def test_new_day_starts_from_zero() -> None:
    before = queue(day=totals(7, 50, {"s0": 1000}, {}))
    after = queue(day=totals(8, 2, {"s1": 4}, {}))

    [row] = view_of(at(1, mail=before), at(2, mail=after)).rows

    assert (row.failed, row.wait, row.run) == (2.0, Percentiles(2, 2), None)


@pytest.mark.parametrize(
    ("bins", "half", "most"),
    [
        ({"s0": 1}, 1, 1),
        ({"s0": 95, "s59": 5}, 1, 1),
        ({"s0": 94, "s59": 6}, 1, 60),
        ({"m1": 1}, 120, 120),
        ({"q4": 1}, 4500, 4500),
        ({"h24": 1, "d3": 1}, 90_000, 345_600),
    ],
)
def test_percentiles_are_the_ends_of_bins(bins: dict[str, int], half: int, most: int) -> None:
    assert percentiles(bins) == Percentiles(half, most)


def test_empty_histogram_has_no_percentiles() -> None:
    assert percentiles({}) is None
    assert growth({"s0": 3}, {"s0": 3, "s1": 0}) == {}
    assert quantile({"s0": 1}, 1.0) == (0, 1)


def test_throughput_sums_all_queues() -> None:
    view = view_of(
        at(1, a=queue(), b=queue()),
        at(2, a=queue(done=3), b=queue(done=4)),
        at(4, a=queue(done=5), b=queue(done=4)),
    )

    assert view.throughput == [7.0, 1.0]


def test_sort_orders() -> None:
    first = at(1, b=queue(done=0, waiting=1), a=queue(waiting=5), c=queue(waiting=3))
    second = at(2, b=queue(done=9, waiting=1), a=queue(waiting=5), c=queue(waiting=3))

    found = {
        order: "".join(row.name for row in view_of(first, second, order=order).rows)
        for order in ORDERS
    }

    assert found == {
        "first use": "bac",
        "name": "abc",
        "waiting": "acb",
        "running": "bac",
        "failed": "bac",
        "done/s": "bac",
    }
