"""Celery without results."""

from __future__ import annotations

import os
from typing import Any

from celery import Celery

from benchmarks.competitors import sync_tasks

app = Celery("bench", broker=os.environ["BENCH_URL"])
app.conf.task_ignore_result = True
# Celery's default is 4. Celery's documentation recommends 64 or more for many short jobs.
app.conf.worker_prefetch_multiplier = int(os.environ.get("BENCH_PREFETCH", "4"))

# The reliable configuration that Celery's documentation recommends: late acknowledgement, and a
# visibility timeout longer than any job. With a short visibility timeout, Celery's transport should
# return the jobs of dead workers every ten seconds.
if os.environ.get("BENCH_LATE"):
    app.conf.task_acks_late = True
    app.conf.broker_transport_options = {
        "visibility_timeout": int(os.environ["BENCH_LATE"]),
        "unacked_restore_throttle": 1,
    }

TASKS: dict[str, Any] = {name: app.task(each, name=name) for name, each in sync_tasks.TASKS.items()}


def put(task: str, call: dict[str, Any]) -> None:
    TASKS[task].apply_async(kwargs=call)
