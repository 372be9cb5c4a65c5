"""streaq without results and without a log line per job."""

from __future__ import annotations

import os
from typing import Any

from streaq import Worker

from benchmarks.competitors import async_tasks

# By default streaq runs 16 jobs at once and prefetches 32.
worker: Any = Worker(
    redis_url=os.environ["BENCH_URL"],
    queue_name="bench",
    concurrency=int(os.environ.get("BENCH_CONCURRENCY", "16")),
)
TASKS: dict[str, Any] = {
    name: worker.task(name=name, silent=True, ttl=0)(each)
    for name, each in async_tasks.TASKS.items()
}


async def put(task: str, call: dict[str, Any]) -> None:
    await TASKS[task].enqueue(**call)


async def put_many(task: str, calls: list[dict[str, Any]]) -> None:
    await worker.enqueue_many([TASKS[task].enqueue(**call) for call in calls])


def session() -> Any:
    return worker
