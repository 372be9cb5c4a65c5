"""The API of qless: a priority queue with locks, history and statistics."""

from __future__ import annotations

from headrace.compat.qless.client import AsyncQless, Qless
from headrace.compat.qless.context import LostLockException, QlessException
from headrace.compat.qless.jobs import AsyncQlessJob as AsyncJob
from headrace.compat.qless.jobs import AsyncRecurringJob, RecurringJob
from headrace.compat.qless.jobs import QlessJob as Job
from headrace.compat.qless.queues import AsyncQlessQueue as AsyncQueue
from headrace.compat.qless.queues import QlessQueue as Queue

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
