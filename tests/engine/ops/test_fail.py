"""fail: an attempt failed; the job fails under a type, or is retried."""

from __future__ import annotations

from datetime import timedelta

import pytest

from headrace import Client, LeaseLost, Queue, WrongState
from headrace.testing import Clock
from tests.proof import proves
from tests.support.dump import dump
from tests.support.jobs import drain, found, ids, pop_one


@proves("Q-75", "Q-76", "Q-80", "QD-01")
def test_failed_job_has_reason_time_and_worker(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put(1, id="x")
    lease = pop_one(queue, worker="w1")
    clock.tick(5)

    assert lease.fail("upload error", "Traceback\n  line 1\x00é") == "failed"

    job = found(hr, "x")
    assert (job.state, job.queue, job.worker, job.expires) == ("failed", "mail", "", None)
    assert job.failure is not None
    assert (job.failure.type, job.failure.message) == ("upload error", "Traceback\n  line 1\x00é")
    assert (job.failure.at, job.failure.worker) == (clock.now, "w1")
    [stage] = job.history
    assert (stage.worker, stage.ended, stage.outcome) == ("w1", clock.now, "failed")
    assert (stage.failure, stage.message) == (job.failure.type, job.failure.message)


@proves("Q-77")
def test_failed_job_is_handed_out_to_no_worker(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put(1, id="x")
    lease = pop_one(queue, lease=30)
    lease.fail("broken")
    before = dump(hr)

    clock.tick(3600)
    assert (queue.pop("w2"), queue.peek()) == ([], [])
    assert (queue.length(), queue.counts().failed) == (0, 1)
    assert dump(hr) == before


@proves("Q-78")
def test_complete_job_cannot_be_failed_by_an_operator(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x")
    pop_one(queue).complete()
    before = dump(hr)

    with pytest.raises(WrongState) as refused:
        hr.fail("x", "broken")

    assert refused.value.state == "complete"
    assert dump(hr) == before


@proves("Q-79")
@pytest.mark.parametrize("state", ["waiting", "scheduled", "running", "failed"])
def test_an_operator_fails_a_job_in_any_state_but_complete(
    hr: Client, queue: Queue, clock: Clock, state: str
) -> None:
    queue.put(1, id="x", delay=10 if state == "scheduled" else 0)
    lease = pop_one(queue) if state in ("running", "failed") else None
    if lease and state == "failed":
        lease.fail("first")

    assert hr.fail("x", "by hand", "because") == "failed"

    assert hr.failures.counts() == {"by hand": 1}
    clock.tick(100)
    assert queue.pop("w2") == []
    if lease:
        with pytest.raises(LeaseLost):
            lease.complete()
    assert hr.audit().problems == []


@proves("Q-84")
@pytest.mark.parametrize("second", ["second", "first"])
def test_a_job_is_on_one_failure_list_at_most(hr: Client, queue: Queue, second: str) -> None:
    queue.put(1, id="x")
    pop_one(queue).fail("first")

    hr.fail("x", second, "again")

    assert hr.failures.counts() == {second: 1}
    assert ids(hr.failures.jobs(second).jobs) == ["x"]
    assert sum(hr.failures.jobs(kind).total for kind in ("first", "second")) == 1


def test_failing_may_replace_the_data(hr: Client, queue: Queue) -> None:
    queue.put("old", id="x")

    pop_one(queue).fail("broken", data="new")

    assert found(hr, "x").data == "new"


# with retry_in


@proves("QL-04")
def test_failed_job_with_retry_in_0_goes_to_the_back(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x")
    queue.put(1, id="y")

    assert pop_one(queue).fail("flaky", "why", retry_in=0) == "waiting"

    job = found(hr, "x")
    assert (job.remaining, job.failure, job.worker) == (4, None, "")
    [past, present] = job.history
    assert (past.outcome, past.failure, past.message) == ("retried", "flaky", "why")
    assert (present.outcome, hr.failures.counts()) == (None, {})
    assert drain(queue) == ["y", "x"]


@proves("QL-04")
def test_failed_job_with_retry_in_is_retried_after_this_time(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.put(1, id="x")

    assert pop_one(queue).fail("flaky", retry_in=timedelta(seconds=30)) == "scheduled"

    assert found(hr, "x").due == clock.now + timedelta(seconds=30)
    clock.tick(30)
    assert pop_one(queue).attempt == 2


@proves("QL-03", "QL-04")
def test_a_job_without_retries_left_fails_under_the_type_it_was_given(
    hr: Client, queue: Queue
) -> None:
    queue.put(1, id="x", retries=1)

    assert pop_one(queue).fail("flaky", "once", retry_in=0) == "waiting"
    assert pop_one(queue).fail("flaky", "twice", retry_in=0) == "failed"

    assert hr.failures.counts() == {"flaky": 1}
    assert (queue.stats().retries, queue.stats().failures) == (1, 1)


@proves("QL-03")
def test_job_with_unlimited_retries_is_always_retried(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x", retries=None)

    for _ in range(20):
        assert pop_one(queue).fail("flaky", retry_in=0) == "waiting"

    assert (found(hr, "x").attempt, found(hr, "x").remaining) == (20, None)


@proves("Q-76")
def test_a_message_that_is_too_long_is_cut(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x")

    pop_one(queue).fail("broken", "é" * 100_000)

    failure = found(hr, "x").failure
    assert failure is not None
    assert failure.message.endswith("é ...")
    assert len(failure.message.encode()) <= 1 << 16
