"""Dramatiq without results, with its default settings."""

from __future__ import annotations

import os
from typing import Any

import dramatiq
from dramatiq.brokers.redis import RedisBroker

from benchmarks.competitors import sync_tasks

dramatiq.set_broker(RedisBroker(url=os.environ["BENCH_URL"]))
TASKS: dict[str, Any] = {name: dramatiq.actor(each) for name, each in sync_tasks.TASKS.items()}


def put(task: str, call: dict[str, Any]) -> None:
    TASKS[task].send(**call)
