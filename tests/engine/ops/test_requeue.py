"""requeue: puts an existing job into a queue as if it were new, with its data and options."""

from __future__ import annotations

from datetime import timedelta

import pytest

from headrace import Client, JobNotFound, LeaseLost, Queue
from headrace.testing import Clock
from tests.proof import proves
from tests.support.dump import dump
from tests.support.jobs import drain, found, pop_one

DATA = {"big": "x" * 5000}


def bring(queue: Queue, state: str) -> None:
    queue.put(DATA, id="x", priority=-2, tags=["vip"], delay=10 if state == "scheduled" else 0)
    if state in ("running", "failed", "complete"):
        lease = pop_one(queue)
        if state == "failed":
            lease.fail("broken")
        if state == "complete":
            lease.complete()


@proves("QL-23")
@pytest.mark.parametrize("state", ["waiting", "scheduled", "running", "failed", "complete"])
@pytest.mark.parametrize("target", [None, "other"])
def test_requeued_job_in_any_state_keeps_its_data_and_options(
    hr: Client, queue: Queue, clock: Clock, state: str, target: str | None
) -> None:
    bring(queue, state)
    assert found(hr, "x").state == state
    clock.tick(1)

    assert hr.requeue("x", target) == "waiting"

    job = found(hr, "x")
    assert (job.queue, job.data, job.priority, job.tags) == (target or "mail", DATA, -2, ["vip"])
    assert (job.remaining, job.failure, job.put_at) == (5, None, clock.now)
    assert drain(hr.queue(target or "mail")) == ["x"]
    assert hr.audit().problems == []


@proves("QL-23")
def test_a_job_that_does_not_exist_is_an_error(hr: Client) -> None:
    before = dump(hr)

    with pytest.raises(JobNotFound):
        hr.requeue("nobody", "mail")

    assert dump(hr) == before


@proves("QL-23")
def test_requeue_event_has_the_tags_of_the_job(hr: Client, queue: Queue) -> None:
    queue.put("x", id="x", tags=["vip", "new"])

    hr.requeue("x")

    assert list(hr.events())[-1].tags == '["vip","new"]'


@proves("QL-23")
def test_a_requeued_job_goes_to_the_back(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x")
    queue.put(1, id="y")

    hr.requeue("x")

    assert drain(queue) == ["y", "x"]


@proves("QL-03")
def test_a_requeued_job_has_all_its_retries_again(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x", retries=2)
    pop_one(queue).fail("flaky", retry_in=0)
    assert found(hr, "x").remaining == 1

    hr.requeue("x")

    assert found(hr, "x").remaining == 2


@proves("QL-23")
def test_a_requeue_may_be_delayed(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put(1, id="x")

    assert hr.requeue("x", delay=10) == "scheduled"

    assert found(hr, "x").due == clock.now + timedelta(seconds=10)


@proves("QL-23")
def test_the_holder_of_a_requeued_job_has_lost_it(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x")
    lease = pop_one(queue)
    hr.requeue("x")

    with pytest.raises(LeaseLost):
        lease.complete()

    assert found(hr, "x").state == "waiting"
