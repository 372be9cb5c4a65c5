"""Huey on a plain list with a blocking pop, its fastest storage; results are off."""

from __future__ import annotations

import os
from typing import Any

from huey import RedisHuey
from redis import ConnectionPool

from benchmarks.competitors import sync_tasks

# A hundred workers in a process need more connections than redis-py allows by default.
pool = ConnectionPool.from_url(os.environ["BENCH_URL"], max_connections=200)
huey = RedisHuey("bench", results=False, connection_pool=pool)
TASKS: dict[str, Any] = {name: huey.task()(each) for name, each in sync_tasks.TASKS.items()}


def put(task: str, call: dict[str, Any]) -> None:
    TASKS[task](**call)
