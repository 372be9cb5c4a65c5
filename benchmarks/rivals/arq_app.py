"""arq without results and without a line in the log for every job."""

from __future__ import annotations

import os
from typing import Any

from arq import func
from arq.connections import ArqRedis, RedisSettings

from benchmarks.rivals import awaiting

pool: Any = ArqRedis.from_url(os.environ["BENCH_URL"])
quiet = {"version": 1, "disable_existing_loggers": False, "loggers": {"arq": {"level": "WARNING"}}}
settings = {
    "redis_settings": RedisSettings.from_dsn(os.environ["BENCH_URL"]),
    "functions": [
        func(awaiting.with_context(each), name=name) for name, each in awaiting.TASKS.items()
    ],
    "keep_result": 0,
    "max_jobs": int(os.environ.get("BENCH_CONCURRENCY", "10")),
    # By default it looks for jobs twice a second.
    "poll_delay": float(os.environ.get("BENCH_POLL", "0.5")),
    # After this time and ten seconds more the jobs of a dead worker may run again.
    "job_timeout": int(os.environ.get("BENCH_TIMEOUT", "300")),
}


async def put(task: str, call: dict[str, Any]) -> None:
    await pool.enqueue_job(task, **call)
