"""Jobs that kill their process, and jobs that hang: they come to an end, and harm no others."""

from __future__ import annotations

import os

import pytest

from tests.worker.judge import assert_done_once
from tests.worker.site import Site


@pytest.mark.slow
@pytest.mark.parametrize("how", ["exit", "kill", "fault"])
def test_a_job_that_kills_its_process_fails_when_its_retries_are_used_up(
    site: Site, how: str
) -> None:
    work = site.work("--processes", "2")
    poison = site.queue.put({"task": "dies", "args": {"how": how}}, retries=2)
    [job] = site.wait_for("failed", poison)
    assert job.attempt == 3
    assert site.kinds(poison)[-3:] == ["lost", "popped", "failed"]
    site.wait_for("complete", *site.put_many(50, "quick"))
    assert not work.has_ended()


def test_isolated_jobs_that_kill_their_process_cost_nobody_else_anything(site: Site) -> None:
    work = site.work()
    poisons = [
        site.queue.put({"task": "dies_apart", "args": {"how": how}}, retries=1)
        for how in ("exit", "kill", "fault")
    ]
    others = site.put_many(10, "apart") + site.put_many(20, "quick")
    for job in site.wait_for("failed", *poisons):
        assert job.failure is not None
        assert job.failure.type == "Crashed"
        assert job.attempt == 2
    for job in site.wait_for("complete", *others):
        assert job.remaining == job.retries
    assert "died" not in work.log()


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_innocent_jobs_beside_a_poison_job_all_complete(site: Site) -> None:
    site.work("--processes", "2", "-c", "50", "--session", "1")
    innocents = site.queue.put_many([{"task": "brief", "args": {"seconds": 0.05}}] * 100, retries=2)
    poison = site.queue.put({"task": "dies", "args": {"how": "kill"}}, retries=3)
    innocents += site.queue.put_many(
        [{"task": "brief", "args": {"seconds": 0.05}}] * 100, retries=2
    )
    site.wait_for("failed", poison)
    # Held and given back it may be more often, but it ran four times.
    assert site.kinds(poison).count("lost") == 3
    site.wait_for("complete", *innocents)
    assert_done_once(site, innocents)


HANGS = {"gate": "never", "gate_plain": "never", "gate_in_c": "pipe", "gate_apart": "never"}


def test_a_job_that_hangs_fails_with_timeout_and_the_others_go_on(site: Site) -> None:
    os.mkfifo(site.home / "pipe")
    site.work("-c", "4")
    # More often than there are threads: one that is left behind is replaced.
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
    names = ["gate", "gate_plain", "gate_apart", "gate_plain"]
    again = [site.put(task, name="later") for task in names]
    site.wait_for_notes(16, "begun")
    site.open_gate("later")
    site.wait_for("complete", *again)


def test_a_job_that_hangs_without_a_timeout_holds_only_its_own_slot(site: Site) -> None:
    os.mkfifo(site.home / "pipe")
    site.work("-c", "5")
    hung = [site.put(task, name=gate) for task, gate in HANGS.items()]
    site.wait_for_notes(4, "begun")
    others = [*site.put_many(20, "quick"), *site.put_many(20, "plain"), *site.put_many(3, "apart")]
    site.wait_for("complete", *others)
    assert [site.job(job_id).state for job_id in hung] == ["running"] * 4


def test_a_timed_out_job_is_tried_again(site: Site) -> None:
    site.work()
    data = {"task": "gate_plain", "args": {"name": "second"}, "timeout": 0.5}
    job_id = site.queue.put(data, retries=100)
    site.wait_for_notes(2, "begun")
    site.open_gate("second")
    [job] = site.wait_for("complete", job_id)
    assert job.attempt >= 2
    assert site.kinds(job_id)[:3] == ["put", "popped", "retried"]


def test_what_had_not_begun_loses_no_retry_when_its_process_dies(site: Site) -> None:
    # One at a time: nothing runs beside the poison, of which nobody could know how far it came.
    site.work("--concurrency", "1")
    site.wait_for("complete", *site.put_many(600, "quick"))
    site.queue.pause()
    poison = site.queue.put({"task": "dies", "args": {"how": "kill"}}, retries=0)
    behind = site.queue.put_many([{"task": "quick", "args": {}}] * 200, retries=0)
    site.queue.resume()
    site.wait_for("failed", poison)

    # What was done and not yet said cannot be known either.
    harmed = {job.id for job in site.hr.jobs(behind) if job.state == "failed"}
    assert harmed <= {note.id for note in site.notes()}
