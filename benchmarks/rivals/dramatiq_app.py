"""Dramatiq without results, as it comes."""

from __future__ import annotations

import os
from typing import Any

import dramatiq
from dramatiq.brokers.redis import RedisBroker

from benchmarks.rivals import blocking

dramatiq.set_broker(RedisBroker(url=os.environ["BENCH_URL"]))
TASKS: dict[str, Any] = {name: dramatiq.actor(each) for name, each in blocking.TASKS.items()}


def put(task: str, call: dict[str, Any]) -> None:
    TASKS[task].send(**call)
