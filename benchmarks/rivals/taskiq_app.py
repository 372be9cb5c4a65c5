"""taskiq on a stream, the broker that it recommends for work that must not be lost; no results."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from taskiq_redis import RedisStreamBroker

from benchmarks.rivals import awaiting

broker = RedisStreamBroker(os.environ["BENCH_URL"])
TASKS: dict[str, Any] = {
    name: broker.task(task_name=name)(each) for name, each in awaiting.TASKS.items()
}


async def put(task: str, call: dict[str, Any]) -> None:
    await TASKS[task].kiq(**call)


@asynccontextmanager
async def session() -> AsyncIterator[None]:
    """Makes the consumer group: what is put before there is one is lost."""
    await broker.startup()
    yield
    await broker.shutdown()
