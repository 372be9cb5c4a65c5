"""cancel: delete jobs in any state but complete."""

from __future__ import annotations

import pytest

from headrace import Client, InvalidArgument, JobNotFound, Queue
from headrace.testing import Clock
from tests.proof import proves
from tests.support.dump import dump
from tests.support.jobs import drain, found, pop_one

NAME = "unmistakable"


def bring(queue: Queue, state: str) -> None:
    queue.put("x" * 5000, id=NAME, delay=10 if state == "scheduled" else 0, start_within=60)
    if state in ("running", "failed"):
        lease = pop_one(queue, lease=30)
        lease.log("line")
        lease.progress(0.5, "half")
        if state == "failed":
            lease.fail("broken")


@proves("QL-01", "QD-15")
@pytest.mark.parametrize("state", ["waiting", "scheduled", "running", "failed"])
def test_cancelled_job_leaves_no_key(hr: Client, queue: Queue, clock: Clock, state: str) -> None:
    bring(queue, state)
    assert found(hr, NAME).state == state

    assert hr.cancel(NAME) == [NAME]

    assert hr.job(NAME) is None
    assert (queue.length(), queue.counts().failed, hr.failures.counts()) == (0, 0, {})
    leftover = [key for key, content in dump(hr).items() if NAME in f"{key} {content}"]
    assert [key.rpartition("}:")[2] for key in leftover] == ["events"]
    clock.tick(100)
    assert queue.pop("w2") == []
    assert hr.audit().problems == []


@proves("QL-01")
def test_the_holder_of_a_cancelled_job_finds_it_gone(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x")
    lease = pop_one(queue)
    hr.cancel("x")
    before = dump(hr)

    for operation in (lease.heartbeat, lease.complete, lease.release):
        with pytest.raises(JobNotFound):
            operation()

    assert dump(hr) == before


@proves("QL-01")
def test_a_complete_job_is_left_alone(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x")
    pop_one(queue).complete()
    before = dump(hr)

    assert hr.cancel("x") == []

    assert dump(hr) == before


@proves("QL-01")
def test_cancel_ignores_unknown_ids(hr: Client) -> None:
    before = dump(hr)

    assert hr.cancel("nobody", "nothing") == []

    assert dump(hr) == before


@proves("QL-01")
def test_many_are_cancelled_in_one_call(hr: Client, queue: Queue) -> None:
    names = queue.put_many(range(600))
    kept = names.pop(300)

    assert hr.cancel(*names, "nobody") == names

    assert drain(queue) == [kept]


@proves("QL-01")
def test_the_same_id_twice_is_cancelled_once(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x")

    assert hr.cancel("x", "x") == ["x"]
    assert hr.audit().problems == []


def test_an_id_can_be_put_again_after_it_was_cancelled(hr: Client, queue: Queue) -> None:
    queue.put("x" * 5000, id="x", priority=5, tags=["vip"])
    hr.cancel("x")
    queue.put(1, id="x")

    job = found(hr, "x")
    assert (job.data, job.priority, job.tags, len(job.history)) == (1, 0, [], 1)


@proves("Q-04")
def test_a_wrong_id_is_refused_before_any_is_cancelled(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x")
    before = dump(hr)

    with pytest.raises(InvalidArgument):
        hr.cancel("x", "")

    assert dump(hr) == before
