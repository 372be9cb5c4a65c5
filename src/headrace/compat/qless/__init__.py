"""qless on Headrace: a priority queue with locks, history and statistics, in its own words."""

from __future__ import annotations

from headrace.compat.qless.client import AsyncQless, Qless
from headrace.compat.qless.errors import LostLockException, QlessException
from headrace.compat.qless.jobs import AsyncJob, AsyncRecurringJob, Job, RecurringJob
from headrace.compat.qless.queues import AsyncQueue, Queue

__all__ = [
    "AsyncJob",
    "AsyncQless",
    "AsyncQueue",
    "AsyncRecurringJob",
    "Job",
    "LostLockException",
    "Qless",
    "QlessException",
    "Queue",
    "RecurringJob",
]
