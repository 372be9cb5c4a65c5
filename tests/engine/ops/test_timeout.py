"""timeout: an operator revokes leases at once."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Client, JobNotFound, LeaseLost, Queue, WrongState
from tests.proof import proves
from tests.support.dump import dump
from tests.support.jobs import drain, found, pop_one


@proves("QL-22")
def test_timed_out_job_returns_to_the_front_and_its_holder_loses_it(
    hr: Client, queue: Queue
) -> None:
    queue.put(1, id="x")
    queue.put(1, id="y")
    lease = pop_one(queue)

    assert hr.timeout("x") == ["waiting"]

    job = found(hr, "x")
    assert (job.state, job.worker, job.expires, job.remaining) == ("waiting", "", None, 5)
    assert job.history[0].outcome == "lost"
    with pytest.raises(LeaseLost):
        lease.complete()
    assert drain(queue, "w2") == ["x", "y"]


@proves("QL-22")
def test_several_timed_out_jobs_return_in_their_old_order(hr: Client, queue: Queue) -> None:
    names = queue.put_many(range(4))
    queue.pop("w1", count=3)

    hr.timeout(names[2], names[0], names[1])

    assert drain(queue) == names


@proves("QL-22")
def test_timed_out_job_comes_before_jobs_of_better_priority(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x", priority=5)
    queue.put(1, id="y", priority=5)
    queue.pop("w1", count=2)
    queue.put(1, id="better", priority=-1e9)

    hr.timeout("y")
    hr.timeout("x")

    assert [job.id for job in queue.peek(3)] == ["x", "y", "better"]
    assert not hr.audit().problems
    assert drain(queue, "w2") == ["x", "y", "better"]


@proves("QL-22")
@pytest.mark.parametrize("limits", [{"fair": True}, {"key_concurrency": 9}])
def test_timed_out_job_comes_before_the_jobs_of_other_lanes(
    hr: Client, queue: Queue, limits: dict[str, Any]
) -> None:
    queue.configure(**limits)
    queue.put(1, id="x", key="a", priority=5)
    pop_one(queue)
    queue.put(1, id="better", key="a", priority=-1e9)
    queue.put(1, id="other", key="b", priority=-2e9)

    hr.timeout("x")

    assert queue.peek(3)[0].id == "x"
    assert not hr.audit().problems
    assert drain(queue, "w2")[0] == "x"


@proves("QL-22")
def test_holder_is_notified(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x")
    lease = pop_one(queue, worker="w1")
    subscription = hr.core.transport.subscribe([hr.core.channel(0, "worker", "w1")])

    hr.timeout("x")

    [(_, message)] = subscription.receive(5)
    assert b"lost" in message
    assert lease.token.encode() in message
    subscription.disconnect()


@proves("QL-22")
def test_each_id_has_its_own_answer_and_a_refusal_changes_nothing(hr: Client, queue: Queue) -> None:
    queue.put(1, id="waits")
    before = dump(hr)

    waits, nobody = hr.timeout("waits", "nobody")

    assert isinstance(waits, WrongState)
    assert isinstance(nobody, JobNotFound)
    assert dump(hr) == before
