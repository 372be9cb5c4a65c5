"""scan_jobs: reads the jobs of a set page by page while the jobs change."""

from __future__ import annotations

import math

from headrace import Client, Put, Queue
from headrace.operations.job_sets import JOBS_PER_PAGE, JobSet, job_sets, read_jobs
from headrace.testing import Clock
from headrace.transport.drive import drive
from tests.model.jobs.checks.job_pages import ids_in, pages_have_every_job


def test_jobs_are_met_in_order_within_bounds(url: str) -> None:
    pages_have_every_job(url, {})


def test_scan_of_a_missing_set_is_empty(hr: Client) -> None:
    assert ids_in(hr, "waiting", "nobody's") == []


def test_lower_priorities_come_first_even_below_zero(hr: Client, queue: Queue) -> None:
    queue.put_many([Put(0, id=f"{priority}", priority=priority) for priority in (1.5, -2, 0)])
    assert ids_in(hr, "waiting", "mail") == ["-2", "0", "1.5"]


def test_job_that_stays_is_seen_once_while_others_come_and_go(hr: Client, queue: Queue) -> None:
    ids = [f"{number:04}" for number in range(2 * JOBS_PER_PAGE)]
    queue.put_many([Put(0, id=job_id) for job_id in ids])
    where = JobSet(0, "waiting", "mail", 0)
    cursor, first = drive(hr.core.transport, read_jobs(hr.core, where, -math.inf, math.inf, None))
    queue.pop("worker-1", count=50)
    queue.put(0, id="sooner", priority=-1)
    hr.cancel(ids[JOBS_PER_PAGE - 1])
    _, second = drive(hr.core.transport, read_jobs(hr.core, where, -math.inf, math.inf, cursor))
    assert [job.id for job in first + second] == ids


def test_time_bounds_apply_to_failed_complete_and_running_jobs(
    hr: Client, clock: Clock, queue: Queue
) -> None:
    for name in ("a", "b", "c"):
        clock.tick(1)
        queue.put(0, id=name)
        hr.fail(name, "io")
    ms = round(clock.now.timestamp() * 1000)
    assert ids_in(hr, "failed", "mail", ms - 1000) == ["b", "c"]
    assert ids_in(hr, "failed", "mail", highest=ms - 1000) == ["a", "b"]
    queue.put(0, id="d")
    hr.session("worker-1").serve("mail")
    queue.pop("worker-1", lease=math.inf)
    assert ids_in(hr, "running", "mail") == ["d"]
    assert ids_in(hr, "running", "mail", highest=ms) == []


def test_empty_sets_are_not_listed(hr: Client, queue: Queue) -> None:
    queue.put_many([0, 0, 0])
    queue.pop("worker-1")
    found = drive(hr.core.transport, job_sets(hr.core, ["mail", "nobody's"]))
    assert found == [JobSet(0, "waiting", "mail", 2), JobSet(0, "running", "mail", 1)]
