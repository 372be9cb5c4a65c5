"""A check that reads jobs page by page."""

from __future__ import annotations

import math

from headrace import Client, Put
from headrace.operations import job_sets
from headrace.operations.job_sets import JobSet
from headrace.transport.drive import drive
from tests.model.harness import opened


def ids_in(
    hr: Client, role: str, name: str, lowest: float = -math.inf, highest: float = math.inf
) -> list[str]:
    """Return the ids of a set in its order, read page by page."""
    found: list[str] = []
    cursor: bytes | None = None
    while cursor != b"":
        page = job_sets.read_jobs(hr.core, JobSet(0, role, name, 0), lowest, highest, cursor)
        cursor, jobs = drive(hr.core.transport, page)
        found += [job.id for job in jobs]
    return found


def pages_have_every_job(url: str, swaps: dict[str, str]) -> None:
    """Raise if the pages leave out, repeat or add a job."""
    hr, clock = opened(url, swaps)
    with hr:
        ids = [f"job {number:03}" for number in range(job_sets.JOBS_PER_PAGE + 5)]
        mail = hr.queue("mail")
        mail.put_many([Put(0, id=job_id) for job_id in ids])
        assert ids_in(hr, "waiting", "mail") == ids
        for delay in (10, 20, 30):
            mail.put(0, id=f"in {delay}", delay=delay)
        ms = round(clock.now.timestamp() * 1000)
        assert ids_in(hr, "scheduled", "mail", ms + 20_000) == ["in 20", "in 30"]
        assert ids_in(hr, "scheduled", "mail", highest=ms + 20_000) == ["in 10", "in 20"]
