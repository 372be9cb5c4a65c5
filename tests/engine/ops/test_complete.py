"""complete: a job ends well, or moves on to its next queue in the same step."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from headrace import Client, InvalidArgument, JobNotFound, LeaseLost, Queue, Stage
from headrace.testing import Clock
from tests.dump import dump
from tests.engine.shortcuts import drain, found, ids, pop_one
from tests.proof import proves

SECOND = timedelta(seconds=1)


@proves("Q-60", "Q-61", "QD-01")
def test_the_holder_completes_its_job_with_nothing_but_its_lease(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x")

    assert pop_one(queue).complete() == "complete"

    assert found(hr, "x").state == "complete"


@proves("Q-63")
def test_a_complete_job_is_nobodys_and_in_no_queue(hr: Client, queue: Queue, clock: Clock) -> None:
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
def test_a_job_that_moves_on_is_behind_those_that_wait_there(hr: Client, queue: Queue) -> None:
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


@proves("Q-62")
def test_who_lost_the_job_cannot_complete_it(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put("old", id="x")
    lease = pop_one(queue, lease=30)
    clock.tick(30)
    queue.pop("w2")
    before = dump(hr)

    with pytest.raises(LeaseLost) as lost:
        lease.complete("result", data="new")
    with pytest.raises(LeaseLost):
        lease.complete(next="archive", delay=5)

    assert lost.value.worker == "w2"
    assert dump(hr) == before


@proves("Q-62")
def test_a_job_is_completed_once(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x")
    lease = pop_one(queue)
    lease.complete()
    before = dump(hr)

    with pytest.raises(LeaseLost) as lost:
        lease.complete()

    assert lost.value.state == "complete"
    assert dump(hr) == before


@proves("Q-62")
def test_a_cancelled_job_cannot_be_completed(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x")
    lease = pop_one(queue)
    hr.cancel("x")

    with pytest.raises(JobNotFound):
        lease.complete()


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
def test_completion_prunes_what_is_too_many_at_once(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.configure(keep_count=2)
    for name in "abc":
        queue.put(1, id=name)
        pop_one(queue).complete()
        clock.tick(1)

    assert ids(queue.jobs("complete").jobs) == ["c", "b"]
    assert hr.job("a") is None


@proves("QD-13")
def test_a_lease_knows_its_queue_so_nothing_of_it_stays_behind(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x")
    pop_one(queue).complete(next="archive")
    pop_one(hr.queue("archive")).complete()

    assert (queue.length(), hr.queue("archive").length()) == (0, 0)
    assert not [key for key in dump(hr) if ":running:" in key or ":held:" in key]
    assert hr.audit().problems == []


def test_many_jobs_are_completed_in_one_call_each_with_its_own_answer(
    hr: Client, queue: Queue
) -> None:
    queue.put_many([1, 2, 3])
    leases = queue.pop("w1", count=3)
    leases[1].fail("broken")
    hr.cancel(leases[2].id)

    done, lost, gone = hr.leases.complete(leases)

    assert done == "complete"
    assert isinstance(lost, LeaseLost)
    assert lost.state == "failed"
    assert isinstance(gone, JobNotFound)


@proves("Q-04")
@pytest.mark.parametrize(
    "options",
    [
        {"next": ""},
        {"next": 5},
        {"delay": 5},
        {"next": "archive", "delay": -1},
        {"next": "archive", "result": 1},
        {"data": 3j},
        {"result": 3j},
    ],
    ids=repr,
)
def test_a_wrong_argument_is_refused_before_anything_changes(
    hr: Client, queue: Queue, options: dict[str, Any]
) -> None:
    queue.put(1)
    lease = pop_one(queue)
    before = dump(hr)

    with pytest.raises(InvalidArgument):
        lease.complete(**options)

    assert dump(hr) == before
