"""Reads respect retention by the server's clock, although no write has deleted the data yet."""

from __future__ import annotations

import pytest

import headrace
from headrace import Client, Queue
from headrace.testing import Clock
from tests.support.dump import dump

DAY = 86400


def complete(queue: Queue, *ids: str, result: object = None) -> None:
    for job_id in ids:
        queue.put(1, id=job_id, tags=["t"])
    for lease in queue.pop("w", count=len(ids)):
        lease.complete() if result is None else lease.complete(result)


def test_completed_job_past_its_age_is_hidden_from_every_read(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.configure(keep_age=60)
    complete(queue, "old")
    clock.tick(30)
    complete(queue, "new")
    clock.tick(30)
    before = dump(hr)

    assert hr.job("old") is None
    assert hr.job("new") is not None
    assert [job.id for job in queue.jobs("complete").jobs] == ["new"]
    assert queue.jobs("complete").total == queue.counts().complete == 1
    assert [job.id for job in hr.tags.jobs("t").jobs] == ["new"]
    with pytest.raises(headrace.JobNotFound):
        hr.result("old")
    assert dump(hr) == before
    assert hr.audit().problems == []


def test_completed_jobs_beyond_a_lowered_count_are_hidden(hr: Client, queue: Queue) -> None:
    complete(queue, "a", "b", "c")
    queue.configure(keep_count=2)

    assert [hr.job(job_id) is None for job_id in "abc"] == [True, False, False]
    assert [job.id for job in queue.jobs("complete").jobs] == ["c", "b"]
    pages = [queue.jobs("complete", offset=at, count=1).jobs for at in range(3)]
    assert [[job.id for job in page] for page in pages] == [["c"], ["b"], []]
    assert queue.counts().complete == 2


def test_result_past_its_time_is_hidden_and_then_its_job(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.configure(keep_age=60, result_ttl=90)
    complete(queue, "a", result="well")
    clock.tick(89)
    assert hr.result("a").value == "well"
    assert hr.job("a").has_result  # type: ignore[union-attr]
    clock.tick(1)

    assert hr.job("a") is None
    for take in (False, True):
        with pytest.raises(headrace.JobNotFound):
            hr.result("a", take=take)


def test_result_past_its_time_is_hidden_while_its_job_is_kept(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.configure(result_ttl=90)
    complete(queue, "a", result="well")
    clock.tick(90)

    assert not hr.job("a").has_result  # type: ignore[union-attr]
    with pytest.raises(headrace.NoResult):
        hr.result("a")


@pytest.mark.parametrize("setting", ["stats_age", "histogram_age"])
def test_changed_age_applies_to_days_that_exist(
    hr: Client, queue: Queue, clock: Clock, setting: str
) -> None:
    complete(queue, "a")
    today = next(iter(hr.events())).at.date()

    def shown() -> int:
        found = queue.stats(today)
        return found.run.count if setting == "stats_age" else sum(found.run.histogram)

    hr.config.set(setting, 2 * DAY)
    clock.tick(3 * DAY)
    assert shown() == 0
    hr.config.set(setting, 5 * DAY)
    assert shown() == 1
    clock.tick(1.5 * DAY)
    hr.sweep()
    assert shown() == 1
    hr.config.set(setting, 2 * DAY)
    assert shown() == 0


def test_raised_age_keeps_a_day_beyond_its_first_end(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.configure(stats_age=2 * DAY, histogram_age=2 * DAY)
    complete(queue, "a")
    today = next(iter(hr.events())).at.date()
    queue.configure(stats_age=9 * DAY, histogram_age=9 * DAY)
    for days in (4, 4):
        clock.tick(days * DAY)
        hr.sweep()
        found = queue.stats(today)
        assert (found.run.count, sum(found.run.histogram)) == (1, 1)
    clock.tick(3 * DAY)
    hr.sweep()
    assert not any("stats:" in str(key) or "histogram:" in str(key) for key in dump(hr))
