"""Whether what happened to jobs was right, by what the server logged and what the tasks noted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import pairwise

from headrace import Event
from tests.worker.site import Site

GIVES_UP = {"lost", "released", "retried"}


def histories(site: Site) -> dict[str, list[Event]]:
    """The events of each job, in order."""
    found: dict[str, list[Event]] = defaultdict(list)
    for event in site.hr.events(count=10_000):
        found[event.job_id].append(event)
    return found


def assert_done_once(site: Site, ids: Iterable[str], word: str = "ran") -> None:
    """Each job was completed once, and each delivery was executed at most once.

    So every further execution is that of a job that had been lost or given back.
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
                assert before.kind in {"put", "due", *GIVES_UP}, kinds
            elif after.kind != "due":
                assert before.kind == "popped", kinds
                assert (before.worker, before.attempt) == (after.worker, after.attempt)
        deliveries = [event.attempt for event in history if event.kind == "popped"]
        assert deliveries == list(range(1, len(deliveries) + 1))
        assert set(executed[job_id].values()) == {1}, (job_id, executed[job_id], kinds)
        assert set(executed[job_id]) <= set(deliveries)
        assert history[-1].attempt in executed[job_id]
    assert site.hr.audit().problems == []
