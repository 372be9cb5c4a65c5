"""Jobs that are handed over as they are put, and what is held without having been heard of."""

from __future__ import annotations

import asyncio
import math

from headrace import Context
from headrace.engine.record import decode_record
from headrace.operations.popping import Popped
from tests.worker.here import at_work, new_app, until


async def test_jobs_are_handed_over_and_what_came_without_a_notice_is_given_back(
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
            return await state_of(unheard) == "waiting"

        await until(offers)
        handed = await note.aput()
        await until(is_complete)
        kinds = [event.kind async for event in client.events() if event.job_id == handed]
        assert (kinds, runs) == (["put", "popped", "completed"], [(handed, 1)])

        # As if it had been handed over, and the notice lost.
        unheard = await client.queue("other").put("x")
        await client.queue("other").pop("w", lease=math.inf)
        worker._doubt()
        worker._alarm.ring()
        await until(waits_again)
        assert (await client.audit()).balanced
    app.close()


async def test_a_handed_job_that_is_told_twice_runs_once_and_who_cannot_hear_offers_nothing(
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
        job_id = await note.aput()

        async def has_begun() -> bool:
            return runs == [job_id]

        await until(has_begun)
        packed = (
            await client.core.transport.send([(0, ("GET", client.core.key(0, f"job:{job_id}")))])
        )[0]
        told = Popped(job_id, decode_record(packed), packed, b"")
        worker._take_handed(told)
        assert worker._station is not None
        assert list(worker._station.read("worker", b"\x93\xa6handed\xa1x\xa1\xff")) == []
        assert worker._hears_notices()
        worker._station.subscription.lose(ConnectionError("cut"))
        assert not worker._hears_notices()
        gate.set()
    assert runs == [job_id]
    app.close()
