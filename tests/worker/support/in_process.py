"""A worker in the process of the test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from uuid import uuid4

from headrace import App, AsyncClient
from headrace.worker.settings import ServedQueue, WorkerSettings
from headrace.worker.worker_loop import WorkerLoop


def new_app(url: str) -> App:
    """Return an app in a new namespace."""
    return App(f"test-{uuid4().hex[:12]}", url=url)


@asynccontextmanager
async def at_work(
    app: App, *queues: str, concurrency: int = 16
) -> AsyncIterator[tuple[WorkerLoop, AsyncClient]]:
    """Run a worker named w within the block; it stops at the end."""
    client = await app.async_client()
    await client.session("w", ttl=None)
    settings = WorkerSettings("here", concurrency=concurrency)
    worker = WorkerLoop(app, client, "w", tuple(map(ServedQueue, queues)), settings)
    working = asyncio.create_task(worker.work())
    try:
        yield worker, client
    finally:
        worker.stop()
        await working
        await app.aclose()


async def until(condition: Callable[[], Awaitable[object]]) -> None:
    """Wait until a condition holds."""
    while not await condition():  # noqa: ASYNC110 - the server sends no notice
        await asyncio.sleep(0.01)
