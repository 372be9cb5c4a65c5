"""The tasks of the comparison as a Headrace app with default settings."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import headrace
from benchmarks.competitors import async_tasks

app = headrace.App("bench", url=os.environ["BENCH_URL"])
TASKS: dict[str, Any] = {name: app.task()(each) for name, each in async_tasks.TASKS.items()}


def put(task: str, call: dict[str, Any]) -> None:
    TASKS[task].put(**call)


def put_many(task: str, calls: list[dict[str, Any]]) -> None:
    TASKS[task].put_many(calls)


@asynccontextmanager
async def session() -> AsyncIterator[None]:
    """Apply the queue profile that the trial requests."""
    if profile := os.environ.get("BENCH_PROFILE"):
        app.client.queue("default").configure(profile)
    yield
    app.close()
