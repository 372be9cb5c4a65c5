"""put of an existing id: moves the job unless on_exists says otherwise."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from headrace import Client, JobExists, Lease, LeaseLost, Put, Queue
from headrace.testing import Clock
from tests.proof import proves
from tests.support.dump import dump
from tests.support.jobs import drain, found, ids, pop_one

Bring = Callable[[Queue], Lease | None]


def wait(queue: Queue) -> None:
    queue.put("old", id="x")


def schedule(queue: Queue) -> None:
    queue.put("old", id="x", delay=60)


def run(queue: Queue) -> Lease:
    queue.put("old", id="x")
    return pop_one(queue)


def fail(queue: Queue) -> None:
    run(queue).fail("broken", "why")


def complete(queue: Queue) -> None:
    run(queue).complete()


every_state = pytest.mark.parametrize("bring", [wait, schedule, run, fail, complete])


@proves("Q-21")
@every_state
def test_a_job_is_moved_out_of_any_state(hr: Client, queue: Queue, bring: Bring) -> None:
    bring(queue)

    assert hr.queue("other").put("new", id="x") == "x"

    job = found(hr, "x")
    assert (job.state, job.queue, job.data) == ("waiting", "other", "new")
    gone = queue.counts()
    assert (gone.length, gone.failed, gone.complete) == (0, 0, 0)
    assert queue.pop("w2") == []
    assert drain(hr.queue("other")) == ["x"]
    assert hr.audit().problems == []


@proves("Q-21")
@every_state
def test_a_put_into_the_same_queue_moves_to_its_back(queue: Queue, bring: Bring) -> None:
    bring(queue)
    queue.put(1, id="between")

    queue.put("new", id="x")

    assert drain(queue) == ["between", "x"]


@proves("Q-21")
def test_a_moved_job_may_be_delayed(hr: Client, queue: Queue, clock: Clock) -> None:
    wait(queue)

    hr.queue("other").put(1, id="x", delay=5)

    assert found(hr, "x").due == clock.now + timedelta(seconds=5)
    assert hr.queue("other").counts().scheduled == 1


@proves("Q-22")
@pytest.mark.parametrize("target", ["mail", "other"])
def test_the_worker_of_a_moved_job_has_lost_it(hr: Client, queue: Queue, target: str) -> None:
    lease = run(queue)
    hr.queue(target).put("new", id="x")
    before = dump(hr)

    for attempt in (lease.heartbeat, lease.complete, lease.release):
        with pytest.raises(LeaseLost) as lost:
            attempt()
        assert (lost.value.state, lost.value.worker) == ("waiting", "")

    assert dump(hr) == before


@proves("Q-22")
def test_worker_that_puts_its_own_job_again_loses_the_lease(hr: Client, queue: Queue) -> None:
    first = run(queue)
    queue.put("new", id="x")
    second = pop_one(queue, worker=first.worker)

    with pytest.raises(LeaseLost) as lost:
        first.complete()

    assert lost.value.worker == "w1"
    assert second.complete() == "complete"
    assert found(hr, "x").data == "new"


@proves("Q-23")
@every_state
def test_a_move_replaces_the_data_and_keeps_priority_and_tags(
    hr: Client, queue: Queue, bring: Bring
) -> None:
    queue.put("older", id="x", priority=-7, tags=["a", "b"])
    bring(queue)

    queue.put("new", id="x")

    job = found(hr, "x")
    assert (job.data, job.priority, job.tags) == ("new", -7, ["a", "b"])


@proves("Q-23")
def test_a_move_sets_priority_and_tags_that_are_given(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x", priority=-7, tags=["a"])

    queue.put(1, id="x", priority=0, tags=["b"])
    assert (found(hr, "x").priority, found(hr, "x").tags) == (0, ["b"])

    queue.put(1, id="x", tags=[])
    assert found(hr, "x").tags == []


@proves("Q-24")
def test_each_put_opens_a_stage_of_the_history(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put(1, id="x")
    clock.tick(5)
    hr.queue("other").put(2, id="x")

    first, second = found(hr, "x").history
    began = clock.now - timedelta(seconds=5)
    assert (first.queue, first.put, first.ended, first.outcome) == (
        "mail",
        began,
        clock.now,
        "moved",
    )
    assert (second.queue, second.put, second.ended, second.outcome) == (
        "other",
        clock.now,
        None,
        None,
    )


@proves("Q-25", "Q-83")
def test_a_failed_job_that_is_put_leaves_its_failure_list(hr: Client, queue: Queue) -> None:
    fail(queue)
    assert hr.failures.counts() == {"broken": 1}

    queue.put("new", id="x")

    assert hr.failures.counts() == {}
    assert hr.failures.jobs("broken").total == 0
    assert found(hr, "x").failure is None


@proves("Q-26")
def test_complete_job_put_again_is_not_pruned(hr: Client, queue: Queue, clock: Clock) -> None:
    complete(queue)
    queue.put("new", id="x")

    clock.tick(timedelta(days=8))
    hr.sweep()
    queue.put(1, id="y")

    assert queue.jobs("complete").total == 0
    assert drain(queue) == ["x", "y"]


@proves("QL-03")
def test_moved_job_gets_its_retries_back(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x", retries=2)
    pop_one(queue).fail("flaky", retry_in=0)
    assert found(hr, "x").remaining == 1

    queue.put(1, id="x")

    assert (found(hr, "x").retries, found(hr, "x").remaining) == (2, 2)


# on_exists


@proves("Q-21")
@every_state
def test_reject_leaves_the_job_as_it_is(hr: Client, queue: Queue, bring: Bring) -> None:
    bring(queue)
    state = found(hr, "x").state
    before = dump(hr)

    with pytest.raises(JobExists) as refused:
        queue.put("new", id="x", on_exists="reject")

    assert refused.value.state == state
    assert dump(hr) == before


def test_rejected_items_do_not_affect_the_other_items(queue: Queue) -> None:
    queue.put("old", id="x")

    with pytest.raises(JobExists):
        queue.put_many([Put(1, id="a"), Put(2, id="x"), Put(3, id="b")], on_exists="reject")

    assert drain(queue) == ["x", "a", "b"]


def test_replace_changes_a_waiting_job_in_its_place(hr: Client, queue: Queue) -> None:
    queue.put("old", id="x")
    queue.put("old", id="y")

    queue.put("new", id="x", on_exists="replace")

    assert (found(hr, "x").data, drain(queue)) == ("new", ["x", "y"])


def test_replace_keeps_the_time_of_a_scheduled_job(hr: Client, queue: Queue, clock: Clock) -> None:
    schedule(queue)
    due = found(hr, "x").due
    clock.tick(10)

    queue.put("new", id="x", on_exists="replace")

    assert (found(hr, "x").data, found(hr, "x").due) == ("new", due)


def test_replace_refuses_a_running_job(queue: Queue) -> None:
    lease = run(queue)

    with pytest.raises(JobExists):
        queue.put("new", id="x", on_exists="replace")

    assert lease.complete() == "complete"


@pytest.mark.parametrize("bring", [fail, complete])
def test_replace_moves_finished_jobs(hr: Client, queue: Queue, bring: Bring) -> None:
    bring(queue)

    queue.put("new", id="x", on_exists="replace")

    assert (found(hr, "x").state, found(hr, "x").data) == ("waiting", "new")


@every_state
def test_duplicate_puts_a_second_job_on_the_same_shard(
    hr: Client, queue: Queue, bring: Bring
) -> None:
    bring(queue)
    first = hr.job("x")

    second = queue.put("new", id="x", on_exists="duplicate")

    assert second != "x"
    assert hr.job("x") == first
    assert ids([found(hr, second)]) == [second]
    assert hr.audit().problems == []
