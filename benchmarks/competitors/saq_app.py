"""SAQ, configured to keep nothing of a finished job."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from saq import Queue

from benchmarks.competitors import async_tasks

queue = Queue.from_url(os.environ["BENCH_URL"], name="bench")
settings = {
    "queue": queue,
    "functions": [
        (name, async_tasks.with_context(each)) for name, each in async_tasks.TASKS.items()
    ],
    "concurrency": int(os.environ.get("BENCH_CONCURRENCY", "10")),
}
# A TTL of -1 keeps nothing. By default a job has one attempt, so SAQ does not retry a lost job.
OPTIONS = {"ttl": -1, "retries": int(os.environ.get("BENCH_RETRIES", "1"))}


async def put(task: str, call: dict[str, Any]) -> None:
    await queue.enqueue(task, **OPTIONS, **call)


@asynccontextmanager
async def session() -> AsyncIterator[None]:
    await queue.connect()
    yield
    await queue.disconnect()
