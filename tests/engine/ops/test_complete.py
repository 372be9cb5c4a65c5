"""complete: a job is complete, or moves to its next queue in the same step."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from headrace import Client, Queue, Stage
from headrace.testing import Clock
from tests.proof import proves
from tests.support.dump import dump
from tests.support.jobs import drain, found, ids, pop_one

SECOND = timedelta(seconds=1)


@proves("Q-60", "Q-61", "QD-01")
def test_the_holder_completes_its_job_with_nothing_but_its_lease(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x")

    assert pop_one(queue).complete() == "complete"

    assert found(hr, "x").state == "complete"


@proves("Q-63")
def test_complete_job_has_no_holder_and_no_queue(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put(1, id="x")
    lease = pop_one(queue)
    clock.tick(7)
    lease.complete()

    job = found(hr, "x")
    assert (job.state, job.worker, job.queue, job.expires) == ("complete", "", None, None)
    assert job.history == [
        Stage("mail", clock.now - 7 * SECOND, clock.now - 7 * SECOND, clock.now, "w1", "completed")
    ]
    assert (queue.counts().length, queue.counts().complete) == (0, 1)


@proves("Q-61", "Q-64")
@pytest.mark.parametrize("target", ["archive", "mail"])
def test_a_job_moves_on_to_its_next_queue(hr: Client, queue: Queue, target: str) -> None:
    queue.put("data", id="x", priority=-3, tags=["vip"])

    assert pop_one(queue).complete(next=target) == "waiting"

    job = found(hr, "x")
    assert (job.state, job.queue, job.worker) == ("waiting", target, "")
    assert (job.priority, job.tags, job.data) == (-3, ["vip"], "data")
    assert [stage.outcome for stage in job.history] == ["completed", None]
    assert job.history[-1].queue == target
    assert ids(hr.queue(target).pop("w2")) == ["x"]
    assert queue.counts().complete == 0


@proves("Q-61", "Q-64")
def test_a_job_may_move_on_after_a_delay(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put(1, id="x")

    assert pop_one(queue).complete(next="archive", delay=10) == "scheduled"

    assert found(hr, "x").due == clock.now + 10 * SECOND
    clock.tick(9.999)
    assert hr.queue("archive").pop("w2") == []
    clock.tick(0.001)
    assert ids(hr.queue("archive").pop("w2")) == ["x"]


@proves("Q-64")
def test_moved_job_is_behind_the_jobs_that_wait_there(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x")
    lease = pop_one(queue)
    hr.queue("archive").put(1, id="first")

    lease.complete(next="archive")

    assert drain(hr.queue("archive")) == ["first", "x"]


@proves("QL-03")
def test_a_job_that_moves_on_has_all_its_retries_again(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x", retries=2)
    pop_one(queue).fail("flaky", retry_in=0)
    pop_one(queue).complete(next="archive")

    assert found(hr, "x").remaining == 2


@proves("Q-65")
@pytest.mark.parametrize("target", [None, "archive"])
@pytest.mark.parametrize("data", [{"done": True}, None, [], "x" * 5000])
def test_completing_may_replace_the_data(
    hr: Client, queue: Queue, target: str | None, data: Any
) -> None:
    queue.put("old", id="x")

    pop_one(queue).complete(data=data, next=target)

    assert found(hr, "x").data == data


@proves("Q-66", "Q-90")
def test_the_running_time_is_booked_for_the_queue_it_ran_in(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.put(1)
    lease = pop_one(queue)
    clock.tick(12)
    lease.complete(next="archive")

    run = queue.stats().run
    assert (run.count, run.mean) == (1, 12)
    assert hr.queue("archive").stats().run.count == 0


@proves("Q-67")
def test_completion_prunes_surplus_jobs_at_once(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.configure(keep_count=2)
    for name in "abc":
        queue.put(1, id=name)
        pop_one(queue).complete()
        clock.tick(1)

    assert ids(queue.jobs("complete").jobs) == ["c", "b"]
    assert hr.job("a") is None


@proves("QD-13")
def test_completion_by_lease_leaves_nothing_in_the_queue(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x")
    pop_one(queue).complete(next="archive")
    pop_one(hr.queue("archive")).complete()

    assert (queue.length(), hr.queue("archive").length()) == (0, 0)
    assert not [key for key in dump(hr) if ":running:" in key or ":held:" in key]
    assert hr.audit().problems == []
