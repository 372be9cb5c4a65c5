"""stats: returns the statistics of a queue for one day. test_statistics.py tests the values."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest

from headrace import Client, InvalidArgument, Queue, Stats
from headrace.testing import START, Clock
from tests.proof import proves
from tests.support.dump import dump
from tests.support.jobs import pop_one

TODAY = START.date()


def work(queue: Queue, clock: Clock, wait: float, run: float) -> None:
    queue.put(1)
    clock.tick(wait)
    lease = pop_one(queue, lease=10**6)
    clock.tick(run)
    lease.complete()


@proves("Q-91", "QD-02")
def test_waiting_and_running_are_two_series(queue: Queue, clock: Clock) -> None:
    work(queue, clock, wait=3, run=8)
    work(queue, clock, wait=5, run=4)

    stats = queue.stats()

    assert (stats.queue, stats.day) == ("mail", TODAY)
    assert (stats.wait.count, stats.wait.mean, stats.wait.variance) == (2, 4, 2)
    assert (stats.run.count, stats.run.mean, stats.run.variance) == (2, 6, 8)
    assert stats.run.std == pytest.approx(8**0.5)
    assert (stats.wait.bins, stats.run.bins) == ({"s3": 1, "s5": 1}, {"s4": 1, "s8": 1})


@proves("Q-94")
@pytest.mark.parametrize("day", [None, "2026-01-01", "1970-01-01", "2999-12-31"])
def test_a_day_without_data_is_all_zero(hr: Client, queue: Queue, day: str | None) -> None:
    before = dump(hr)

    stats = queue.stats(day)

    for series in (stats.wait, stats.run):
        assert (series.count, series.mean, series.variance, series.std) == (0, 0, 0, 0)
        assert set(series.histogram) == set(series.coarse_histogram) == {0}
    assert (stats.failed, stats.failures, stats.retries) == (0, 0, 0)
    assert dump(hr) == before


@proves("Q-91")
def test_day_may_be_a_date_or_a_text(queue: Queue, clock: Clock) -> None:
    work(queue, clock, wait=1, run=1)
    clock.tick(timedelta(days=3))

    assert queue.stats().wait.count == 0
    for day in (TODAY, "2026-01-01", START):
        assert (queue.stats(day).wait.count, queue.stats(day).day) == (1, TODAY)


@proves("QL-25")
def test_failures_and_retries_are_counted_by_day_and_failed_jobs_now(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.put(1, id="x")
    queue.put(1, id="y")
    pop_one(queue).fail("flaky", retry_in=0)
    for lease in queue.pop("w1", count=2):
        lease.fail("broken")
    assert _figures(queue.stats()) == (2, 2, 1)

    hr.retry("x")
    assert _figures(queue.stats()) == (1, 2, 1)

    clock.tick(timedelta(days=1))
    assert _figures(queue.stats()) == (1, 0, 0)
    assert _figures(queue.stats(TODAY)) == (1, 2, 1)


def _figures(stats: Stats) -> tuple[int, int, int]:
    return stats.failed, stats.failures, stats.retries


@proves("QL-25")
def test_each_queue_has_its_own(hr: Client, queue: Queue, clock: Clock) -> None:
    work(queue, clock, wait=1, run=1)
    work(hr.queue("other"), clock, wait=2, run=2)

    assert queue.stats().wait.bins == {"s1": 1}
    assert hr.queue("other").stats().wait.bins == {"s2": 1}


def test_a_queue_may_keep_no_statistics(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.configure(stats=False)
    work(queue, clock, wait=1, run=1)
    queue.put(1, retries=0)
    pop_one(queue).fail("broken")

    stats = queue.stats()
    assert (stats.wait.count, stats.run.count, stats.failures) == (0, 0, 0)
    assert not [key for key in dump(hr) if ":stats:" in key or ":histogram:" in key]


@proves("Q-04")
@pytest.mark.parametrize("day", ["yesterday", "2026-13-01", "", 20454, "1969-12-31", date(1, 1, 1)])
def test_invalid_day_or_day_before_1970_is_refused(queue: Queue, day: Any) -> None:
    with pytest.raises(InvalidArgument, match="day"):
        queue.stats(day)
