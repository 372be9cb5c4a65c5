"""Additions of later versions of qless: queues and workers."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Client, InvalidArgument
from headrace.testing import START, Clock
from tests.compat.qless.conftest import OpenQless
from tests.proof import proves

NOW = START.timestamp()


@proves("QL-12")
def test_recurring_job_is_put_at_every_interval_after_its_offset(queue: Any, clock: Clock) -> None:
    recurring = queue.recur({"a": 1}, 60, 10, -2, ["t"], 3, id="r")
    assert recurring == "r"
    assert queue.pop() is None

    clock.tick(10)
    first = queue.pop()
    first.complete()
    clock.tick(60)
    second = queue.pop()

    assert (first.id, second.id) == ("r-1", "r-2")
    assert (second.data, second.priority, second.tags) == ({"a": 1}, -2, ["t"])
    assert (second.retries, second.spawned_from) == (3, "r")
    assert second.history[0][1] == NOW + 70


@proves("QL-12")
@pytest.mark.parametrize(("backlog", "made"), [(0, 11), (3, 4)])
def test_missed_intervals_are_made_up_for_within_the_backlog(
    queue: Any, clock: Clock, backlog: int, made: int
) -> None:
    queue.recur(1, 60, backlog=backlog)
    clock.tick(600)

    popped = queue.pop(50)

    assert len(popped) == made
    assert popped[-1].history[0][1] == NOW + 600


@proves("QL-12")
def test_recurring_job_is_read_updated_and_cancelled(qless: Any, queue: Any, clock: Clock) -> None:
    queue.recur(1, 60, 5, tags=["t"], id="r", backlog=2)

    job = qless.jobs.recurring("r")
    assert (job.id, job.queue, job.data, job.interval) == ("r", "testing", 1, 60)
    assert (job.priority, job.tags, job.backlog, job.count) == (0, ["t"], 2, 0)
    assert job.next == NOW + 5
    assert repr(job).endswith("RecurringJob 'r' of 'testing', every 60.0 s>")
    assert queue.jobs("recurring") == ["r"]
    assert (queue.counts())["recurring"] == 1

    assert job.update(data=2, interval=30, priority=-1, retries=0, backlog=0) is True
    assert job.tag("u") is True
    assert job.tag("v") is True
    assert job.untag("t") is True
    changed = qless.jobs.recurring("r")
    assert (changed.data, changed.interval, changed.priority) == (2, 30, -1)
    assert (changed.tags, changed.retries, changed.backlog) == (["u", "v"], 0, 0)

    clock.tick(60)
    assert queue.pop().id == "r-1"
    assert job.cancel() is True
    assert job.cancel() is False
    assert job.update(data=3) is False
    assert qless.jobs.recurring("r") is None
    queue.recur(1, 60, id="r")
    clock.tick(60)
    assert qless.unrecur("r", "unknown") == ["r"]


@proves("QL-12", "Q-28")
def test_higher_first_reverses_priorities_of_recurring_jobs(
    open_qless: OpenQless,
) -> None:
    later = open_qless("w1", higher_first=True)
    later.queues["testing"].recur(1, 60, 0, 5, id="r")
    job = later.jobs.recurring("r")
    assert job.priority == 5

    job.update(priority=7)

    assert (later.queues["testing"].pop()).priority == 7


@proves("QL-16")
def test_jobs_of_a_queue_are_listed_by_state(qless: Any, queue: Any, clock: Clock) -> None:
    for name in ("late", "runs", "done", "fails"):
        queue.put(1, id=name)
    queue.pop(2)
    queue.pop().complete()
    queue.pop().fail("kind", "why")
    clock.tick(30)
    qless.heartbeat("runs", "w1", 4e9)
    clock.tick(30)
    queue.put(1, id="waits")
    queue.put(1, id="later", delay=9)

    listed = {
        state: queue.jobs(state)
        for state in ("waiting", "scheduled", "running", "stalled", "failed", "complete")
    }

    assert listed == {
        "waiting": ["waits"],
        "scheduled": ["later"],
        "running": ["runs"],
        "stalled": ["late"],
        "failed": ["fails"],
        "complete": ["done"],
    }
    counts = queue.counts()
    assert (counts["running"], counts["stalled"]) == (1, 1)
    assert queue.jobs("stalled", 1) == []
    with pytest.raises(InvalidArgument):
        queue.jobs("pending")


@proves("QL-17")
def test_queues_are_listed_in_the_order_of_their_first_use(qless: Any, hr: Client) -> None:
    assert qless.queues.counts() == []
    for name in ("b", "a"):
        qless.queues[name].put(1)
    qless.queues["b"].pop()

    found = qless.queues.counts()

    assert [(one["name"], one["waiting"], one["running"]) for one in found] == [
        ("b", 0, 1),
        ("a", 1, 0),
    ]
    qless.queues["b"].delete()
    assert list(hr.queues()) == ["a"]


@proves("QL-18")
def test_workers_are_listed_with_their_held_and_stalled_jobs(
    qless: Any, other: Any, clock: Clock, hr: Client
) -> None:
    for name in "abc":
        qless.queues["testing"].put(1, id=name)
    qless.queues["testing"].pop()
    clock.tick(30)
    qless.queues["testing"].pop()
    other.queues["testing"].pop()
    clock.tick(30)
    hr.session("idle")

    assert qless.workers.counts() == [
        {"name": "idle", "jobs": 0, "stalled": 0},
        {"name": "w1", "jobs": 1, "stalled": 1},
        {"name": "w2", "jobs": 1, "stalled": 0},
    ]
    assert qless.workers["w1"] == {"jobs": ["b"], "stalled": ["a"]}
    assert qless.workers["nobody"] == {"jobs": [], "stalled": []}


@proves("QL-19")
def test_paused_queue_accepts_puts_but_no_pops(qless: Any, queue: Any) -> None:
    queue.put(1, id="j")
    queue.pause()

    assert queue.pop() is None
    assert queue.peek().id == "j"
    assert (queue.counts())["paused"] is True
    queue.unpause()
    assert queue.pop().id == "j"

    qless.pause("testing", "other")
    queue.put(1, id="k")
    assert queue.pop() is None
    qless.unpause("testing", "other")
    assert queue.pop().id == "k"


@proves("QL-20")
def test_max_concurrency_limits_the_running_jobs_of_a_queue(
    qless: Any, queue: Any, clock: Clock
) -> None:
    qless.set_config("testing-max-concurrency", 2)
    for name in "abc":
        queue.put(1, id=name)

    assert len(queue.pop(3)) == 2
    clock.tick(60)
    assert len(queue.pop(3)) == 2
    assert qless.get_config("testing-max-concurrency") == 2
    qless.set_config("testing-max-concurrency")
    assert qless.get_config("testing-max-concurrency") is None
    assert len(queue.pop(3)) == 1


@proves("QL-21")
def test_jobs_of_several_queues_share_a_throttle(qless: Any) -> None:
    qless.throttles.set("api", 1, 100)
    for name in "ab":
        qless.queues[name].put(1, id=name, throttles=["api"])

    job = qless.queues["a"].pop()
    assert job.throttles == ["api"]
    assert qless.queues["b"].pop() is None
    assert qless.throttles.get("api") == {
        "id": "api",
        "maximum": 1,
        "ttl": 100,
        "locks": ["a"],
        "pending": ["b"],
    }
    job.complete()
    assert (qless.queues["b"].pop()).id == "b"

    qless.throttles.set("api", 0)
    for name in "ab":
        qless.queues[name].put(1, id=name, throttles=["api"])
        assert (qless.queues[name].pop()).id == name
    assert qless.throttles.delete("api") is True
    assert qless.throttles.delete("api") is False
    assert (qless.throttles.get("api"))["maximum"] == 0


@proves("QL-25")
def test_statistics_count_failed_jobs_failures_and_retries(queue: Any, clock: Clock) -> None:
    for name in "ab":
        queue.put(1, id=name)
        queue.pop().fail("kind", "why")
    queue.put(1, id="a")
    queue.pop()
    clock.tick(60)
    queue.pop()

    found = queue.stats()

    assert (found["failed"], found["failures"], found["retries"]) == (1, 2, 1)


def test_counts_cover_several_pages_of_workers_and_queues(
    qless: Any, hr: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.compat.common.PAGE", 2)
    names = [f"worker-{number}" for number in range(5)]
    for name in names:
        hr.session(name)
        qless.queues[name].put(1)

    assert [known["name"] for known in qless.workers.counts()] == names
    assert [known["name"] for known in qless.queues.counts()] == names
