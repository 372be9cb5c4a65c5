"""Stopped workers lose their session and their jobs; busy workers keep them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from signal import SIGCONT, SIGSTOP, SIGTERM, Signals

import pytest

from tests.proof import proves
from tests.support.servers import until
from tests.worker.support.site import Site, Work
from tests.worker.support.verify import assert_done_once

ROUNDS = 3
STOPPED, PEERS = 10, 20
REPORTS = ("progress", "log", "heartbeat")


def process_alone(work: Work, number: Signals) -> None:
    os.kill(work.processes()[0], number)


def whole_tree(work: Work, number: Signals) -> None:
    work.signal_all(number)


def has_stopped(pid: int) -> bool:
    """Return whether all threads of a process are stopped."""
    stats = [file.read_text() for file in Path(f"/proc/{pid}/task").glob("*/stat")]
    return all(stat.rpartition(")")[2].split()[0] == "T" for stat in stats)


@proves("W-41")
@pytest.mark.slow
@pytest.mark.parametrize("signal", [process_alone, whole_tree])
def test_worker_stopped_longer_than_its_session_is_refused_when_it_continues(
    site: Site, signal: Callable[[Work, Signals], None]
) -> None:
    stopped = site.work("-c", str(STOPPED), "--session", "1")
    site.work("-c", str(PEERS), "--session", "1")
    ids: list[str] = []
    for number in range(ROUNDS):
        # Put as many jobs as both workers can run, so that the stopped worker holds some jobs.
        new = site.put_many(STOPPED + PEERS, "reports_late", name=f"gate {number}")
        site.wait_for_notes(len(new), f"begun gate {number}")
        held_while_stopped = {
            (note.id, note.attempt)
            for note in site.notes(f"begun gate {number}")
            if note.pid in stopped.processes()
        }
        assert len(held_while_stopped) == STOPPED
        signal(stopped, SIGSTOP)
        # On a busy machine, the threads of a process run for a while after the signal.
        until(lambda: has_stopped(stopped.processes()[0]), "all threads have stopped")
        site.open_gate(f"gate {number}")
        site.wait_for("complete", *new)
        for job_id, attempt in held_while_stopped:
            assert site.job(job_id).attempt > attempt
            assert "lost" in site.kinds(job_id)

        signal(stopped, SIGCONT)
        for report in REPORTS:
            site.wait_for_notes(STOPPED * (number + 1), f"refused {report}")
            accepted = site.notes(f"accepted {report}")
            assert {(note.id, note.attempt) for note in accepted} & held_while_stopped == set()
        ids += new
    assert_done_once(site, ids, "ran")


@pytest.mark.slow
def test_process_with_a_stopped_supervisor_loses_its_jobs_and_works_again_later(site: Site) -> None:
    work = site.work("-c", "4", "--session", "1")
    held = site.put_many(4, "gate", name="first")
    site.wait_for_notes(4, "begun")
    work.signal(SIGSTOP)
    peer = site.work("-c", "4", "--session", "1")
    site.wait_for_notes(8, "begun")
    site.wait_for_notes(4, "cancelled")
    site.open_gate("first")
    site.wait_for("complete", *held)
    assert_done_once(site, held, "begun")

    work.signal(SIGCONT)
    peer.signal(SIGTERM)
    assert peer.exit_code() == 0
    site.wait_for("complete", *site.put_many(20, "quick"))


@pytest.mark.slow
@pytest.mark.parametrize("task", ["hog", "hog_the_loop"])
def test_job_that_holds_the_interpreter_lock_for_ten_sessions_keeps_its_lease(
    site: Site, task: str
) -> None:
    # A sibling process and another worker are idle and would take the job if it were reclaimed.
    site.work("--processes", "2", "--session", "0.7", "-c", "4")
    site.work("--session", "0.7", "-c", "4")
    hog = site.put(task, seconds=7.5)
    site.wait_for_notes(1, "ran")
    others = site.put_many(20, "quick")
    site.wait_for("complete", hog)
    assert site.kinds(hog) == ["put", "popped", "completed"]
    site.wait_for("complete", *others)
    assert_done_once(site, [hog])
