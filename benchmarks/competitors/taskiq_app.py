"""taskiq with the stream broker, which it recommends for reliable work; without results."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from taskiq_redis import RedisStreamBroker

from benchmarks.competitors import async_tasks

broker = RedisStreamBroker(os.environ["BENCH_URL"])
TASKS: dict[str, Any] = {
    name: broker.task(task_name=name)(each) for name, each in async_tasks.TASKS.items()
}


async def put(task: str, call: dict[str, Any]) -> None:
    await TASKS[task].kiq(**call)


@asynccontextmanager
async def session() -> AsyncIterator[None]:
    """Create the consumer group, because jobs that are put before it exists are lost."""
    await broker.startup()
    yield
    await broker.shutdown()
