"""Retention: finished jobs are deleted by age and number, also in idle queues."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from headrace import Client, Queue
from headrace.testing import START, Clock
from tests.proof import proves
from tests.support.dump import dump
from tests.support.jobs import drain, found, ids, pop_one

DAY = timedelta(days=1)
MOMENT = timedelta(milliseconds=1)

Nudge = Callable[[Client], object]


def complete(queue: Queue, *names: str, result: bool = False) -> None:
    for name in names:
        queue.put(1, id=name)
        lease = pop_one(queue)
        if result:
            lease.complete("result")
        else:
            lease.complete()


def sweep(hr: Client) -> None:
    hr.sweep()


def put_elsewhere(hr: Client) -> None:
    hr.queue("elsewhere").put(1)


def pop_elsewhere(hr: Client) -> None:
    hr.queue("elsewhere").pop("w1")


def complete_elsewhere(hr: Client) -> None:
    complete(hr.queue("elsewhere"), "other")


every_nudge = pytest.mark.parametrize(
    "nudge", [sweep, put_elsewhere, pop_elsewhere, complete_elsewhere]
)


def keys(hr: Client, role: str) -> list[str]:
    """Return all keys of a role that ends with a colon, or the single key of this name."""
    end = "" if role.endswith(":") else "$"
    named = re.compile(f"}}:{re.escape(role)}{end}")
    return [key for key in dump(hr) if named.search(key) and "elsewhere" not in key]


# statistics


@proves("Q-11", "Q-12", "Q-100")
@every_nudge
def test_histogram_is_kept_for_7_days_and_summary_for_30_days(
    hr: Client, queue: Queue, clock: Clock, nudge: Nudge
) -> None:
    complete(queue, "x")
    day = START.date()

    clock.set(START + 8 * DAY - MOMENT)
    nudge(hr)
    assert sum(queue.stats(day).wait.histogram) == 1

    clock.set(START + 8 * DAY)
    nudge(hr)
    assert keys(hr, "histogram:") == []
    for series in (queue.stats(day).wait, queue.stats(day).run):
        assert (series.count, sum(series.histogram)) == (1, 0)

    clock.set(START + 31 * DAY - MOMENT)
    nudge(hr)
    assert queue.stats(day).wait.count == 1

    clock.set(START + 31 * DAY)
    nudge(hr)
    assert queue.stats(day).wait.count == 0
    assert keys(hr, "stats:") == keys(hr, "days:") == []


@proves("Q-100")
def test_histogram_of_each_day_expires_separately(hr: Client, queue: Queue, clock: Clock) -> None:
    for number in range(5):
        complete(queue, f"{number}")
        clock.tick(DAY)

    clock.set(START + 10 * DAY)
    hr.sweep()

    kept = [len(queue.stats((START + day * DAY).date()).wait.bins) for day in range(5)]
    assert kept == [0, 0, 0, 1, 1]


@proves("Q-11", "Q-12")
def test_a_queue_may_have_other_limits(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.configure(stats_age=2 * DAY, histogram_age=0)
    complete(queue, "x")

    clock.set(START + DAY)
    hr.sweep()
    assert (queue.stats(START.date()).run.count, keys(hr, "histogram:")) == (1, [])
    clock.set(START + 3 * DAY)
    hr.sweep()
    assert keys(hr, "stats:") == []


# completed jobs


@proves("Q-14", "Q-15")
@every_nudge
def test_completed_job_is_deleted_after_7_days_even_from_an_idle_queue(
    hr: Client, queue: Queue, clock: Clock, nudge: Nudge
) -> None:
    complete(queue, "x")

    clock.set(START + 7 * DAY - MOMENT)
    nudge(hr)
    assert found(hr, "x").state == "complete"

    clock.set(START + 7 * DAY)
    nudge(hr)
    assert hr.job("x") is None
    assert (queue.counts().complete, keys(hr, "job:x"), keys(hr, "complete:")) == (0, [], [])
    assert hr.audit().problems == []


@proves("Q-15")
def test_each_job_is_deleted_when_it_is_too_old(hr: Client, queue: Queue, clock: Clock) -> None:
    for name in "abc":
        complete(queue, name)
        clock.tick(DAY)

    left = []
    for day in (7, 8, 9):
        clock.set(START + day * DAY)
        hr.sweep()
        left.append(ids(queue.jobs("complete").jobs))
    assert left == [["c", "b"], ["c"], []]


@proves("Q-13", "Q-15")
def test_oldest_completed_jobs_are_deleted_above_the_limit(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.configure(keep_count=3)
    for name in "zayb":
        complete(queue, name)
        clock.tick(1)

    assert ids(queue.jobs("complete").jobs) == ["b", "y", "a"]
    assert hr.job("z") is None
    assert hr.audit().problems == []


@proves("Q-15")
def test_limits_on_age_and_number_apply_together(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.configure(keep_count=2, keep_age=10)
    for name in "abc":
        complete(queue, name)
        clock.tick(4)
    assert ids(queue.jobs("complete").jobs) == ["c", "b"]

    clock.tick(2)
    hr.sweep()

    assert ids(queue.jobs("complete").jobs) == ["c"]


@proves("Q-14")
@pytest.mark.parametrize("limits", [{"keep_age": 0}, {"keep_count": 0}])
def test_a_queue_may_keep_no_completed_job(
    hr: Client, queue: Queue, limits: dict[str, Any]
) -> None:
    queue.configure(**limits)

    complete(queue, "x")

    assert hr.job("x") is None
    assert (queue.counts().complete, queue.stats().run.count) == (0, 1)
    assert hr.audit().problems == []


@proves("Q-13", "Q-14")
def test_one_sweep_deletes_thousands_of_expired_jobs(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.put_many(range(1500))
    while leases := queue.pop("w1", count=500):
        hr.leases.complete(leases)
    assert queue.counts().complete == 1500

    clock.tick(7 * DAY)
    hr.sweep()

    assert queue.counts().complete == 0
    assert hr.audit().problems == []


@proves("Q-13", "Q-14")
@pytest.mark.parametrize("scope", ["queue", "namespace"])
@pytest.mark.parametrize(("limit", "value"), [("keep_count", 1), ("keep_age", 3)])
def test_lower_limit_applies_from_the_next_sweep(
    hr: Client, clock: Clock, limit: str, value: int, scope: str
) -> None:
    queue = hr.queue("mail")
    for name in "abc":
        complete(queue, name)
        clock.tick(2)

    if scope == "queue":
        queue.configure(**{limit: value})  # type: ignore[arg-type]
    else:
        hr.config.set(limit, value)
    hr.sweep()

    assert ids(queue.jobs("complete").jobs) == ["c"]
    assert hr.audit().problems == []


@proves("QD-14")
def test_failed_jobs_are_kept_until_an_operator_decides(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.put(1, id="x")
    pop_one(queue).fail("broken")

    clock.tick(3650 * DAY)
    hr.sweep()

    assert hr.failures.counts() == {"broken": 1}
    hr.retry("x")
    assert drain(queue) == ["x"]


def test_waiting_and_scheduled_jobs_are_kept_without_limit(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.put(1, id="waits")
    queue.put(1, id="later", delay=3650 * DAY)

    clock.tick(3649 * DAY)
    hr.sweep()

    assert (queue.counts().waiting, queue.counts().scheduled) == (1, 1)


# everything


def test_idle_namespace_shrinks_to_its_books_and_settings(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    complete(queue, "x", "y", result=True)
    queue.put("x" * 5000, id="z")
    lease = pop_one(queue)
    lease.log("line")
    lease.progress(0.5)
    lease.complete("result" * 1000)

    for _ in range(3):
        clock.tick(40 * DAY)
        hr.sweep()

    left = {key.partition("}:")[2] for key in dump(hr)}
    assert left == {"agenda", "books:mail", "events", "log", "meta", "queues", "settings:mail"}
