"""Direct hand-over of jobs to idle workers, and jobs whose hand-over notice was lost."""

from __future__ import annotations

import asyncio
import math

from headrace import Context
from headrace.engine.record import decode_record
from headrace.operations.popping import Popped
from tests.worker.support.in_process import at_work, new_app, until


async def test_idle_worker_gets_jobs_by_hand_over_and_releases_jobs_without_a_notice(
    valkey_url: str,
) -> None:
    app = new_app(valkey_url)
    runs: list[tuple[str, int]] = []

    @app.task(queue="mail")
    async def note(context: Context) -> None:
        runs.append((context.id, context.attempt))

    app.client.queue("mail").put("made", id="made")
    app.client.cancel("made")
    async with at_work(app, "mail") as (worker, client):
        settings = client.core.key(0, "settings:mail")

        async def offers() -> object:
            return (await client.core.transport.send([(0, ("HGET", settings, "idle"))]))[0]

        async def state_of(job_id: str) -> str:
            job = await client.job(job_id)
            return job.state if job else ""

        async def is_complete() -> bool:
            return await state_of(handed) == "complete"

        async def waits_again() -> bool:
            return await state_of(unnoticed) == "waiting"

        await until(offers)
        handed = await note.aput()
        await until(is_complete)
        kinds = [event.kind async for event in client.events() if event.job_id == handed]
        assert (kinds, runs) == (["put", "popped", "completed"], [(handed, 1)])

        # Simulate a job that was handed over to the worker and whose notice was lost.
        unnoticed = await client.queue("other").put("x")
        await client.queue("other").pop("w", lease=math.inf)
        worker._groups[0].suspect_unknown()
        worker._wakeup.set()
        await until(waits_again)
        assert (await client.audit()).balanced
    app.close()


async def test_repeated_hand_over_notice_runs_the_job_once_and_broken_subscription_stops_offers(
    valkey_url: str,
) -> None:
    app = new_app(valkey_url)
    runs: list[str] = []
    gate = asyncio.Event()

    @app.task(queue="mail")
    async def note(context: Context) -> None:
        runs.append(context.id)
        await gate.wait()

    async with at_work(app, "mail") as (worker, client):

        async def is_subscribed() -> bool:
            return worker._groups[0].receives_notices()

        async def has_begun() -> bool:
            return runs == [job_id]

        await until(is_subscribed)
        job_id = await note.aput()
        await until(has_begun)
        packed = (
            await client.core.transport.send([(0, ("GET", client.core.key(0, f"job:{job_id}")))])
        )[0]
        repeated = Popped(job_id, decode_record(packed), packed, b"")
        worker._take_hand_over(repeated)
        assert worker._groups[0].notices is not None
        assert list(worker._groups[0].notices.read("worker", b"\x93\xa6handed\xa1x\xa1\xff")) == []
        worker._groups[0].notices.subscription.lose(ConnectionError("cut"))
        assert not worker._groups[0].receives_notices()
        gate.set()
    assert runs == [job_id]
    app.close()
