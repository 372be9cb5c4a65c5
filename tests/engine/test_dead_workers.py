"""Dead workers: other clients notice them, and their jobs return to their old position."""

from __future__ import annotations

import pytest

from headrace import Client, LeaseLost, Put, Queue
from headrace.testing import Clock, open_with_clock
from tests.proof import proves
from tests.support.channels import listening
from tests.support.jobs import drain, found, ids, pop_one
from tests.support.sessions import lapse, serving


@proves("W-01", "W-03", "W-36", "W-38", "WD-01", "WD-02")
def test_pop_delivers_jobs_of_a_dead_worker_first_and_in_order(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.configure(profile="task")
    serving(hr, "one", queue)
    serving(hr, "two", queue)
    peer = serving(hr, "peer", queue)
    put = queue.put_many(range(8))
    for worker in ("one", "two", "one", "two"):
        queue.pop(worker)

    lapse(clock, peer)

    assert drain(queue, "peer") == put
    assert [event.reason for event in hr.events() if event.kind == "lost"] == ["session ended"] * 4


@proves("W-36")
def test_the_front_is_the_front_of_its_priority(hr: Client, queue: Queue, clock: Clock) -> None:
    hr.session("dead")
    queue.put_many([Put(None, id="a", priority=1), Put(None, id="b", priority=0)])
    queue.pop("dead", count=2)
    queue.put_many([Put(None, id="c", priority=1), Put(None, id="d", priority=0)])
    clock.tick(3)

    assert drain(queue, "peer") == ["b", "d", "a", "c"]


@proves("W-38")
def test_pop_on_another_queue_reclaims_jobs_of_a_dead_worker(
    hr: Client, queue: Queue, clock: Clock, url: str
) -> None:
    hr.session("dead")
    queue.put("x")
    pop_one(queue, "dead")
    clock.tick(3)
    with listening(hr, url, "queue:mail") as workers:
        assert hr.queue("other").pop("peer") == []

        assert workers.messages() == ["work 1"]
    assert queue.counts().waiting == 1


@proves("W-05", "W-41", "WD-16")
def test_job_has_one_holder_at_a_time_and_the_log_has_the_reason(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.configure(profile="task")
    serving(hr, "dead", queue)
    peer = serving(hr, "peer", queue)
    job_id = queue.put("x")
    former = pop_one(queue, "dead")
    assert queue.pop("peer") == []
    lapse(clock, peer)

    present = pop_one(queue, "peer")

    with pytest.raises(LeaseLost):
        former.complete()
    assert present.complete() == "complete"
    events = [event for event in hr.events() if event.kind != "configured"]
    story = [(event.kind, event.worker, event.attempt) for event in events]
    assert story == [
        ("put", "", 0),
        ("popped", "dead", 1),
        ("lost", "dead", 1),
        ("popped", "peer", 2),
        ("completed", "peer", 2),
    ]
    assert {event.job_id for event in events} == {job_id}


@proves("W-03")
@pytest.mark.parametrize("profile", ["job", "task"])
def test_very_many_jobs_of_a_dead_worker_all_return_in_order(
    hr: Client, queue: Queue, clock: Clock, profile: str
) -> None:
    queue.configure(profile=profile)
    serving(hr, "dead", queue)
    peer = serving(hr, "peer", queue)
    put = queue.put_many(range(700))
    queue.pop("dead", count=500)
    queue.pop("dead", count=100)
    lapse(clock, peer)

    served: list[str] = []
    while leases := queue.pop("peer", count=70):
        served += ids(leases)

    assert served == put
    assert [worker.name for worker in hr.workers.list()] == ["peer"]
    assert hr.audit().balanced


@proves("WD-14")
def test_a_job_that_kills_its_workers_is_failed_when_its_retries_are_used_up(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    job_id = queue.put("poison", retries=2)
    for attempt in (1, 2, 3):
        worker = serving(hr, f"w{attempt}", queue)
        lease = pop_one(queue, worker.worker)
        assert (lease.attempt, lease.job.remaining) == (attempt, 3 - attempt)
        clock.tick(3)

    assert queue.pop("peer") == []

    job = found(hr, job_id)
    assert (job.state, job.remaining) == ("failed", 0)
    assert job.failure is not None
    assert job.failure.type == "retries exhausted"
    assert job.failure.message == "session ended with worker w3 on attempt 3"
    assert job.failure.worker == "w3"
    assert hr.failures.counts() == {"retries exhausted": 1}


@proves("WD-14")
@pytest.mark.parametrize("profile", ["job", "task"])
def test_a_job_without_a_limit_is_never_failed(
    hr: Client, queue: Queue, clock: Clock, profile: str
) -> None:
    queue.configure(profile=profile)
    job_id = queue.put("poison", retries=None) if profile == "job" else queue.put("poison")

    for attempt in range(1, 51):
        serving(hr, "victim", queue)
        assert pop_one(queue, "victim").attempt == attempt
        clock.tick(3)
        hr.sweep()

    assert found(hr, job_id).state == "waiting"


@proves("WD-14")
def test_the_task_profile_takes_a_limit_on_request(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.configure(profile="task")
    assert queue.settings()["retries"] is None
    job_id = queue.put("poison", retries=0)
    serving(hr, "victim", queue)
    pop_one(queue, "victim")
    clock.tick(3)

    hr.sweep()

    assert found(hr, job_id).state == "failed"


def test_worker_without_a_session_only_has_its_deadline(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    job_id = queue.put("x")
    lease = pop_one(queue, "nobody", lease=60)

    clock.tick(59.999)
    hr.sweep()
    assert queue.pop("peer") == []
    clock.tick(0.001)

    assert ids(queue.pop("peer")) == [job_id]
    with pytest.raises(LeaseLost):
        lease.complete()


def test_a_live_session_does_not_protect_a_lease_that_ran_out(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    session = serving(hr, "slow", queue)
    job_id = queue.put("x")
    pop_one(queue, "slow", lease=2)
    clock.tick(2)
    session.renew()

    assert ids(queue.pop("peer")) == [job_id]


def test_long_job_is_not_reclaimed_while_its_lease_is_renewed(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    session = serving(hr, "slow", queue)
    queue.put("x")
    lease = pop_one(queue, "slow", lease=2)

    for _ in range(100):
        clock.tick(1)
        session.renew()
        lease.heartbeat(lease_for=2)
        assert queue.pop("peer") == []

    assert lease.complete() == "complete"


def test_end_of_a_session_ends_its_unexpired_leases(hr: Client, queue: Queue, clock: Clock) -> None:
    hr.session("dead")
    job_id = queue.put("x")
    pop_one(queue, "dead", lease=3600)
    clock.tick(2.999)
    assert queue.pop("peer") == []
    clock.tick(0.001)

    assert ids(queue.pop("peer")) == [job_id]


def test_a_lease_that_ran_out_but_was_not_taken_may_be_renewed(queue: Queue, clock: Clock) -> None:
    queue.put("x")
    lease = pop_one(queue, "slow", lease=10)
    clock.tick(60)

    lease.heartbeat(lease_for=10)

    assert queue.pop("peer") == []
    assert lease.complete() == "complete"


def test_dead_workers_are_noticed_on_every_shard(url: str) -> None:
    hr, clock = open_with_clock(url, shards=3)
    with hr:
        queue = hr.queue("mail")
        hr.session("dead")
        put = queue.put_many(range(30))
        queue.pop("dead", count=30)
        clock.tick(3)

        assert sorted(ids(queue.pop("peer", count=30))) == sorted(put)
        assert hr.workers.list() == []
