"""counts: the number of jobs of a queue in each state."""

from __future__ import annotations

from headrace import Client, Counts, Queue
from headrace.engine.states import STATES
from headrace.testing import Clock
from tests.proof import proves
from tests.support.dump import dump
from tests.support.jobs import pop_one


def fill(queue: Queue) -> None:
    """Create one job in the first state, two jobs in the second state, and so on."""
    for _ in range(5):
        queue.put(1)
        pop_one(queue).complete()
    for _ in range(4):
        queue.put(1)
        pop_one(queue).fail("broken")
    queue.put_many(range(3))
    queue.pop("w1", count=3, lease=30)
    queue.put_many(range(2), delay=10)
    queue.put(1)


@proves("Q-85", "QL-17")
def test_every_job_is_counted_in_its_one_state(queue: Queue) -> None:
    fill(queue)

    assert queue.counts() == Counts(
        waiting=1,
        scheduled=2,
        blocked=0,
        running=3,
        failed=4,
        complete=5,
        late=0,
        due=0,
        paused=False,
    )


@proves("Q-85")
def test_a_job_is_listed_in_one_state_only(queue: Queue, clock: Clock) -> None:
    fill(queue)
    clock.tick(30)
    queue.pop("w2", count=2)

    listed = [job.id for state in STATES for job in queue.jobs(state).jobs]

    assert len(listed) == len(set(listed)) == 15


@proves("Q-86", "QL-17")
def test_length_counts_waiting_scheduled_and_running_jobs(queue: Queue) -> None:
    fill(queue)

    assert queue.length() == queue.counts().length == 6


@proves("QL-17")
def test_late_and_due_jobs_are_counted_from_their_time_on(queue: Queue, clock: Clock) -> None:
    fill(queue)

    clock.tick(10)
    assert (queue.counts().due, queue.counts().late) == (2, 0)
    clock.tick(20)
    assert (queue.counts().scheduled, queue.counts().late, queue.counts().running) == (2, 3, 3)


@proves("QL-17")
def test_counting_an_unused_queue_does_not_create_it(hr: Client) -> None:
    before = dump(hr)

    counts = hr.queue("unknown").counts()

    assert counts == Counts(0, 0, 0, 0, 0, 0, late=0, due=0, paused=False)
    assert dump(hr) == before
