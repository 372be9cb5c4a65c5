"""Outcomes of runs: cancelled, snoozed, discarded, retried, failed and complete."""

from __future__ import annotations

import pytest

from tests.support.processes import gone
from tests.support.servers import until
from tests.worker.support.site import Site


@pytest.mark.parametrize("task", ["gate", "gate_sync", "gate_isolated"])
def test_cancelled_job_stops_and_frees_its_slot(site: Site, task: str) -> None:
    work = site.work("-c", "1")
    job_id = site.put(task, name="never")
    [note] = site.wait_for_notes(1, "begun")
    site.hr.cancel(job_id)
    # The worker has one slot, so the next jobs complete only if the slot is free again.
    site.wait_for("complete", site.put("quick"), site.put("sync"))
    if task == "gate":
        assert [one.id for one in site.notes("cancelled")] == [job_id]
    if task == "gate_isolated":
        until(lambda: gone(note.pid), "the isolated process is gone")
    site.open_gate("never")
    site.wait_for("complete", site.put("sync"))
    assert site.notes("ended") == []
    assert site.kinds(job_id) == ["put", "popped", "cancelled"]
    assert "died" not in work.log()


def test_context_shows_a_sync_task_that_its_job_was_cancelled(site: Site) -> None:
    site.work()
    job_id = site.put("attentive")
    site.wait_for_notes(1, "begun")
    site.hr.cancel(job_id)
    site.wait_for_notes(1, "saw LeaseLost True")
    assert site.kinds(job_id) == ["put", "popped", "cancelled"]


def test_sync_task_that_ignores_the_cancellation_is_interrupted(site: Site) -> None:
    site.work("-c", "1")
    job_id = site.put("gate_sync", name="never")
    site.wait_for_notes(1, "begun")
    site.hr.cancel(job_id)
    site.wait_for("complete", site.put("sync"))
    site.open_gate("never")
    site.wait_for("complete", site.put("sync"))
    assert site.notes("ended") == []


def test_snoozed_job_runs_again_without_losing_a_retry(site: Site) -> None:
    site.work()
    job_id = site.queue.put({"task": "snoozes", "args": {"times": 3}}, retries=1)
    [job] = site.wait_for("complete", job_id)
    assert (job.attempt, job.remaining) == (4, 1)
    assert [note.attempt for note in site.notes("ran")] == [1, 2, 3, 4]


def test_discarded_job_fails_permanently(site: Site) -> None:
    site.work()
    [job] = site.wait_for("failed", site.put("discards"))
    assert job.failure is not None
    assert (job.failure.type, job.failure.message) == ("Useless", "useless")
    assert (job.attempt, job.remaining) == (1, 5)


def test_retry_with_a_delay_overrides_the_backoff(site: Site) -> None:
    site.work()
    job_id = site.put("retries", delay=0.4)
    [job] = site.wait_for("complete", job_id)
    assert (job.attempt, job.remaining) == (2, 4)
    [retried] = [event for event in site.hr.events() if event.kind == "retried"]
    assert (retried.delay, retried.message) == (400, "once more")
    first, second = site.notes("ran")
    assert second.at - first.at >= 0.39


def test_failing_job_is_retried_by_its_backoff(site: Site) -> None:
    site.work()
    backoff = {"first": 0.02, "factor": 3, "most": 0.1, "jitter": 0}
    data = {"task": "fails", "args": {}, "backoff": backoff}
    job_id = site.queue.put(data, retries=4)
    [job] = site.wait_for("failed", job_id)
    assert job.failure is not None
    assert (job.failure.type, job.failure.message) == ("ValueError", "no")
    delays = [event.delay for event in site.hr.events() if event.kind == "retried"]
    assert delays == [20, 60, 100, 100]


def test_jobs_that_fail_twice_and_then_succeed_are_complete(site: Site) -> None:
    site.work("--processes", "2")
    ids = site.put_many(40, "fails_but_last", times=2)
    for job in site.wait_for("complete", *ids):
        assert (job.attempt, job.remaining) == (3, 3)


def test_results_can_be_read_from_the_server(site: Site) -> None:
    site.work()
    ids = site.queue.put_many([{"task": "double", "args": {"number": n}} for n in range(30)])
    assert [site.hr.result(job_id, wait=20).value for job_id in ids] == [2 * n for n in range(30)]
