"""A worker in the process of the test, for what need not be seen from outside."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from uuid import uuid4

from headrace import App, AsyncClient
from headrace.worker.settings import Served, WorkerSettings
from headrace.worker.worker import Worker


def new_app(url: str) -> App:
    """An app in a namespace of its own."""
    return App(f"test-{uuid4().hex[:12]}", url=url)


@asynccontextmanager
async def at_work(
    app: App, *queues: str, concurrency: int = 16
) -> AsyncIterator[tuple[Worker, AsyncClient]]:
    """A worker named w that works, until it is told to stop."""
    client = await app.async_client()
    await client.session("w", ttl=None)
    settings = WorkerSettings("here", concurrency=concurrency)
    worker = Worker(app, client, "w", tuple(map(Served, queues)), settings)
    working = asyncio.create_task(worker.work())
    try:
        yield worker, client
    finally:
        worker.stop()
        await working
        await app.aclose()


async def until(look: Callable[[], Awaitable[object]]) -> None:
    """Waits for what somebody else brings about."""
    while not await look():  # noqa: ASYNC110 - the server does not tell us
        await asyncio.sleep(0.01)
