"""Checks of the server's events against the notes of the tasks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

from headrace import Event
from tests.worker.support.site import Site

RETURNED = {"lost", "released", "retried"}


def histories(site: Site) -> dict[str, list[Event]]:
    """Return the events of each job, in order."""
    found: dict[str, list[Event]] = defaultdict(list)
    for event in site.hr.events(count=10_000):
        found[event.job_id].append(event)
    return found


def assert_done_once(site: Site, ids: Iterable[str], word: str = "ran") -> None:
    """Assert that each job completed once, and that each attempt ran at most once.

    Every further run therefore belongs to a job that was reclaimed, released or retried.
    """
    by_job = histories(site)
    executed: dict[str, Counter[int]] = defaultdict(Counter)
    for note in site.notes(word):
        executed[note.id][note.attempt] += 1
    for job_id in ids:
        history = by_job[job_id]
        kinds = [event.kind for event in history]
        assert kinds[0] == "put"
        assert kinds[-1] == "completed", kinds
        assert kinds.count("completed") == 1
        for before, after in pairwise(history):
            if after.kind == "popped":
                assert before.kind in {"put", "due", *RETURNED}, kinds
            elif after.kind != "due":
                assert before.kind == "popped", kinds
                assert (before.worker, before.attempt) == (after.worker, after.attempt)
        deliveries = [event.attempt for event in history if event.kind == "popped"]
        assert deliveries == list(range(1, len(deliveries) + 1))
        assert set(executed[job_id].values()) == {1}, (job_id, executed[job_id], kinds)
        assert set(executed[job_id]) <= set(deliveries)
        assert history[-1].attempt in executed[job_id]
    assert site.hr.audit().problems == []


def assert_never_lost(site: Site, ids: Sequence[str], word: str = "begun") -> None:
    """Assert that no lease of these jobs was lost, no retry was spent, and no job ran twice."""
    assert [event for event in site.hr.events(count=10_000) if event.kind == "lost"] == []
    assert {(job.attempt, job.remaining) for job in site.hr.jobs(ids)} == {(1, 5)}
    assert_done_once(site, ids, word)
