"""Leases that last as long as the worker's session, and scheduled jobs."""

from __future__ import annotations

import math
from datetime import timedelta

import pytest

from headrace import Client, LeaseLost, Put, Queue, SessionRequired
from headrace.testing import START, Clock
from tests.support.dump import dump

FOREVER = 10 * 365 * 86_400


def test_job_stays_with_its_worker_while_the_session_lives(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    hr.session("w1", ttl=None)
    queue.put(1, id="x")
    [lease] = queue.pop("w1", lease=math.inf)
    clock.tick(FOREVER)

    assert queue.pop("w2") == []
    job = hr.job("x")
    assert job is not None
    assert (job.worker, job.expires) == ("w1", None)
    assert queue.counts().late == 0
    assert lease.complete() == "complete"
    assert hr.audit().balanced


def test_job_comes_back_when_the_session_ends(hr: Client, queue: Queue, clock: Clock) -> None:
    hr.session("w1", ttl=3)
    queue.put(1)
    [lease] = queue.pop("w1", lease=math.inf)
    clock.tick(3)

    [second] = queue.pop("w2")

    assert second.attempt == 2
    with pytest.raises(LeaseLost):
        lease.complete()


def test_pop_without_a_session_is_refused_and_changes_nothing(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    hr.session("w1", ttl=3)
    queue.put(1)
    clock.tick(3)
    hr.sweep()
    before = dump(hr)

    for worker in ("w1", "nobody"):
        with pytest.raises(SessionRequired):
            queue.pop(worker, lease=math.inf)

    assert dump(hr) == before


@pytest.mark.parametrize("profile", ["ring", "manual"])
def test_queue_that_ignores_sessions_uses_its_own_lease(
    hr: Client, queue: Queue, clock: Clock, profile: str
) -> None:
    queue.configure(profile, lease=30)
    queue.put(1, id="x")

    queue.pop("w1", lease=math.inf)

    job = hr.job("x")
    assert job is not None
    assert job.expires == clock.now + timedelta(seconds=30)


def test_limits_count_the_job_until_the_session_ends(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.configure(concurrency=1)
    hr.session("w1", ttl=3)
    queue.put_many([1, 2])
    assert len(queue.pop("w1", count=2, lease=math.inf)) == 1
    assert queue.pop("w2") == []
    clock.tick(3)

    assert len(queue.pop("w2", count=2)) == 1
    assert hr.audit().balanced


def test_heartbeat_sets_a_deadline_only_if_one_is_given(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    hr.session("w1", ttl=None)
    queue.put(1)
    [lease] = queue.pop("w1", lease=math.inf)

    assert lease.heartbeat() is None
    assert lease.heartbeat(lease_for=5) == clock.now + timedelta(seconds=5)
    assert lease.heartbeat() == clock.now + timedelta(seconds=60)


def test_a_job_put_for_a_time_is_due_then_by_the_clock_of_the_server(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    clock.tick(10)
    job_id = queue.put(1, at=START + timedelta(seconds=40))

    job = hr.job(job_id)
    assert job is not None
    assert (job.state, job.due) == ("scheduled", START + timedelta(seconds=40))
    clock.tick(29.999)
    assert queue.pop("w") == []
    clock.tick(0.001)
    assert [lease.id for lease in queue.pop("w")] == [job_id]


def test_job_put_at_a_past_time_is_due_now(queue: Queue, clock: Clock) -> None:
    clock.tick(100)
    queue.put(1, at=START)

    assert queue.counts().waiting == 1


def test_items_have_times_or_delays_of_their_own(hr: Client, queue: Queue) -> None:
    at = START + timedelta(seconds=50)
    ids = queue.put_many(
        [Put(1), Put(2, delay=5), Put(3, at=START + timedelta(seconds=7)), Put(4, delay=0)], at=at
    )

    found = hr.jobs(ids)

    seconds = [(job.due - START).total_seconds() if job.due else None for job in found]
    assert seconds == [50, 5, 7, None]
