"""The choice of the next queue to pop from, and the number of held jobs."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.operations.popping import SAFETY_POLL
from headrace.worker.settings import read_queues
from headrace.worker.sources import MOST_PREFETCHED, PREFETCH_SECONDS, Prefetch, QueueSources


def next_pops(sources: QueueSources, room: int) -> list[tuple[str, int, int]]:
    return sorted((source.queue, source.shard, count) for source, count in sources.next(room))


def sources_of(listed: str, shards: int = 1) -> QueueSources:
    queues, weighted = read_queues(listed)
    return QueueSources(queues, shards, weighted=weighted)


def test_first_queue_is_popped_until_it_is_empty() -> None:
    sources = sources_of("mail,default")
    assert next_pops(sources, 5) == [("mail", 0, 5)]

    [(mail, _)] = sources.next(5)
    sources.popped(mail, 5, 5, 0)
    assert next_pops(sources, 5) == [("mail", 0, 5)]
    sources.popped(mail, 5, 2, None)
    assert next_pops(sources, 3) == [("default", 0, 3)]
    sources.wake("mail", 0)
    assert next_pops(sources, 3) == [("mail", 0, 3)]


@pytest.mark.parametrize("wake_all", [False, True])
def test_notice_that_arrives_during_a_pop_leads_to_another_pop(*, wake_all: bool) -> None:
    sources = sources_of("mail")
    [(mail, _)] = sources.next(1)
    if wake_all:
        sources.wake_all([0])
    else:
        sources.wake("mail", 0)
    sources.popped(mail, 1, 0, None)

    assert next_pops(sources, 1) == [("mail", 0, 1)]
    sources.popped(mail, 1, 0, None)
    assert sources.next(1) == []


def test_empty_queues_are_not_popped_before_a_job_is_due() -> None:
    sources = sources_of("mail,default")
    for due, longest in ((1.5, 1.5), (None, SAFETY_POLL)):
        sources.wake_all([0])
        while found := sources.next(1):
            sources.popped(found[0][0], 1, 0, due)
        left = sources.seconds_left()
        assert left is not None
        assert 0.5 * longest < left <= longest
    sources.wake_all([0])
    assert sources.seconds_left() == 0


@given(st.integers(1, 600), st.integers(1, 9))
def test_pops_are_divided_evenly_over_shards(room: int, shards: int) -> None:
    found = sources_of("mail", shards).next(room)

    counts = [count for _, count in found]
    assert sum(counts) == room
    assert len(counts) == min(room, shards)
    assert max(counts) - min(counts) <= 1


def test_weighted_queues_are_popped_in_proportion_to_their_weights() -> None:
    random.seed(7)
    sources = sources_of("mail:3,default:1")

    first = Counter(sources.next(1)[0][0].queue for _ in range(4000))

    assert 2800 < first["mail"] < 3200


# prefetch


@given(st.lists(st.floats(0, 100), max_size=50), st.integers(1, 1000))
def test_capacity_is_bounded(seconds: list[float], concurrency: int) -> None:
    prefetch = Prefetch(concurrency)
    for one in seconds:
        prefetch.finished(one)

    assert concurrency <= prefetch.capacity() <= concurrency + MOST_PREFETCHED


def test_only_quick_jobs_are_prefetched() -> None:
    prefetch = Prefetch(10)
    assert prefetch.capacity() == 10
    for _ in range(100):
        prefetch.finished(0.0001)
    assert prefetch.capacity() == 10 + MOST_PREFETCHED
    prefetch.stuck(5.0)
    assert prefetch.capacity() == 10
    for _ in range(1000):
        prefetch.finished(PREFETCH_SECONDS / 2)
    assert prefetch.capacity() in (29, 30)


def test_one_slow_job_ends_the_prefetch_at_once() -> None:
    prefetch = Prefetch(10)
    for _ in range(100):
        prefetch.finished(0.0001)
    prefetch.finished(10.0)

    assert prefetch.capacity() == 10


@pytest.mark.parametrize(
    ("concurrency", "seconds", "wanted"),
    [
        (10, None, MOST_PREFETCHED),
        (10, 0.0001, MOST_PREFETCHED),
        (10, 0.01, 10),
        (2 * MOST_PREFETCHED, 0.01, MOST_PREFETCHED),
    ],
)
def test_jobs_longer_than_a_round_trip_are_requested_only_as_many_as_can_start(
    concurrency: int, seconds: float | None, wanted: int
) -> None:
    prefetch = Prefetch(concurrency)
    if seconds is not None:
        prefetch.finished(seconds)

    assert prefetch.at_once() == wanted
