"""The leases of a worker: lost leases, early notices, and renewal without sessions."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from headrace.worker import worker_loop
from headrace.worker.leases import WorkerLeases
from tests.support import servers
from tests.worker.support.in_process import at_work, new_app, until
from tests.worker.support.site import Site


def test_late_hand_over_notice_of_a_lost_or_released_job_is_ignored() -> None:
    lost: list[tuple[Any, str]] = []
    leases = WorkerLeases("w", lambda job, reason: lost.append((job, reason)))

    assert leases.add(("a", "1"), "job a")
    leases.lose("cancelled", ("a", "1"))
    leases.lose("lost", ("b", "1"))
    leases.ignore_later(("c", "1"), "released")

    assert lost == [("job a", "cancelled")]
    assert [leases.add((name, "1"), name) for name in "bcd"] == [False, False, True]
    assert leases.add(("b", "2"), "again")
    assert leases.proofs() == [("d", "1"), ("b", "2")]
    assert (leases.remove(("d", "1")), leases.remove(("d", "1"))) == (True, False)


def test_lease_without_a_session_is_renewed_while_the_job_runs(site: Site) -> None:
    queue = site.hr.queue("line")
    queue.configure("ring", lease=0.6, history=10, keep_count=10)
    job_id = site.put("gate", queue="line", name="after")
    site.work("-q", "line")
    site.work("-q", "line")
    [note] = site.wait_for_notes(1, "begun")
    first = site.job(job_id).expires
    assert first is not None
    # The deadline moves at least four lease lengths, and the other worker does not get the job.
    servers.until(
        lambda: deadline_passed(site, job_id, first.timestamp() + 2.4), "the lease was renewed"
    )
    site.open_gate("after")
    site.wait_for("complete", job_id)
    assert [one.pid for one in site.notes("begun")] == [note.pid]
    assert site.kinds(job_id) == ["put", "popped", "completed"]


def deadline_passed(site: Site, job_id: str, timestamp: float) -> bool:
    expires = site.job(job_id).expires
    return expires is not None and expires.timestamp() > timestamp


async def test_lease_that_ends_because_settings_changed_is_renewed(
    valkey_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_loop, "SETTINGS_SECONDS", 0.06)
    app = new_app(valkey_url)
    gate = asyncio.Event()

    @app.task(queue="turns")
    async def wait() -> None:
        await gate.wait()

    app.client.queue("turns").put("made", id="made")
    app.client.cancel("made")
    async with at_work(app, "turns") as (_, client):
        queue = client.queue("turns")
        await queue.configure("ring", lease=0.5)
        job_id = await wait.aput()
        deadlines = set()

        async def was_renewed() -> bool:
            job = await client.job(job_id)
            deadlines.add(job and job.expires)
            return len(deadlines - {None}) > 3

        await until(was_renewed)
        gate.set()

        async def is_finished() -> bool:
            return (await queue.counts()).running == 0

        await until(is_finished)
        kinds = [event.kind async for event in client.events() if event.job_id == job_id]
        assert kinds == ["put", "popped", "completed"]
    app.close()
