"""prioritise: changes the priority of a job, and its position."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Client, InvalidArgument, JobNotFound, Queue, WrongState
from headrace.testing import Clock
from tests.proof import proves
from tests.support.dump import dump
from tests.support.jobs import drain, found, pop_one


@proves("Q-28")
def test_waiting_job_moves_to_its_new_position(hr: Client, queue: Queue) -> None:
    for name in "abcd":
        queue.put(1, id=name)

    assert hr.prioritise("c", -1) == "waiting"
    assert hr.prioritise("a", 1) == "waiting"

    assert drain(queue) == ["c", "b", "d", "a"]
    assert hr.audit().problems == []


@proves("Q-29")
def test_jobs_of_equal_priority_keep_their_put_order_after_a_change(
    hr: Client, queue: Queue
) -> None:
    queue.put(1, id="first", priority=3)
    queue.put(1, id="second")
    queue.put(1, id="third", priority=-3)

    hr.prioritise("third", 0)
    hr.prioritise("first", 0)

    assert drain(queue) == ["first", "second", "third"]


@pytest.mark.parametrize("state", ["scheduled", "running", "failed"])
def test_new_priority_of_a_job_that_is_not_waiting_applies_later(
    hr: Client, queue: Queue, clock: Clock, state: str
) -> None:
    queue.put(1, id="x", delay=10 if state == "scheduled" else 0)
    lease = None if state == "scheduled" else pop_one(queue)
    if lease and state == "failed":
        lease.fail("broken")
    queue.put(1, id="y")

    assert hr.prioritise("x", -5) == state

    if lease and state == "running":
        lease.release()
    if state == "failed":
        hr.retry("x")
    clock.tick(10)
    assert found(hr, "x").priority == -5
    assert drain(queue) == ["x", "y"]


def test_complete_and_unknown_jobs_have_no_place(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x")
    pop_one(queue).complete()
    before = dump(hr)

    with pytest.raises(WrongState):
        hr.prioritise("x", 1)
    with pytest.raises(JobNotFound):
        hr.prioritise("nobody", 1)

    assert dump(hr) == before


@proves("Q-04")
@pytest.mark.parametrize("priority", ["1", None, True, float("nan"), float("-inf")])
def test_a_priority_is_a_number(hr: Client, queue: Queue, priority: Any) -> None:
    queue.put(1, id="x")
    before = dump(hr)

    with pytest.raises(InvalidArgument, match="priority"):
        hr.prioritise("x", priority)

    assert dump(hr) == before
