"""retry: retries failed jobs by id, or the oldest of a type."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from headrace import Client, InvalidArgument, JobNotFound, Queue, WrongState
from headrace.testing import Clock
from tests.proof import proves
from tests.support.dump import dump
from tests.support.jobs import drain, found, ids, pop_one


def fail(queue: Queue, *names: str, kind: str = "broken") -> None:
    for name in names:
        queue.put(1, id=name, retries=2)
        pop_one(queue).fail(kind, "why")


@proves("QL-02")
def test_retried_job_is_waiting_and_has_no_failure(hr: Client, queue: Queue) -> None:
    fail(queue, "x")

    assert hr.retry("x") == ["waiting"]

    job = found(hr, "x")
    assert (job.state, job.queue, job.failure, job.remaining) == ("waiting", "mail", None, 2)
    assert [stage.outcome for stage in job.history] == ["failed", None]
    assert (hr.failures.counts(), queue.counts().failed, queue.stats().failed) == ({}, 0, 0)
    assert queue.stats().failures == 1


@proves("QL-02", "QL-03")
def test_a_job_that_is_retried_has_all_its_retries_again(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x", retries=2)
    while pop_one(queue).fail("flaky", retry_in=0) == "waiting":
        pass
    assert found(hr, "x").remaining == 0

    hr.retry("x")

    assert found(hr, "x").remaining == 2


@proves("QL-02")
def test_retried_jobs_go_to_the_back(hr: Client, queue: Queue) -> None:
    fail(queue, "x")
    queue.put(1, id="y")

    hr.retry("x")

    assert drain(queue) == ["y", "x"]


@proves("QL-02")
def test_a_retry_may_be_delayed(hr: Client, queue: Queue, clock: Clock) -> None:
    fail(queue, "x")

    assert hr.retry("x", delay=10) == ["scheduled"]

    assert found(hr, "x").due == clock.now + timedelta(seconds=10)


@proves("QL-02")
def test_the_oldest_of_a_type_are_retried_up_to_a_count(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    for name in "dbca":
        fail(queue, name)
        clock.tick(1)
    fail(queue, "other", kind="else")

    assert hr.retry(failure="broken", count=3) == ["waiting"] * 3

    assert drain(queue) == ["d", "b", "c"]
    assert hr.failures.counts() == {"broken": 1, "else": 1}
    assert ids(hr.failures.jobs("broken").jobs) == ["a"]


@proves("QL-02")
def test_failed_jobs_can_be_retried_in_another_queue_and_only_failed_ones(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    for name in ("old", "new", "kept"):
        fail(queue, name)
        clock.tick(1)
    queue.put(1, id="waits")

    assert hr.retry(failure="broken", count=2, queue="other") == ["waiting", "waiting"]
    kept, waits, nobody = hr.retry("kept", "waits", "nobody", queue="other", delay=10)

    assert (kept, str(waits)) == ("scheduled", str(WrongState("waits", "waiting")))
    assert isinstance(nobody, JobNotFound)
    job = found(hr, "old")
    assert (job.queue, job.failure, job.remaining) == ("other", None, 2)
    assert drain(hr.queue("other")) == ["old", "new"]
    assert (hr.failures.counts(), drain(queue)) == ({}, ["waits"])
    assert hr.audit().balanced


@proves("QL-02")
def test_a_type_is_retried_25_at_a_time_by_default(hr: Client, queue: Queue) -> None:
    fail(queue, *(f"{number}" for number in range(27)))

    assert hr.retry(failure="broken") == ["waiting"] * 25
    assert hr.retry(failure="broken") == ["waiting"] * 2
    assert hr.retry(failure="broken") == []


@proves("QL-02")
def test_each_id_has_its_own_answer_and_a_refusal_changes_nothing(hr: Client, queue: Queue) -> None:
    queue.put(1, id="waits")
    before = dump(hr)

    waits, nobody = hr.retry("waits", "nobody")

    assert isinstance(waits, WrongState)
    assert waits.state == "waiting"
    assert isinstance(nobody, JobNotFound)
    assert dump(hr) == before


@proves("Q-04")
@pytest.mark.parametrize(
    ("names", "options"),
    [
        ([], {}),
        (["x"], {"failure": "broken"}),
        ([""], {}),
        (["x"], {"delay": -1}),
        ([], {"failure": "broken", "count": 0}),
        ([], {"failure": ""}),
    ],
)
def test_a_wrong_argument_is_refused_before_anything_changes(
    hr: Client, queue: Queue, names: list[str], options: dict[str, Any]
) -> None:
    fail(queue, "x")
    before = dump(hr)

    with pytest.raises(InvalidArgument):
        hr.retry(*names, **options)

    assert dump(hr) == before
