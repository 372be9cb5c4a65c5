"""Additions of later versions of qless: jobs."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Client, HasDependents, InvalidArgument
from headrace.testing import START, Clock
from tests.proof import proves
from tests.support.dump import dump
from tests.support.servers import until

NOW = START.timestamp()


def running(queue: Any, name: str = "j", **options: Any) -> Any:
    """Return a job that w1 holds."""
    queue.put(1, id=name, **options)
    return queue.pop()


@proves("QL-01", "QD-15")
def test_cancel_deletes_jobs_in_any_state_except_complete(
    qless: Any, queue: Any, hr: Client
) -> None:
    job = running(queue, "runs")
    running(queue, "done").complete()
    running(queue, "fails").fail("kind", "why")
    queue.put(1, id="waits")

    cancelled = qless.cancel("runs", "done", "fails", "waits", "unknown")

    assert cancelled == ["runs", "fails", "waits"]
    assert job.heartbeat() is False
    assert qless.get("runs") is None
    done = qless.jobs["done"]
    assert (done.state, done.cancel()) == ("complete", False)
    assert hr.audit().balanced


@proves("QL-02")
def test_unfail_requeues_the_oldest_jobs_of_a_group(
    qless: Any, queue: Any, clock: Clock, hr: Client
) -> None:
    for name in "cab":
        running(queue, name).fail("kind", "why")
        clock.tick(1)

    assert qless.unfail("other", "kind", 2) == 2
    assert [job.id for job in qless.queues["other"].pop(5)] == ["c", "a"]
    assert qless.unfail("testing", "kind") == 1
    assert queue.pop().id == "b"
    assert qless.unfail("testing", "kind") == 0
    assert (queue.stats())["failed"] == 0
    assert hr.audit().balanced


@proves("QL-03", "QD-15")
def test_lost_lock_costs_a_retry_and_the_last_one_fails_the_job(
    qless: Any, queue: Any, clock: Clock
) -> None:
    queue.put(1, id="j", retries=1)
    assert queue.pop().remaining == 1
    clock.tick(60)
    assert queue.pop().remaining == 0
    clock.tick(60)
    assert queue.pop() is None
    assert (qless.jobs["j"]).state == "failed"

    queue.put(1, id="j")
    renewed = qless.jobs["j"]
    assert (renewed.retries, renewed.remaining) == (1, 1)
    queue.put(1, id="default")
    assert (qless.jobs["default"]).retries == 5


@proves("QL-04")
def test_retry_returns_the_job_and_the_number_of_retries_left(
    qless: Any, queue: Any, clock: Clock
) -> None:
    job = running(queue, retries=2)
    assert job.retry() == 1
    assert job.retry() is False

    job = queue.pop()
    assert job.retry(5) == 0
    assert queue.pop() is None
    clock.tick(5)

    queue.pop()
    assert qless.retry("j", "testing", "w1", 0, "flaky", "again and again") == -1
    assert (qless.jobs["j"]).failure["type"] == "flaky"


@proves("QL-04")
def test_retry_is_refused_without_the_lock_or_for_another_queue(
    qless: Any, other: Any, queue: Any, hr: Client
) -> None:
    job = running(queue, retries=None)
    before = dump(hr)

    assert qless.retry("j", "elsewhere", "w1") is False
    assert qless.retry("j", "testing", "w2") is False
    assert other.retry("j", "testing", "w1") is False
    assert dump(hr) == before
    assert job.retry() is None


@proves("QL-04")
def test_retry_without_a_group_names_the_failure_after_the_queue(qless: Any, queue: Any) -> None:
    job = running(queue, retries=0)

    assert job.retry() == -1
    assert qless.failed() == {"failed-retries-testing": 1}


@proves("QL-11")
def test_job_waits_until_all_its_dependencies_are_complete(qless: Any, queue: Any) -> None:
    for name in "ab":
        queue.put(1, id=name)
    queue.put(1, id="j", depends=["a", "b", "unknown"])

    job = qless.jobs["j"]
    assert (job.state, sorted(job.dependencies)) == ("depends", ["a", "b"])
    assert (qless.jobs["a"]).dependents == ["j"]
    assert queue.jobs("depends") == ["j"]

    for expected in ("depends", "waiting"):
        queue.pop().complete()
        assert (qless.jobs["j"]).state == expected


@proves("QL-11")
def test_dependencies_are_added_and_removed(qless: Any, queue: Any, hr: Client) -> None:
    for name in ("a", "b", "c"):
        queue.put(1, id=name)
    queue.put(1, id="j", depends=["c"])
    job = qless.jobs["j"]

    assert job.depend("a", "b") == "depends"
    assert qless.depends("j", "off", "c") == "depends"
    assert qless.depends("j", "off", "b") == "depends"
    assert qless.depends("unknown", "on", "a") is False

    before = dump(hr)
    with pytest.raises(HasDependents):
        qless.cancel("a")
    for command in (("j", "maybe", "a"), ("j", "off")):
        with pytest.raises(InvalidArgument):
            qless.depends(*command)
    assert dump(hr) == before
    assert sorted(qless.cancel("a", "j")) == ["a", "j"]


@proves("QL-11")
def test_dependencies_of_a_job_that_is_not_blocked_are_refused(
    qless: Any, queue: Any, hr: Client
) -> None:
    queue.put(1, id="a")
    queue.put(1, id="waits")
    queue.put(1, id="delayed", delay=60)
    queue.put(1, id="freed", depends=["a"])
    assert qless.depends("freed", "off", "all") == "waiting"
    before = dump(hr)

    for name in ("waits", "delayed", "freed"):
        assert qless.depends(name, "on", "a") is False
        assert qless.depends(name, "off", "a") is False
        job = qless.jobs[name]
        assert job.depend("a") is False
        assert job.undepend(all=True) is False

    assert dump(hr) == before


@proves("QL-13")
def test_tracked_jobs_are_listed_and_their_events_published(
    qless: Any, queue: Any, hr: Client
) -> None:
    for name in "ab":
        queue.put(1, id=name)
    job = qless.jobs["a"]
    assert job.track() is True
    assert qless.track("b") is True
    assert qless.track("unknown") is False

    with hr.tracking.listen(wait=5) as heard:
        qless.cancel("b")
        assert (event := next(heard)).kind == "cancelled"
        assert event.job_id == "b"

    found = qless.jobs.tracked()
    assert ([each.id for each in found["jobs"]], found["expired"]) == (["a"], ["b"])
    assert found["jobs"][0].tracked
    job.untrack()
    qless.untrack("b")
    assert qless.jobs.tracked() == {"jobs": [], "expired": []}


@proves("QL-14")
def test_holder_is_notified_that_its_job_was_taken(qless: Any, queue: Any, other: Any) -> None:
    watch = qless.client.watch("w1")
    try:
        job = running(queue)
        assert job.taken is None
        other.cancel("j")
        until(lambda: bool(job.taken), "the holder expect of it")
        assert job.taken == "cancelled"
    finally:
        watch.close()


@proves("QL-15")
def test_jobs_are_found_by_tags_that_are_added_and_removed(
    qless: Any, queue: Any, clock: Clock
) -> None:
    for name in "ab":
        queue.put(1, id=name, tags=["x"])
        clock.tick(1)
    job = qless.jobs["a"]

    assert job.tag("y", "x") == ["x", "y"]
    assert qless.tag("b", "y") == ["x", "y"]
    assert qless.jobs.tagged("y") == {"total": 2, "jobs": ["a", "b"]}
    assert qless.jobs.tagged("y", 1, 1) == {"total": 2, "jobs": ["b"]}
    assert sorted(qless.tags()) == ["x", "y"]

    assert job.untag("x", "z") == ["y"]
    assert qless.untag("b", "y") == ["x"]
    assert qless.tags() == []
    assert qless.tag("unknown", "x") is False


@proves("QL-22")
def test_timeout_removes_the_lock_and_the_job_waits_at_the_front(qless: Any, queue: Any) -> None:
    job = running(queue, "j")
    second = running(queue, "k")
    queue.put(1, id="next")

    assert qless.timeout("j", "next", "unknown") == ["j"]
    assert second.timeout() is True
    assert second.timeout() is False

    assert job.complete() is False
    again = queue.pop(3)
    assert [(each.id, each.remaining) for each in again] == [("j", 5), ("k", 5), ("next", 5)]


@proves("QL-23")
def test_requeue_needs_an_existing_job_and_get_reads_many(qless: Any, queue: Any) -> None:
    for name in "ab":
        queue.put(name, 3, ["t"], id=name)

    assert qless.requeue("other", "a", 5) == "a"
    assert (qless.jobs["b"]).move("other") == "b"
    assert qless.requeue("other", "unknown") is False

    found = qless.jobs.get("b", "unknown", "a")
    assert [(job.id, job.queue, job.state) for job in found] == [
        ("b", "other", "waiting"),
        ("a", "other", "scheduled"),
    ]
    assert (found[0].data, found[0].priority, found[0].tags) == ("b", 3, ["t"])


@proves("QL-24")
def test_job_has_a_log_and_a_bounded_history(qless: Any, queue: Any, clock: Clock) -> None:
    qless.set_config("max-job-history", 3)
    job = running(queue)
    assert job.log("half way") is True
    assert (qless.jobs["j"]).log_lines == [(NOW, "half way")]

    for number in range(5):
        clock.tick(1)
        queue.put(number, id="j")
    assert job.log("too late") is False

    stages = (qless.jobs["j"]).history
    assert [stage[1] - NOW for stage in stages] == [0, 3, 4, 5]


@proves("Q-28")
def test_priority_of_a_live_job_can_change(qless: Any, queue: Any) -> None:
    for name in "abc":
        queue.put(1, id=name)

    assert qless.priority("c", -1) == -1
    assert (qless.jobs["a"]).prioritise(1) == 1
    assert qless.priority("unknown", 1) is False
    with pytest.raises(InvalidArgument):
        qless.priority("a", "high")

    assert [job.id for job in queue.pop(3)] == ["c", "b", "a"]
