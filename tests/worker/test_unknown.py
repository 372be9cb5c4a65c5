"""A worker that holds what it knows nothing of gives it back: a notice was lost."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from uuid import uuid4

from headrace import App, Context
from headrace.worker.settings import Served, WorkerSettings
from headrace.worker.worker import Worker


def new_app(url: str) -> tuple[App, list[tuple[str, int]]]:
    app = App(f"test-{uuid4().hex[:12]}", url=url)
    runs: list[tuple[str, int]] = []

    @app.task(queue="mail")
    async def note(context: Context) -> None:
        runs.append((context.id, context.attempt))

    return app, runs


async def until(look: Callable[[], Awaitable[object]]) -> None:
    """Waits for what somebody else brings about."""
    while not await look():  # noqa: ASYNC110 - the server does not tell us
        await asyncio.sleep(0.01)


async def test_jobs_are_handed_over_and_what_came_without_a_notice_is_given_back(
    valkey_url: str,
) -> None:
    app, runs = new_app(valkey_url)
    client = await app.async_client()
    settings = client.core.key(0, "settings:mail")

    async def offers() -> object:
        return (await client.core.wire.send([(0, ("HGET", settings, "idle"))]))[0]

    async def state_of(job_id: str) -> str:
        job = await client.job(job_id)
        return job.state if job else ""

    async def is_complete() -> bool:
        return await state_of(handed) == "complete"

    async def waits_again() -> bool:
        return await state_of(unheard) == "waiting"

    await client.queue("mail").put("made", id="made")
    await client.cancel("made")
    await client.session("w", ttl=None)
    worker = Worker(app, client, "w", (Served("mail"),), WorkerSettings("here"))
    working = asyncio.create_task(worker.work())
    await until(offers)
    handed = await app.tasks["note"].aput()
    await until(is_complete)
    kinds = [event.kind async for event in client.events() if event.job_id == handed]
    assert (kinds, runs) == (["put", "popped", "completed"], [(handed, 1)])

    # As if it had been handed over, and the notice lost.
    unheard = await client.queue("other").put("x")
    await client.queue("other").pop("w", lease=math.inf)
    worker._doubt()
    worker._alarm.ring()
    await until(waits_again)

    worker.stop()
    await working
    assert (await client.audit()).balanced
    await app.aclose()
