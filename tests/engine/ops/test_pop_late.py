"""Late jobs are handed out again in the order of their first delivery."""

from __future__ import annotations

from headrace import Client, Queue
from headrace.testing import Clock
from tests.proof import proves


@proves("Q-37", "Q-40")
def test_late_jobs_of_one_batch_keep_their_order(queue: Queue, clock: Clock) -> None:
    ids = [queue.put(number, priority=number % 2) for number in range(8)]
    in_order = ids[0::2] + ids[1::2]
    assert [lease.id for lease in queue.pop("first", count=8, lease=30)] == in_order

    clock.tick(30)

    assert [job.id for job in queue.peek(8)] == in_order
    assert [lease.id for lease in queue.pop("second", count=8)] == in_order


@proves("Q-46")
def test_peek_shows_the_job_that_pop_reclaims_next(hr: Client, queue: Queue, clock: Clock) -> None:
    first, second = queue.put("a"), queue.put("b")
    hr.session("dying", ttl=3)
    queue.pop("dying")
    clock.tick(3)

    shown = [job.id for job in queue.peek(2)]

    assert shown == [first, second]
    assert [lease.id for lease in queue.pop("peer", count=2)] == shown
