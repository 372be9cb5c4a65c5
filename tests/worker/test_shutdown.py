"""Shutdown: running jobs may finish, other jobs are released, and the process always exits."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from signal import SIGINT, SIGKILL, SIGTERM

import pytest

from tests.support.processes import gone
from tests.support.restartable import restartable
from tests.support.servers import until
from tests.worker.support.site import Site, Work, site_on

SHUTTING_DOWN = "shutting down"
HANGS = ["gate", "stubborn", "gate_sync", "gate_in_c", "gate_isolated", "awaits_a_thread"]


def hang(site: Site) -> list[str]:
    """Start jobs of every kind that never end, and return their ids."""
    os.mkfifo(site.home / "pipe")
    ids = [site.put(task, name="pipe" if task == "gate_in_c" else "never") for task in HANGS]
    site.wait_for_notes(len(HANGS), "begun")
    return ids


def assert_released(site: Site, ids: list[str]) -> None:
    """Assert that the jobs are at the front of the queue, unchanged, and no longer run."""
    assert [job.id for job in site.queue.peek(10)] == ids
    for job_id in ids:
        job = site.job(job_id)
        assert (job.state, job.remaining) == ("waiting", job.retries)
        assert site.kinds(job_id) == ["put", "popped", "released"]
    pids = {note.pid for note in site.notes("begun")}
    until(lambda: all(map(gone, pids)), "the processes are gone")
    assert {note.id for note in site.notes("cancelled")} >= set(ids[:2])


def term(work: Work) -> None:
    work.signal(SIGTERM)


def term_all(work: Work) -> None:
    work.signal_all(SIGTERM)


def interrupt(work: Work) -> None:
    work.signal_all(SIGINT)


def teach_prefetch(site: Site, work: Work) -> None:
    """Run quick jobs first, so that the worker prefetches more jobs than it can run."""
    site.wait_for("complete", *site.put_many(400, "quick"))
    assert not work.has_ended()


@pytest.mark.parametrize("end", [term, term_all, interrupt])
def test_signal_lets_running_jobs_finish_and_releases_prefetched_jobs(
    site: Site, end: Callable[[Work], None]
) -> None:
    work = site.work("-c", "2", "--drain", "1000")
    teach_prefetch(site, work)
    running = [site.put("gate", name="slow"), site.put("gate_isolated", name="slow")]
    site.wait_for_notes(2, "begun")
    rest = site.put_many(10, "gate", name="slow")
    until(lambda: "popped" in site.kinds(rest[0]), "the worker prefetches jobs")
    end(work)
    until(
        lambda: SHUTTING_DOWN in work.log() and site.queue.counts().waiting == 10,
        "all jobs are released",
    )
    assert [job.id for job in site.queue.peek(10)] == rest
    assert [site.job(job_id).state for job_id in running] == ["running"] * 2
    assert not work.has_ended()

    site.open_gate("slow")
    assert work.exit_code() == 0
    for job_id in running:
        assert site.kinds(job_id) == ["put", "popped", "completed"]
    assert [job.id for job in site.queue.peek(10)] == rest
    assert {job.remaining for job in site.hr.jobs(rest)} == {5}
    assert site.hr.workers.list() == []


def test_jobs_that_run_past_the_drain_time_are_released(site: Site) -> None:
    work = site.work("--drain", "0.2", "-c", str(len(HANGS)))
    ids = hang(site)
    work.signal(SIGTERM)
    assert work.exit_code() == 0
    assert_released(site, ids)


@pytest.mark.parametrize("end", [term, interrupt])
def test_second_signal_releases_running_jobs_at_once(
    site: Site, end: Callable[[Work], None]
) -> None:
    work = site.work("--drain", "1000", "-c", str(len(HANGS)))
    ids = hang(site)
    end(work)
    until(lambda: SHUTTING_DOWN in work.log(), "the worker is shutting down")
    assert not work.has_ended()
    end(work)
    assert work.exit_code() == 0
    assert_released(site, ids)


def test_worker_process_that_gets_sigterm_alone_is_replaced(site: Site) -> None:
    work = site.work("-c", "2")
    running = site.put("gate", name="slow")
    [note] = site.wait_for_notes(1, "begun")
    os.kill(note.pid, SIGTERM)
    rest = site.put_many(3, "gate", name="slow")
    site.open_gate("slow")
    site.wait_for("complete", running, *rest)
    assert site.kinds(running) == ["put", "popped", "completed"]
    until(lambda: gone(note.pid) and len(work.processes()) == 1, "another process has replaced it")
    assert not work.has_ended()
    assert "died" not in work.log()


@pytest.mark.slow
def test_process_whose_job_holds_the_interpreter_lock_is_killed_at_shutdown(site: Site) -> None:
    work = site.work("--drain", "0.2", "-c", "2", "--session", "1")
    held = site.put("gate", name="never")
    site.wait_for_notes(1, "begun")
    hog = site.put("hog", seconds=1000)
    site.wait_for_notes(1, "ran")
    work.signal(SIGTERM)
    assert work.exit_code() == 0
    assert [job.id for job in site.queue.peek(2)] == [held, hog]
    for job_id in (held, hog):
        job = site.job(job_id)
        assert (job.state, job.remaining) == ("waiting", job.retries)
    assert "sent SIGKILL" in work.log()


def test_process_whose_supervisor_is_killed_releases_its_jobs_and_exits(site: Site) -> None:
    work = site.work("--processes", "2", "-c", "2", "--session", "60")
    ids = site.put_many(4, "gate", name="never")
    site.wait_for_notes(4, "begun")
    processes = work.processes()
    work.signal(SIGKILL)
    until(lambda: site.queue.counts().waiting == 4, "all jobs are released")
    until(lambda: all(map(gone, processes)), "the processes are gone")
    for job_id in ids:
        assert site.kinds(job_id) == ["put", "popped", "released"]


def test_isolated_process_dies_with_its_worker(site: Site) -> None:
    work = site.work("--session", "1")
    site.put("gate_isolated", name="never")
    [note] = site.wait_for_notes(1, "begun")
    os.kill(work.processes()[0], SIGKILL)
    until(lambda: gone(note.pid), "the isolated process is gone")
    site.wait_for_notes(2, "begun")


def is_waiting_again(site: Site, job_id: str) -> bool:
    site.hr.sweep()
    return site.job(job_id).state == "waiting"


@pytest.mark.slow
def test_worker_stops_during_a_server_outage(tmp_path: Path) -> None:
    with restartable() as server, site_on(server.url, tmp_path) as site:
        work = site.work("--drain", "0.2", "--session", "1")
        job_id = site.put("gate", name="never")
        site.wait_for_notes(1, "begun")
        server.kill()
        work.signal(SIGTERM)
        assert work.exit_code() == 0
        assert len(site.notes("cancelled")) == 1
        server.start()
        until(lambda: is_waiting_again(site, job_id), "the job is waiting again")


def test_worker_stops_while_it_loads_the_app(site: Site, tmp_path: Path) -> None:
    (tmp_path / "slow_app.py").write_text(
        "import pathlib, time\npathlib.Path('loading').touch()\ntime.sleep(1000)\n"
    )
    work = site.work("--processes", "2", app="slow_app:app", cwd=tmp_path)
    until((tmp_path / "loading").exists, "the app is being loaded")
    work.signal(SIGTERM)
    assert work.exit_code() == 0
