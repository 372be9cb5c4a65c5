"""ardiq without results."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from ardiq import Ardiq, BrokerError

from benchmarks.competitors import async_tasks

TRIES = 3
# By default ardiq runs 16 jobs at once and prefetches 32. A TTL of 0 keeps no results.
app = Ardiq(
    os.environ["BENCH_URL"],
    "bench",
    concurrency=int(os.environ.get("BENCH_CONCURRENCY", "16")),
    result_ttl_ms=0,
)
TASKS: dict[str, Any] = {name: app.task(each) for name, each in async_tasks.TASKS.items()}


async def put(task: str, call: dict[str, Any]) -> None:
    await TASKS[task].enqueue(**call)


async def put_many(task: str, calls: list[dict[str, Any]]) -> None:
    """Put jobs in bulk, with retries.

    The client waits half a second for a reply, and this timeout is not configurable.
    """
    for _ in range(TRIES):
        with suppress(BrokerError):
            await app.enqueue_many(TASKS[task].prepare(**call) for call in calls)
            return
    raise BrokerError(f"no answer in {TRIES} tries")


@asynccontextmanager
async def session() -> AsyncIterator[None]:
    """Exit as ardiq's command does, because its threads can crash the interpreter at shutdown."""
    yield
    os._exit(0)
