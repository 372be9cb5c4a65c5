"""peek: shows the jobs that pop would hand out next."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Client, InvalidArgument, Queue
from headrace.testing import Clock
from tests.proof import proves
from tests.support.dump import dump
from tests.support.jobs import found, ids


def fill(queue: Queue, clock: Clock) -> None:
    """Make late, due and waiting jobs of many priorities, and some that are not due yet."""
    queue.put(1, id="late", priority=3)
    queue.put(1, id="later", priority=2)
    queue.pop("w1", lease=8)
    queue.pop("w1", lease=6)
    queue.put(1, id="due", priority=-1, delay=10)
    queue.put(1, id="waiting")
    queue.put(1, id="too", priority=-1)
    queue.put(1, id="not due", priority=-5, delay=11)
    clock.tick(10)


@proves("Q-46")
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 10])
def test_peek_shows_the_jobs_that_pop_then_hands_out(
    queue: Queue, clock: Clock, count: int
) -> None:
    fill(queue, clock)

    shown = ids(queue.peek(count))

    assert shown == ["late", "later", "due", "too", "waiting"][:count]
    assert ids(queue.pop("w2", count=count)) == shown


@proves("Q-46", "QD-19")
def test_peek_changes_neither_owner_nor_history_nor_statistics(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    fill(queue, clock)
    held, waiting, stats = hr.job("late"), hr.job("waiting"), queue.stats()

    queue.peek(10)

    assert (hr.job("late"), hr.job("waiting"), queue.stats()) == (held, waiting, stats)
    assert queue.counts().running == 2


@proves("QD-19")
def test_peek_makes_only_due_jobs_waiting(hr: Client, queue: Queue, clock: Clock) -> None:
    fill(queue, clock)

    queue.peek()

    assert (found(hr, "due").state, found(hr, "not due").state) == ("waiting", "scheduled")
    assert found(hr, "due").history[0].popped is None


@proves("QD-19")
def test_a_second_peek_changes_nothing_at_all(hr: Client, queue: Queue, clock: Clock) -> None:
    fill(queue, clock)
    queue.peek()
    before = dump(hr)

    queue.peek(10)

    assert dump(hr) == before


def test_peek_does_not_change_the_waiting_time_of_a_due_job(queue: Queue, clock: Clock) -> None:
    queue.put(1, delay=10)
    clock.tick(15)
    queue.peek()
    clock.tick(5)
    queue.pop("w1")

    assert queue.stats().wait.mean == 10


@proves("Q-41")
def test_peek_at_an_empty_queue_is_an_empty_list(hr: Client, queue: Queue) -> None:
    before = dump(hr)

    assert queue.peek(5) == []

    assert dump(hr) == before


@proves("Q-46")
@pytest.mark.parametrize("exhausted", [1, 3, 150])
def test_peek_leaves_out_jobs_that_pop_would_fail(
    queue: Queue, clock: Clock, exhausted: int
) -> None:
    for _ in range(exhausted):
        queue.put(1, retries=0)
    queue.pop("w1", count=exhausted, lease=1)
    queue.put(1, id="late")
    queue.pop("w1", lease=2)
    queue.put(1, id="waiting", priority=-1)
    clock.tick(2)

    shown = ids(queue.peek(1))

    assert shown == ids(queue.pop("w2")) == ["late"]


@proves("Q-46")
@pytest.mark.parametrize("expired", [1, 3, 150])
def test_peek_leaves_out_expired_jobs(queue: Queue, clock: Clock, expired: int) -> None:
    for _ in range(expired):
        queue.put(1, start_within=1)
    queue.put(1, id="next")
    clock.tick(1)

    shown = ids(queue.peek(1))

    assert shown == ids(queue.pop("w2")) == ["next"]


@proves("Q-46")
def test_peek_shows_jobs_of_a_dead_worker_in_pop_order(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    hr.session("dead", ttl=3)
    queue.put(1, id="first")
    queue.put(1, id="second")
    queue.pop("dead")
    clock.tick(3)

    shown = ids(queue.peek(2))

    assert shown == ids(queue.pop("w2", count=2)) == ["first", "second"]


@proves("QD-12")
@pytest.mark.parametrize("count", [0, -1, 1001, 1.0, True, "1", None])
def test_a_count_is_a_whole_number_from_1_to_1000(queue: Queue, count: Any) -> None:
    with pytest.raises(InvalidArgument, match="count"):
        queue.peek(count)
