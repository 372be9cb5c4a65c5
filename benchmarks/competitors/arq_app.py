"""arq without results and without a log line per job."""

from __future__ import annotations

import os
from typing import Any

from arq import func
from arq.connections import ArqRedis, RedisSettings

from benchmarks.competitors import async_tasks

pool: Any = ArqRedis.from_url(os.environ["BENCH_URL"])
quiet = {"version": 1, "disable_existing_loggers": False, "loggers": {"arq": {"level": "WARNING"}}}
settings = {
    "redis_settings": RedisSettings.from_dsn(os.environ["BENCH_URL"]),
    "functions": [
        func(async_tasks.with_context(each), name=name) for name, each in async_tasks.TASKS.items()
    ],
    "keep_result": 0,
    "max_jobs": int(os.environ.get("BENCH_CONCURRENCY", "10")),
    # By default arq polls twice per second.
    "poll_delay": float(os.environ.get("BENCH_POLL", "0.5")),
    # Jobs of a dead worker may run again after this time plus ten seconds.
    "job_timeout": int(os.environ.get("BENCH_TIMEOUT", "300")),
}


async def put(task: str, call: dict[str, Any]) -> None:
    await pool.enqueue_job(task, **call)
