"""Workers that stand still: past their session they are not heard any more; busy ones live on."""

from __future__ import annotations

import os
from collections.abc import Callable
from signal import SIGCONT, SIGSTOP, SIGTERM, Signals

import pytest

from tests.proof import proves
from tests.worker.judge import assert_done_once
from tests.worker.site import Site, Work

ROUNDS = 3
SLEEPERS, PEERS = 10, 20
SAYINGS = ("progress", "log", "heartbeat")


def process_alone(work: Work, number: Signals) -> None:
    os.kill(work.processes()[0], number)


def whole_tree(work: Work, number: Signals) -> None:
    work.signal_all(number)


@proves("W-41")
@pytest.mark.slow
@pytest.mark.parametrize("signal", [process_alone, whole_tree])
def test_what_a_worker_says_that_was_stopped_past_its_session_is_refused(
    site: Site, signal: Callable[[Work, Signals], None]
) -> None:
    sleeper = site.work("-c", str(SLEEPERS), "--session", "1")
    site.work("-c", str(PEERS), "--session", "1")
    ids: list[str] = []
    for number in range(ROUNDS):
        # As many as both can run: so the sleeper has work in every round.
        new = site.put_many(SLEEPERS + PEERS, "talks_late", name=f"gate {number}")
        site.wait_for_notes(len(new), f"begun gate {number}")
        slept_on = {
            (note.id, note.attempt)
            for note in site.notes(f"begun gate {number}")
            if note.pid in sleeper.processes()
        }
        assert len(slept_on) == SLEEPERS
        signal(sleeper, SIGSTOP)
        site.open_gate(f"gate {number}")
        site.wait_for("complete", *new)
        for job_id, attempt in slept_on:
            assert site.job(job_id).attempt > attempt
            assert "lost" in site.kinds(job_id)

        signal(sleeper, SIGCONT)
        for saying in SAYINGS:
            site.wait_for_notes(SLEEPERS * (number + 1), f"refused {saying}")
            accepted = site.notes(f"accepted {saying}")
            assert {(note.id, note.attempt) for note in accepted} & slept_on == set()
        ids += new
    assert_done_once(site, ids, "ran")


@pytest.mark.slow
def test_without_its_supervisor_a_process_lets_go_of_its_jobs_and_later_goes_on(site: Site) -> None:
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
def test_a_job_that_holds_the_interpreters_lock_past_ten_sessions_is_kept(
    site: Site, task: str
) -> None:
    # Whoever gets it, the others are hungry: a sibling process, and another worker.
    site.work("--processes", "2", "--session", "0.7", "-c", "4")
    site.work("--session", "0.7", "-c", "4")
    hog = site.put(task, seconds=7.5)
    site.wait_for_notes(1, "ran")
    others = site.put_many(20, "quick")
    site.wait_for("complete", hog)
    assert site.kinds(hog) == ["put", "popped", "completed"]
    site.wait_for("complete", *others)
    assert_done_once(site, [hog])
