"""The jobs of the field as tasks of our own, with the settings that an app has by default."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import headrace
from benchmarks.rivals import awaiting

app = headrace.App("bench", url=os.environ["BENCH_URL"])
TASKS: dict[str, Any] = {name: app.task()(each) for name, each in awaiting.TASKS.items()}


def put(task: str, call: dict[str, Any]) -> None:
    TASKS[task].put(**call)


def put_many(task: str, calls: list[dict[str, Any]]) -> None:
    TASKS[task].put_many(calls)


@asynccontextmanager
async def session() -> AsyncIterator[None]:
    """Gives the queue the profile that this turn asks for."""
    if profile := os.environ.get("BENCH_PROFILE"):
        app.client.queue("default").configure(profile)
    yield
    app.close()
