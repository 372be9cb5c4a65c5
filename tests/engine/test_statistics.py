"""Statistics: the measured durations, their sums, and the bins in which they count."""

from __future__ import annotations

import random
import statistics
from bisect import bisect_right
from collections import Counter, defaultdict
from datetime import date, timedelta
from itertools import pairwise

import pytest

from headrace import Client, Queue, Series
from headrace.engine.statistics import BINS, bin_bounds, merged, quantile
from headrace.testing import START, Clock
from tests.model.jobs.checks.event_counts import statistics_follow_from_events
from tests.proof import proves
from tests.support.jobs import pop_one

MINUTE, HOUR, DAY = 60, 3600, 86_400
WIDTHS = {"s": 1, "m": MINUTE, "q": 15 * MINUTE, "h": HOUR, "d": DAY}
STARTS = [WIDTHS[name[0]] * int(name[1:]) for name in BINS]


def fine_bin(seconds: float) -> str:
    """Return the documented layout, read from the list of its bins."""
    return BINS[bisect_right(STARTS, seconds) - 1]


def coarse_bin(seconds: float) -> int:
    """The layout of 148 bins."""
    whole = int(seconds)
    if whole < MINUTE:
        return whole
    if whole < HOUR:
        return 60 + whole // MINUTE - 1
    if whole < DAY:
        return 119 + whole // HOUR - 1
    return 142 + min(6, whole // DAY) - 1


def feed(queue: Queue, clock: Clock, waits: list[float]) -> None:
    """Make jobs wait for these durations."""
    queue.configure(lease=None)
    queue.put_many(range(len(waits)))
    start = clock.now
    for wait in sorted(waits):
        clock.set(start + timedelta(seconds=wait))
        queue.pop("w1")


@proves("Q-92", "Q-93")
def test_the_values_0_to_19(queue: Queue, clock: Clock) -> None:
    feed(queue, clock, list(range(20)))

    wait = queue.stats().wait

    assert (wait.count, wait.mean, wait.variance) == (20, 9.5, 35.0)
    assert wait.std == pytest.approx(5.916079783099, abs=1e-12)
    assert wait.histogram[:20] == [1] * 20
    assert sum(wait.histogram) == sum(wait.coarse_histogram) == 20


@proves("Q-93")
def test_one_value_has_no_variance(queue: Queue, clock: Clock) -> None:
    feed(queue, clock, [7])

    wait = queue.stats().wait
    assert (wait.count, wait.mean, wait.variance, wait.std) == (1, 7, 0, 0)


@proves("Q-92", "QD-10")
@pytest.mark.parametrize("at_once", [1, 7])
def test_streaming_statistics_match_those_of_all_values(
    queue: Queue, clock: Clock, at_once: int
) -> None:
    chance = random.Random(5)
    waits: list[float] = []
    for _ in range(100):
        queue.put_many(range(at_once))
        wait = chance.randrange(700_000) / 1000
        clock.tick(wait)
        queue.pop("w1", count=at_once, lease=10 * DAY)
        waits += [wait] * at_once

    found = queue.stats().wait

    assert found.count == len(waits)
    assert found.mean == pytest.approx(statistics.mean(waits), rel=1e-12)
    assert found.variance == pytest.approx(statistics.variance(waits), rel=1e-12)
    assert found.bins == Counter(map(fine_bin, waits))


@proves("Q-91")
def test_the_series_of_shards_are_summed_as_one() -> None:
    chance = random.Random(6)
    parts = [[chance.uniform(0, 1000) for _ in range(size)] for size in (0, 1, 5, 40)]

    whole = merged(
        Series(
            len(part),
            statistics.mean(part) if part else 0.0,
            statistics.variance(part) if len(part) > 1 else 0.0,
            Counter(map(fine_bin, part)),
        )
        for part in parts
    )

    values = [value for part in parts for value in part]
    assert (whole.count, whole.bins) == (46, Counter(map(fine_bin, values)))
    assert whole.mean == pytest.approx(statistics.mean(values), rel=1e-12)
    assert whole.variance == pytest.approx(statistics.variance(values), rel=1e-12)


# bins


@proves("Q-95", "QD-03")
def test_the_layout_of_the_bins() -> None:
    sizes = Counter(name[0] for name in BINS)

    assert sizes == {"s": 60, "m": 59, "q": 92, "h": 48, "d": 364}
    assert [BINS[0], BINS[60], BINS[119], BINS[211], BINS[259]] == ["s0", "m1", "q4", "h24", "d3"]
    assert sorted(set(STARTS)) == STARTS


@proves("Q-95", "Q-97", "QD-03")
def test_every_bin_begins_at_its_border_and_ends_before_the_next(
    queue: Queue, clock: Clock
) -> None:
    waits = [start - 0.001 for start in STARTS[1:]] + STARTS + [400 * DAY, 1000 * DAY]
    queue.configure(lease=None)
    queue.put_many(range(len(waits)))
    expected: dict[date, Counter[str]] = defaultdict(Counter)

    for wait in sorted(waits):
        clock.set(START + timedelta(seconds=wait))
        queue.pop("w1")
        found = queue.stats().wait
        today = expected[clock.now.date()]
        today[fine_bin(wait)] += 1
        assert found.bins == today
        assert sum(found.histogram) == sum(found.coarse_histogram) == found.count

    assert sum(sum(day.values()) for day in expected.values()) == len(waits)


@proves("Q-96", "Q-97")
def test_the_148_bins_are_sums_of_the_fine_ones_the_last_one_open() -> None:
    values = STARTS + [start - 0.001 for start in STARTS[1:]]
    for value in values:
        series = Series(1, value, 0, {fine_bin(value): 1})
        expected = [0] * 148
        expected[coarse_bin(value)] = 1
        assert series.coarse_histogram == expected


@proves("Q-96", "Q-97")
def test_no_value_is_too_large_for_a_bin(queue: Queue, clock: Clock) -> None:
    waits = [0.0, 6.5 * DAY, 7 * DAY, 365 * DAY, 10_000 * DAY]
    total = 0
    for wait in waits:
        queue.put(1)
        clock.tick(wait)
        pop_one(queue).complete()
        found = queue.stats().wait
        total += found.coarse_histogram[147] + found.coarse_histogram[0]
        assert sum(found.histogram) == sum(found.coarse_histogram) == found.count

    assert total == 5


@proves("Q-97")
def test_histogram_has_a_bin_for_its_longest_duration() -> None:
    assert len(Series(0, 0, 0, {}).histogram) == 259
    assert len(Series(1, 0, 0, {"d3": 1}).histogram) == 260
    assert len(Series(1, 0, 0, {"d366": 1}).histogram) == 623


# days


@proves("Q-90")
def test_waiting_is_booked_on_the_day_of_the_pop_running_on_the_day_of_the_end(
    queue: Queue, clock: Clock
) -> None:
    clock.tick(timedelta(days=1, seconds=-10))
    queue.put(1)
    clock.tick(10)
    lease = pop_one(queue, lease=2 * DAY)
    clock.tick(DAY - 0.001)
    lease.heartbeat(lease_for=DAY)
    clock.tick(0.001)
    lease.complete()

    figures = {
        day: (stats.wait.count, stats.wait.mean, stats.run.count, stats.run.mean)
        for day in (1, 2, 3)
        for stats in [queue.stats(date(2026, 1, day))]
    }
    assert figures == {1: (0, 0, 0, 0), 2: (1, 10, 0, 0), 3: (0, 0, 1, DAY)}


@proves("Q-98")
def test_statistics_by_worker_and_tag_follow_from_the_log(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    for number in range(12):
        queue.put(1, tags=[f"tag {number % 3}"])
        clock.tick(number)
        lease = pop_one(queue, worker=f"w{number % 2}")
        clock.tick(2 * number)
        lease.complete()

    events = list(hr.events())
    tags = {event.job_id: event.tags for event in events if event.kind == "put"}
    waits = [event for event in events if event.kind == "popped"]
    runs = [event for event in events if event.kind == "completed"]

    assert statistics.mean(event.wait or 0 for event in waits) == queue.stats().wait.mean * 1000
    assert statistics.mean(event.run or 0 for event in runs) == queue.stats().run.mean * 1000
    assert Counter(event.worker for event in runs) == {"w0": 6, "w1": 6}
    assert Counter(tags[event.job_id] for event in waits) == {f'["tag {n}"]': 4 for n in range(3)}


@proves("Q-91")
def test_statistics_follow_from_the_log(valkey_url: str) -> None:
    statistics_follow_from_events(valkey_url)


def test_edges_of_bins_are_contiguous() -> None:
    edges = [bin_bounds(name) for name in BINS]

    assert [first for first, _ in edges] == STARTS
    assert all(end == first for (_, end), (first, _) in pairwise(edges))


def test_quantiles_are_the_edges_of_a_bin() -> None:
    bins = {"s0": 50, "s3": 45, "m2": 5, "d3": 0}

    found = {share: quantile(bins, share) for share in (0.5, 0.51, 0.95, 0.96, 1)}

    assert found == {0.5: (0, 1), 0.51: (3, 4), 0.95: (3, 4), 0.96: (120, 180), 1: (120, 180)}
    assert quantile({}, 0.5) is None


def test_bins_are_contiguous() -> None:
    assert bin_bounds(BINS[0]) == (0, 1)
    for before, after in pairwise(BINS):
        assert bin_bounds(before)[1] == bin_bounds(after)[0], (before, after)


@pytest.mark.parametrize(
    ("share", "bounds"), [(0.1, (0, 1)), (0.5, (0, 1)), (0.51, (5, 6)), (1, (60, 120))]
)
def test_quantile_is_the_bin_that_reaches_the_share(share: float, bounds: tuple[int, int]) -> None:
    assert quantile({"m1": 1, "s0": 5, "s5": 4}, share) == bounds
