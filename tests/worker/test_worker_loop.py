"""The main loop of a worker: queues that remove popped jobs, and exceptions that end the loop."""

from __future__ import annotations

import asyncio

from headrace.operations.lease_watch import find_lost_leases
from headrace.transport.drive import drive_async
from headrace.worker.settings import WorkerSettings
from tests.worker.support.in_process import at_work, new_app, until
from tests.worker.support.site import Site


async def test_jobs_that_pop_removed_from_the_queue_still_run_after_stop(
    valkey_url: str,
) -> None:
    app = new_app(valkey_url)
    app.client.queue("fifo").configure("fifo")
    ran: list[int] = []
    gate = asyncio.Event()

    @app.task(queue="fifo")
    async def take(n: int) -> None:
        ran.append(n)
        await gate.wait()

    take.put_many([{"n": n} for n in range(3)])
    async with at_work(app, "fifo", concurrency=3) as (worker, client):
        worker._settings = WorkerSettings("here", concurrency=1)

        async def has_begun() -> bool:
            return ran == [0]

        await until(has_begun)
        assert (
            await drive_async(client.core.transport, find_lost_leases(client.core, worker._leases))
            == []
        )
        worker.stop()
        gate.set()
    assert ran == [0, 1, 2]
    app.close()


def test_exit_in_a_nested_asyncio_task_does_not_end_the_process(site: Site) -> None:
    work = site.work()
    job_id = site.queue.put({"task": "exits_within", "args": {}}, retries=0)
    site.wait_for("failed", job_id)
    site.wait_for("complete", site.put("quick"))

    assert "died" not in work.log()


def test_exception_without_a_message_fails_only_its_own_job(site: Site) -> None:
    site.work("--concurrency", "10")
    bad = site.queue.put({"task": "unfinished", "args": {}}, retries=0)
    good = [site.put("brief_sync", seconds=0.05) for _ in range(6)]
    [job] = site.wait_for("failed", bad)
    site.wait_for("complete", *good)

    assert job.failure is not None
    assert job.failure.type == "Unfinished"
