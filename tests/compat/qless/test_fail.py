"""fail: set a job aside under a failure type."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Client, InvalidArgument
from headrace.testing import START, Clock
from tests.proof import proves
from tests.support.dump import dump

NOW = START.timestamp()


def running(qless: Any, name: str = "j") -> Any:
    """Return a job that w1 holds."""
    qless.queues["testing"].put(1, id=name)
    return qless.queues["testing"].pop()


@proves("Q-75", "Q-76", "Q-80", "QD-01")
def test_fail_stores_type_and_message(qless: Any, clock: Clock) -> None:
    running(qless)
    clock.tick(4)

    assert qless.fail("j", "upload error", "Traceback: no route", NOW) == "j"

    job = qless.jobs["j"]
    assert (job.state, job.worker, job.expires) == ("failed", "", 0)
    assert job.failure == {
        "type": "upload error",
        "message": "Traceback: no route",
        "when": NOW + 4,
        "worker": "w1",
    }
    assert job.history == [["testing", NOW, NOW, None, "w1"]]


@proves("Q-77")
def test_failed_job_is_not_popped_and_its_worker_is_refused(qless: Any, hr: Client) -> None:
    job = running(qless)
    job.fail("kind", "why")
    before = dump(hr)

    assert job.heartbeat() is False
    assert job.complete() is False
    assert job.fail("kind", "why") is False
    assert qless.queues["testing"].pop() is None
    assert dump(hr) == before


@proves("Q-78")
def test_complete_job_cannot_fail(qless: Any, other: Any, hr: Client) -> None:
    job = running(qless)
    job.complete()
    before = dump(hr)

    assert job.fail("kind", "why") is False
    assert qless.fail("j", "kind", "why", NOW) is False
    assert other.fail("j", "kind", "why", NOW) is False
    assert other.fail("unknown", "kind", "why", NOW) is False
    assert dump(hr) == before


@proves("Q-79")
def test_job_that_this_client_did_not_pop_is_failed_by_an_operator(qless: Any, other: Any) -> None:
    queue = qless.queues["testing"]
    queue.put(1, id="waiting")
    queue.put(1, id="scheduled", delay=9)

    assert qless.fail("waiting", "kind", "never begun", NOW) == "waiting"
    assert (qless.jobs["scheduled"]).fail("kind", "why") == "scheduled"

    job = running(qless)
    assert other.fail("j", "kind", "by an operator", NOW) == "j"
    assert job.complete() is False


@proves("Q-79")
def test_former_holder_may_fail_the_job_as_an_operator(qless: Any) -> None:
    job = running(qless)
    job.complete("next")

    assert job.fail("kind", "why") is False
    assert qless.fail("j", "kind", "why", NOW) == "j"


@proves("Q-79")
def test_only_the_holder_may_replace_the_data_with_fail(qless: Any, other: Any, hr: Client) -> None:
    job = running(qless)
    before = dump(hr)
    with pytest.raises(InvalidArgument, match="only the holder of a job"):
        (other.jobs["j"]).fail("kind", "why", data=2)
    assert dump(hr) == before

    job.fail("kind", "why", data=2)

    assert (qless.jobs["j"]).data == 2


@proves("Q-79", "QD-18")
def test_former_holder_cannot_fail_the_job_of_the_new_holder(
    qless: Any, other: Any, clock: Clock
) -> None:
    running(qless)
    clock.tick(60)
    taken = other.queues["testing"].pop()

    assert qless.heartbeat("j", "w1", 4e9) is False
    assert qless.fail("j", "kind", "why", NOW) is False
    assert qless.fail("j", "kind", "why", NOW) is False
    assert taken.complete() == "complete"


@proves("Q-81", "Q-82", "QD-07")
def test_failed_returns_counts_by_type_and_jobs_of_a_type(qless: Any, clock: Clock) -> None:
    for name, kind in [("a", "upload error"), ("b", "upload error"), ("c", "widget failure")]:
        running(qless, name).fail(kind, "why")
        clock.tick(1)

    assert qless.failed() == {"upload error": 2, "widget failure": 1}
    found = qless.failed("upload error")
    assert (found["total"], [job["id"] for job in found["jobs"]]) == (2, ["b", "a"])
    assert found["jobs"][0] == qless.get("b")
    assert qless.failed("unknown") == {"total": 0, "jobs": []}
    assert [job.id for job in (qless.jobs.failed("widget failure"))["jobs"]] == ["c"]
    assert qless.jobs.failed() == qless.failed()


@proves("Q-82", "QD-17")
def test_pages_of_failed_jobs_have_no_gap_or_overlap(qless: Any) -> None:
    for number in range(30):
        qless.queues["testing"].put(1, id=f"{number:02}")
        qless.fail(f"{number:02}", "kind", "why", NOW)

    default = qless.failed("kind")
    rest = qless.failed("kind", 25)
    page = qless.failed("kind", 10, 5)

    ids = [job["id"] for job in default["jobs"] + rest["jobs"]]
    assert (len(default["jobs"]), len(rest["jobs"]), rest["total"]) == (25, 5, 30)
    assert sorted(ids) == [f"{number:02}" for number in range(30)]
    assert [job["id"] for job in page["jobs"]] == ids[10:15]


@proves("Q-83")
def test_failure_type_without_jobs_is_removed(qless: Any) -> None:
    running(qless, "a").fail("first", "why")
    running(qless, "b").fail("second", "why")

    qless.cancel("a")
    assert qless.failed() == {"second": 1}
    (qless.jobs["b"]).move("testing")
    assert qless.failed() == {}


@proves("Q-84")
def test_job_that_fails_again_is_listed_under_its_new_type_only(qless: Any, other: Any) -> None:
    running(qless).fail("first", "why")

    assert other.fail("j", "second", "why", NOW) == "j"

    assert qless.failed() == {"second": 1}


@proves("QD-14")
def test_failed_job_never_expires(qless: Any, hr: Client, clock: Clock) -> None:
    running(qless).fail("kind", "why")
    clock.tick(400 * 86_400)
    hr.sweep()

    assert (qless.jobs["j"]).state == "failed"


@proves("Q-04")
@pytest.mark.parametrize(
    "arguments",
    [("j", "", "why", NOW), ("j", "kind", 7, NOW), ("j", "kind", "why", "now"), ("", "k", "w", 1)],
)
def test_fail_with_invalid_arguments_changes_nothing(
    qless: Any, hr: Client, arguments: tuple[Any, ...]
) -> None:
    running(qless)
    before = dump(hr)

    with pytest.raises(InvalidArgument):
        qless.fail(*arguments)

    assert dump(hr) == before
