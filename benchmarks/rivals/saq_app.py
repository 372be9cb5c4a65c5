"""SAQ, of which nothing is kept when a job is over."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from saq import Queue

from benchmarks.rivals import awaiting

queue = Queue.from_url(os.environ["BENCH_URL"], name="bench")
settings = {
    "queue": queue,
    "functions": [(name, awaiting.with_context(each)) for name, each in awaiting.TASKS.items()],
    "concurrency": int(os.environ.get("BENCH_CONCURRENCY", "10")),
}
# A time of -1 keeps nothing; a job has one attempt by default, so that a lost one is not repeated.
OPTIONS = {"ttl": -1, "retries": int(os.environ.get("BENCH_RETRIES", "1"))}


async def put(task: str, call: dict[str, Any]) -> None:
    await queue.enqueue(task, **OPTIONS, **call)


@asynccontextmanager
async def session() -> AsyncIterator[None]:
    await queue.connect()
    yield
    await queue.disconnect()
