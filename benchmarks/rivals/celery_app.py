"""Celery without results."""

from __future__ import annotations

import os
from typing import Any

from celery import Celery

from benchmarks.rivals import blocking

app = Celery("bench", broker=os.environ["BENCH_URL"])
app.conf.task_ignore_result = True
# 4 by default; for many short jobs it advises 64 or more.
app.conf.worker_prefetch_multiplier = int(os.environ.get("BENCH_PREFETCH", "4"))

# Reliable as it advises: acknowledged late, and visible again after a time that is longer than any
# job; for a short one its transport advises to look for such jobs every ten seconds.
if os.environ.get("BENCH_LATE"):
    app.conf.task_acks_late = True
    app.conf.broker_transport_options = {
        "visibility_timeout": int(os.environ["BENCH_LATE"]),
        "unacked_restore_throttle": 1,
    }

TASKS: dict[str, Any] = {name: app.task(each, name=name) for name, each in blocking.TASKS.items()}


def put(task: str, call: dict[str, Any]) -> None:
    TASKS[task].apply_async(kwargs=call)
