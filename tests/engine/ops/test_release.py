"""release: returns a job to the front or the back, at once or with a delay, at no retry."""

from __future__ import annotations

import pytest

from headrace import Client, Put, Queue, WrongState
from headrace.testing import Clock
from tests.proof import proves
from tests.support.dump import dump
from tests.support.jobs import drain, found, ids, pop_one


@proves("TD-16")
@pytest.mark.parametrize(("position", "order"), [("front", "a b c"), ("back", "b c a")])
def test_a_job_goes_back_to_the_front_or_the_back(queue: Queue, position: str, order: str) -> None:
    queue.put_many([Put(None, id=name) for name in "abc"])

    assert pop_one(queue).release(position=position) == "waiting"

    assert drain(queue) == order.split()


@proves("TD-16")
@pytest.mark.parametrize(("profile", "order"), [("job", "a b"), ("ring", "a b"), ("manual", "b a")])
def test_queue_setting_decides_the_position_by_default(
    queue: Queue, profile: str, order: str
) -> None:
    queue.configure(profile=profile)
    queue.put_many([Put(None, id="a"), Put(None, id="b")])

    pop_one(queue).release()

    assert drain(queue) == order.split()


@proves("WD-01", "WD-02")
def test_jobs_returned_to_the_front_keep_their_original_order(queue: Queue) -> None:
    queue.put_many([Put(None, id=name) for name in "abcdef"])
    mine, theirs = queue.pop("mine", count=2), queue.pop("theirs", count=2)

    for lease in (theirs[1], mine[0], theirs[0], mine[1]):
        lease.release(position="front")

    assert drain(queue) == list("abcdef")


def test_jobs_at_the_back_are_in_the_order_of_their_return(hr: Client, queue: Queue) -> None:
    queue.put_many([Put(None, id=name) for name in "abcd"])
    first, second, third = queue.pop("w", count=3)

    hr.leases.release([third, first, second], position="back")

    assert drain(queue) == list("dcab")


def test_the_front_is_the_front_of_its_priority(queue: Queue) -> None:
    queue.put_many([Put(None, id="late", priority=1), Put(None, id="soon", priority=-1)])
    soon, late = queue.pop("w", count=2)

    late.release(position="front")
    soon.release(position="back")

    assert drain(queue) == ["soon", "late"]


def test_a_release_may_be_delayed(queue: Queue, clock: Clock) -> None:
    queue.put("x")
    lease = pop_one(queue)

    assert lease.release(delay=5) == "scheduled"

    clock.tick(4.999)
    assert queue.pop("w") == []
    clock.tick(0.001)
    assert ids(queue.pop("w")) == [lease.id]


def test_a_release_costs_no_retry_but_is_counted(hr: Client, queue: Queue) -> None:
    job_id = queue.put("x", retries=0)

    for times in range(3):
        lease = pop_one(queue)
        assert (lease.attempt, lease.job.releases) == (times + 1, times)
        lease.release()

    job = found(hr, job_id)
    assert (job.state, job.remaining, job.releases) == ("waiting", 0, 3)


@pytest.mark.parametrize("state", ["waiting", "scheduled", "failed", "complete"])
def test_job_that_is_not_running_cannot_be_released(hr: Client, queue: Queue, state: str) -> None:
    queue.put("x", id="a", delay=5 if state == "scheduled" else 0)
    if state == "failed":
        hr.fail("a", "no ink")
    elif state == "complete":
        pop_one(queue).complete()
    before = dump(hr)

    with pytest.raises(WrongState):
        hr.release("a")

    assert dump(hr) == before
