"""complete: finish a job or move it to the next queue."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Client, InvalidArgument
from headrace.testing import START, Clock
from tests.proof import proves
from tests.support.dump import dump

NOW = START.timestamp()


def running(qless: Any, **options: Any) -> Any:
    """Return a job that w1 holds."""
    qless.queues["testing"].put({"old": 1}, id="j", **options)
    return qless.queues["testing"].pop()


@proves("Q-60", "Q-61", "Q-63", "QD-01")
def test_complete_by_id_returns_the_new_state(qless: Any, clock: Clock) -> None:
    running(qless)
    clock.tick(7)

    assert qless.complete("j") == "complete"

    job = qless.get("j")
    assert (job["state"], job["queue"], job["worker"], job["expires"]) == ("complete", None, "", 0)
    assert job["history"] == [["testing", NOW, NOW, NOW + 7, "w1"]]


@proves("Q-62")
def test_complete_without_the_lock_returns_false_and_changes_nothing(
    qless: Any, other: Any, hr: Client
) -> None:
    done = running(qless)
    done.complete()
    failed = qless.queues["failing"]
    failed.put(1, id="failed")
    lost = failed.pop()
    lost.fail("kind", "why")
    failed.put(1, id="cancelled")
    cancelled = failed.pop()
    qless.cancel("cancelled")
    failed.put(1, id="waiting")
    failed.put(1, -1, id="of w1")
    failed.pop()
    before = dump(hr)

    for job in (done, lost, cancelled):
        assert job.complete() is False
    for name in ("unknown", "waiting", "j", "failed", "of w1"):
        assert other.complete(name) is False

    assert dump(hr) == before


@proves("Q-61", "Q-64")
def test_complete_with_a_queue_moves_the_job_in_one_step(
    qless: Any, hr: Client, clock: Clock
) -> None:
    running(qless, priority=-3, tags=["t"])
    clock.tick(5)

    assert qless.complete("j", '{"new": 1}', "next") == "waiting"

    job = qless.jobs["j"]
    assert (job.queue, job.priority, job.tags, job.data) == ("next", -3, ["t"], {"new": 1})
    assert job.history == [
        ["testing", NOW, NOW, NOW + 5, "w1"],
        ["next", NOW + 5, None, None, None],
    ]
    assert hr.audit().balanced


@proves("Q-61", "Q-64")
def test_next_queue_may_be_the_same_with_a_delay(qless: Any, clock: Clock) -> None:
    job = running(qless)

    assert job.complete("testing", 10) == "scheduled"
    clock.tick(10)
    again = qless.queues["testing"].pop()

    assert again.id == "j"
    assert qless.complete("j", None, "later", 5) == "scheduled"


@proves("Q-64", "QL-11")
def test_moved_job_may_depend_on_other_jobs(qless: Any) -> None:
    job = running(qless)
    qless.queues["first"].put(1, id="before")

    assert job.complete("next", depends=["before"]) == "depends"
    (qless.queues["first"].pop()).complete()

    assert (qless.jobs["j"]).state == "waiting"


@proves("Q-65")
def test_complete_may_replace_the_data(qless: Any) -> None:
    job = running(qless)

    job.complete(data=None)

    assert (qless.jobs["j"]).data is None


@proves("Q-66")
def test_run_time_counts_in_the_queue_where_the_job_ran(qless: Any, clock: Clock) -> None:
    running(qless)
    clock.tick(3)
    qless.complete("j", None, "next")

    assert (qless.stats("testing"))["run"]["mean"] == 3
    assert (qless.stats("next"))["run"]["total"] == 0


@proves("Q-13", "Q-15", "Q-67")
def test_completion_prunes_jobs_above_the_history_count(qless: Any) -> None:
    queue = qless.queues["testing"]
    qless.set_config("jobs-history-count", 2)
    for name in "abc":
        queue.put(1, id=name)
        queue.pop().complete()

    assert queue.jobs("complete") == ["c", "b"]
    assert qless.get("a") is None


@proves("QD-13")
def test_completed_job_leaves_its_queue(qless: Any, hr: Client) -> None:
    running(qless)
    qless.complete("j")

    assert qless.queues["testing"].length() == 0
    assert hr.audit().balanced


@proves("Q-04")
@pytest.mark.parametrize(
    "arguments", [("j", "{no json"), ("j", None, ""), ("j", None, "next", "later"), ("",)]
)
def test_complete_with_invalid_arguments_changes_nothing(
    qless: Any, hr: Client, arguments: tuple[Any, ...]
) -> None:
    running(qless)
    before = dump(hr)

    with pytest.raises(InvalidArgument):
        qless.complete(*arguments)

    assert dump(hr) == before
