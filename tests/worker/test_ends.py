"""How a worker ends: what runs may end, the rest is given back, and nothing holds the process."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from signal import SIGINT, SIGKILL, SIGTERM

import pytest

from tests.processes import gone
from tests.restartable import restartable
from tests.servers import until
from tests.worker.site import Site, Work, site_on

TOLD = "told to end"
HANGS = ["gate", "stubborn", "gate_plain", "gate_in_c", "gate_apart", "awaits_a_thread"]


def hang(site: Site) -> list[str]:
    """Jobs of every kind that are begun and never end."""
    os.mkfifo(site.home / "pipe")
    ids = [site.put(task, name="pipe" if task == "gate_in_c" else "never") for task in HANGS]
    site.wait_for_notes(len(HANGS), "begun")
    return ids


def assert_given_back(site: Site, ids: list[str]) -> None:
    """The jobs are the next ones, as they were, and nothing of them runs on."""
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


def after_a_lesson(site: Site, work: Work) -> None:
    """A worker that has learned that jobs are quick takes more of them than it can run."""
    site.wait_for("complete", *site.put_many(400, "quick"))
    assert not work.has_ended()


@pytest.mark.parametrize("end", [term, term_all, interrupt])
def test_told_to_end_what_runs_may_end_and_the_rest_is_back_at_once(
    site: Site, end: Callable[[Work], None]
) -> None:
    work = site.work("-c", "2", "--drain", "1000")
    after_a_lesson(site, work)
    running = [site.put("gate", name="slow"), site.put("gate_apart", name="slow")]
    site.wait_for_notes(2, "begun")
    rest = site.put_many(10, "gate", name="slow")
    until(lambda: "popped" in site.kinds(rest[0]), "more is taken than can run")
    end(work)
    until(lambda: TOLD in work.log() and site.queue.counts().waiting == 10, "all are back")
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


def test_what_does_not_end_in_time_is_given_back_unharmed(site: Site) -> None:
    work = site.work("--drain", "0.2", "-c", str(len(HANGS)))
    ids = hang(site)
    work.signal(SIGTERM)
    assert work.exit_code() == 0
    assert_given_back(site, ids)


@pytest.mark.parametrize("end", [term, interrupt])
def test_told_twice_to_end_everything_is_given_back_at_once(
    site: Site, end: Callable[[Work], None]
) -> None:
    work = site.work("--drain", "1000", "-c", str(len(HANGS)))
    ids = hang(site)
    end(work)
    until(lambda: TOLD in work.log(), "it was told")
    assert not work.has_ended()
    end(work)
    assert work.exit_code() == 0
    assert_given_back(site, ids)


def test_a_process_that_is_told_to_end_by_itself_is_replaced(site: Site) -> None:
    work = site.work("-c", "2")
    running = site.put("gate", name="slow")
    [note] = site.wait_for_notes(1, "begun")
    os.kill(note.pid, SIGTERM)
    rest = site.put_many(3, "gate", name="slow")
    site.open_gate("slow")
    site.wait_for("complete", running, *rest)
    assert site.kinds(running) == ["put", "popped", "completed"]
    until(lambda: gone(note.pid) and len(work.processes()) == 1, "it is replaced")
    assert not work.has_ended()
    assert "died" not in work.log()


@pytest.mark.slow
def test_a_job_that_holds_the_interpreters_lock_does_not_hold_the_process(site: Site) -> None:
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
    assert "killed" in work.log()


def test_a_process_whose_supervisor_is_killed_gives_everything_back_and_ends(site: Site) -> None:
    work = site.work("--processes", "2", "-c", "2", "--session", "60")
    ids = site.put_many(4, "gate", name="never")
    site.wait_for_notes(4, "begun")
    processes = work.processes()
    work.signal(SIGKILL)
    until(lambda: site.queue.counts().waiting == 4, "all are back")
    until(lambda: all(map(gone, processes)), "the processes are gone")
    for job_id in ids:
        assert site.kinds(job_id) == ["put", "popped", "released"]


def test_an_isolated_job_dies_with_its_worker(site: Site) -> None:
    work = site.work("--session", "1")
    site.put("gate_apart", name="never")
    [note] = site.wait_for_notes(1, "begun")
    os.kill(work.processes()[0], SIGKILL)
    until(lambda: gone(note.pid), "the isolated process is gone")
    site.wait_for_notes(2, "begun")


def is_back(site: Site, job_id: str) -> bool:
    site.hr.sweep()
    return site.job(job_id).state == "waiting"


@pytest.mark.slow
def test_a_worker_ends_also_while_the_server_is_away(tmp_path: Path) -> None:
    with restartable() as server, site_on(server.url, tmp_path) as site:
        work = site.work("--drain", "0.2", "--session", "1")
        job_id = site.put("gate", name="never")
        site.wait_for_notes(1, "begun")
        server.kill()
        work.signal(SIGTERM)
        assert work.exit_code() == 0
        assert len(site.notes("cancelled")) == 1
        server.start()
        until(lambda: is_back(site, job_id), "the job is back")


def test_a_worker_ends_before_it_has_begun(site: Site, tmp_path: Path) -> None:
    (tmp_path / "slow_app.py").write_text(
        "import pathlib, time\npathlib.Path('loading').touch()\ntime.sleep(1000)\n"
    )
    work = site.work("--processes", "2", app="slow_app:app", cwd=tmp_path)
    until((tmp_path / "loading").exists, "the app is being loaded")
    work.signal(SIGTERM)
    assert work.exit_code() == 0
