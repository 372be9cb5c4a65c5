"""The waiting time of a job starts when the job last became available and ends at its pop."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace import Client, Queue
from headrace.testing import Clock
from tests.proof import proves
from tests.support.jobs import pop_one

Story = Callable[[Client, Queue, Clock], None]


def put(_hr: Client, queue: Queue, _clock: Clock) -> None:
    queue.put(1, id="x")


def put_again(_hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put(1, id="x")
    clock.tick(50)
    queue.put(1, id="x")


def become_due(_hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put(1, id="x", delay=50)
    clock.tick(50)


def be_released(_hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put(1, id="x")
    lease = pop_one(queue, worker="before")
    clock.tick(50)
    lease.release()


def be_released_for_later(_hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put(1, id="x")
    pop_one(queue, worker="before").release(delay=50)
    clock.tick(50)


def lose_its_lease(_hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put(1, id="x")
    pop_one(queue, worker="before", lease=50)
    clock.tick(50)


def lose_its_worker(hr: Client, queue: Queue, clock: Clock) -> None:
    hr.session("before", ttl=50)
    queue.put(1, id="x")
    pop_one(queue, worker="before", lease=1000)
    clock.tick(50)
    hr.sweep()


def be_timed_out(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put(1, id="x")
    pop_one(queue, worker="before")
    clock.tick(50)
    hr.timeout("x")


def be_tried_again(_hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put(1, id="x")
    lease = pop_one(queue, worker="before")
    lease.fail("flaky", retry_in=50)
    clock.tick(50)


def be_unfailed(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put(1, id="x")
    pop_one(queue, worker="before").fail("broken")
    clock.tick(50)
    hr.retry("x")


def be_requeued(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put(1, id="x")
    clock.tick(50)
    hr.requeue("x")


def move_on(hr: Client, _queue: Queue, clock: Clock) -> None:
    earlier = hr.queue("earlier")
    earlier.put(1, id="x")
    clock.tick(50)
    pop_one(earlier, worker="before").complete(next="mail")


STORIES: list[Story] = [
    put,
    put_again,
    become_due,
    be_released,
    be_released_for_later,
    lose_its_lease,
    lose_its_worker,
    be_timed_out,
    be_tried_again,
    be_unfailed,
    be_requeued,
    move_on,
]


@proves("Q-99", "Q-90")
@pytest.mark.parametrize("story", STORIES)
def test_a_job_waits_from_when_it_last_became_available(
    hr: Client, queue: Queue, clock: Clock, story: Story
) -> None:
    story(hr, queue, clock)
    clock.tick(7)

    queue.pop("after")

    [popped] = [event for event in hr.events() if (event.kind, event.worker) == ("popped", "after")]
    assert popped.wait == 7000
    assert queue.stats().wait.bins["s7"] == 1


@proves("Q-99")
def test_reading_and_reprioritising_do_not_restart_the_waiting_time(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.put(1, id="x", delay=10)
    clock.tick(13)
    queue.peek()
    hr.sweep()
    hr.prioritise("x", -1)
    clock.tick(4)

    queue.pop("w1")

    assert queue.stats().wait.mean == 7


@proves("Q-90")
def test_running_time_is_from_pop_to_finish_despite_renewals(queue: Queue, clock: Clock) -> None:
    queue.put(1)
    clock.tick(100)
    lease = pop_one(queue)
    clock.tick(4)
    lease.heartbeat()
    clock.tick(4)
    lease.complete()

    assert (queue.stats().run.count, queue.stats().run.mean) == (1, 8)


@proves("Q-90")
def test_only_completed_runs_are_counted(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put_many([1, 2, 3])
    first, second, third = queue.pop("w1", count=3)
    clock.tick(5)
    first.fail("broken")
    second.release()
    hr.cancel(third.id)

    assert queue.stats().run.count == 0


@proves("Q-90")
def test_a_clock_that_was_set_back_makes_no_negative_times(queue: Queue, clock: Clock) -> None:
    queue.put(1)
    clock.tick(-100)
    lease = pop_one(queue)
    clock.tick(-100)
    lease.complete()

    stats = queue.stats()
    assert (stats.wait.mean, stats.wait.bins) == (0, {"s0": 1})
    assert (queue.stats().run.mean, stats.run.bins) == (0, {"s0": 1})
