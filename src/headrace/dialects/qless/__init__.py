"""qless on Headrace: a priority queue with locks, history and statistics, in its own words."""

from __future__ import annotations

from headrace.dialects.qless.client import AsyncQless, Qless
from headrace.dialects.qless.errors import LostLockException, QlessException
from headrace.dialects.qless.jobs import AsyncJob, AsyncRecurringJob, Job, RecurringJob
from headrace.dialects.qless.queues import AsyncQueue, Queue

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
