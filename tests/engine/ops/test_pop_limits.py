"""pop: jobs without retries left, and a bounded amount of work per call."""

from __future__ import annotations

import pytest

from headrace import Client, Queue
from headrace.testing import Clock
from tests.proof import proves
from tests.support.jobs import drain, found, ids, pop_one

EXHAUSTED = "retries exhausted"


@proves("QL-03")
def test_a_lost_lease_costs_one_of_five_retries(queue: Queue, clock: Clock) -> None:
    queue.put(1)

    for left in (5, 5, 4, 3, 2, 1):
        job = queue.peek()[0]
        assert (job.retries, job.remaining) == (5, left)
        queue.pop("w1", lease=1)
        clock.tick(1)

    assert queue.peek() == []


@proves("QL-03")
def test_a_job_without_retries_left_is_failed_instead_of_handed_out(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.put(1, id="x", retries=1)
    queue.put(1, id="next")
    queue.pop("killed", lease=1)
    clock.tick(1)
    queue.pop("killed too", lease=1)
    clock.tick(1)

    assert ids(queue.pop("w3", count=2)) == ["next"]

    job = found(hr, "x")
    assert job.state == "failed"
    assert job.failure is not None
    assert (job.failure.type, job.failure.worker) == (EXHAUSTED, "killed too")
    assert "attempt 2" in job.failure.message
    assert hr.failures.counts() == {EXHAUSTED: 1}
    assert (queue.stats().retries, queue.stats().failures) == (2, 1)


@proves("QL-03")
def test_job_without_a_retry_limit_always_comes_back(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.put(1, id="x", retries=None)

    for attempt in range(1, 31):
        assert pop_one(queue, lease=1).attempt == attempt
        clock.tick(1)

    assert (found(hr, "x").retries, found(hr, "x").remaining) == (None, None)


@proves("QL-03")
def test_a_release_costs_no_retry(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x", retries=0)

    for _ in range(3):
        pop_one(queue).release()

    assert (found(hr, "x").remaining, found(hr, "x").releases) == (0, 3)


@pytest.mark.parametrize("failing", [1, 5, 40])
def test_jobs_that_fail_on_the_way_do_not_hide_the_next_one(
    queue: Queue, clock: Clock, failing: int
) -> None:
    for _ in range(failing):
        queue.put(1, retries=0)
    queue.pop("killed", count=failing, lease=1)
    queue.put(1, id="next")
    clock.tick(1)

    assert ids(queue.pop("w2")) == ["next"]
    assert queue.counts().failed == failing


@pytest.mark.parametrize("expired", [1, 5, 40])
def test_jobs_that_were_not_started_in_time_are_gone_and_not_in_the_way(
    hr: Client, queue: Queue, clock: Clock, expired: int
) -> None:
    for number in range(expired):
        queue.put(1, id=f"too late {number}", start_within=10)
    queue.put(1, id="next")
    clock.tick(10)

    assert drain(queue) == ["next"]
    assert hr.jobs([f"too late {number}" for number in range(expired)]) == []
    assert hr.audit().problems == []


def test_a_job_that_was_started_in_time_does_not_expire_later(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.put(1, id="x", start_within=10)
    lease = pop_one(queue)
    clock.tick(20)
    lease.release()
    clock.tick(20)
    hr.sweep()

    assert ids(queue.pop("w2")) == ["x"]
