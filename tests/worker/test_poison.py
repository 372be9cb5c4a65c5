"""Poison jobs and hanging jobs fail in the end and do not harm other jobs."""

from __future__ import annotations

import os

import pytest

from headrace.worker.poison import StartedJobs, SuspectJobs, is_suspect
from tests.worker.support.jobs import popped
from tests.worker.support.site import Site
from tests.worker.support.verify import assert_done_once


@pytest.mark.slow
@pytest.mark.parametrize("how", ["exit", "kill", "fault"])
def test_poison_job_fails_when_its_retries_are_exhausted(site: Site, how: str) -> None:
    work = site.work("--processes", "2")
    poison = site.queue.put({"task": "dies", "args": {"how": how}}, retries=2)
    [job] = site.wait_for("failed", poison)
    assert job.attempt == 3
    assert site.kinds(poison)[-3:] == ["lost", "popped", "failed"]
    site.wait_for("complete", *site.put_many(50, "quick"))
    assert not work.has_ended()


def test_isolated_poison_jobs_do_not_affect_other_jobs(site: Site) -> None:
    work = site.work()
    poisons = [
        site.queue.put({"task": "dies_isolated", "args": {"how": how}}, retries=1)
        for how in ("exit", "kill", "fault")
    ]
    others = site.put_many(10, "isolated") + site.put_many(20, "quick")
    for job in site.wait_for("failed", *poisons):
        assert job.failure is not None
        assert job.failure.type == "Crashed"
        assert job.attempt == 2
    for job in site.wait_for("complete", *others):
        assert job.remaining == job.retries
    assert "died" not in work.log()


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_jobs_that_run_next_to_a_poison_job_complete(site: Site) -> None:
    site.work("--processes", "2", "-c", "50", "--session", "1")
    innocents = site.queue.put_many([{"task": "brief", "args": {"seconds": 0.05}}] * 100, retries=2)
    poison = site.queue.put({"task": "dies", "args": {"how": "kill"}}, retries=3)
    innocents += site.queue.put_many(
        [{"task": "brief", "args": {"seconds": 0.05}}] * 100, retries=2
    )
    site.wait_for("failed", poison)
    # The job ran four times. A worker may also have released it before it ran.
    assert site.kinds(poison).count("lost") == 3
    site.wait_for("complete", *innocents)
    assert_done_once(site, innocents)


HANGS = {"gate": "never", "gate_sync": "never", "gate_in_c": "pipe", "gate_isolated": "never"}


def test_hanging_jobs_fail_with_timeout_and_free_their_slots(site: Site) -> None:
    os.mkfifo(site.home / "pipe")
    site.work("-c", "4")
    # More jobs hang than the worker has threads, so the worker must replace abandoned threads.
    for number in range(3):
        hung = [
            site.queue.put(
                {"task": task, "args": {"name": gate}, "timeout": 0.3 + 0.01 * number}, retries=0
            )
            for task, gate in HANGS.items()
        ]
        for job in site.wait_for("failed", *hung):
            assert job.failure is not None
            assert job.failure.type == "Timeout"
            assert "timeout" in job.failure.message
    assert len(site.notes("begun")) == 3 * len(HANGS)
    names = ["gate", "gate_sync", "gate_isolated", "gate_sync"]
    again = [site.put(task, name="later") for task in names]
    site.wait_for_notes(16, "begun")
    site.open_gate("later")
    site.wait_for("complete", *again)


def test_hanging_job_without_a_timeout_occupies_only_its_own_slot(site: Site) -> None:
    os.mkfifo(site.home / "pipe")
    site.work("-c", "5")
    hung = [site.put(task, name=gate) for task, gate in HANGS.items()]
    site.wait_for_notes(4, "begun")
    others = [
        *site.put_many(20, "quick"),
        *site.put_many(20, "sync"),
        *site.put_many(3, "isolated"),
    ]
    site.wait_for("complete", *others)
    assert [site.job(job_id).state for job_id in hung] == ["running"] * 4


def test_timed_out_job_is_retried(site: Site) -> None:
    site.work()
    data = {"task": "gate_sync", "args": {"name": "second"}, "timeout": 0.5}
    job_id = site.queue.put(data, retries=100)
    site.wait_for_notes(2, "begun")
    site.open_gate("second")
    [job] = site.wait_for("complete", job_id)
    assert job.attempt >= 2
    assert site.kinds(job_id)[:3] == ["put", "popped", "retried"]


def test_prefetched_jobs_lose_no_retry_when_their_process_dies(site: Site) -> None:
    # The process runs one job at a time, so no other job has started when the poison job kills it.
    site.work("--concurrency", "1")
    site.wait_for("complete", *site.put_many(600, "quick"))
    site.queue.pause()
    poison = site.queue.put({"task": "dies", "args": {"how": "kill"}}, retries=0)
    behind = site.queue.put_many([{"task": "quick", "args": {}}] * 200, retries=0)
    site.queue.resume()
    site.wait_for("failed", poison)

    # Jobs that had finished but were not acknowledged count as started.
    harmed = {job.id for job in site.hr.jobs(behind) if job.state == "failed"}
    assert harmed <= {note.id for note in site.notes()}


@pytest.mark.parametrize(
    ("outcomes", "suspect"),
    [
        ((), False),
        (("lost",), False),
        (("lost", "lost"), True),
        (("lost", "retried"), False),
        (("retried", "lost"), False),
        (("lost", "released", "lost", "released"), True),
        (("lost", "lost", "retried", "lost"), False),
        (("retried", "lost", "lost", "lost"), True),
    ],
)
def test_job_reclaimed_twice_in_a_row_is_a_suspect(
    outcomes: tuple[str, ...],
    suspect: bool,  # noqa: FBT001 - a column of the table
) -> None:
    assert is_suspect(popped(*outcomes)) is suspect


def test_suspects_run_one_at_a_time() -> None:
    suspects = SuspectJobs()
    first, second = popped(name="a"), popped(name="b")

    assert (bool(suspects), suspects.start()) == (False, None)
    assert suspects.add(first)
    assert not suspects.add(second)
    assert suspects.start() is first
    assert suspects.start() is None
    assert not suspects.add(second)
    suspects.forget(first)
    assert (bool(suspects), suspects.careful) == (False, True)
    assert suspects.add(second)
    assert suspects.waiting() is second
    suspects.forget(second)
    assert not suspects


def test_started_jobs_are_listed_until_they_are_removed() -> None:
    started = StartedJobs(concurrency=2)
    for job_id in ("a", "too long for a slot" * 20, "b"):
        started.add(job_id)
    started.remove("b")

    assert started.ids() == {"a"}
    started.close()
