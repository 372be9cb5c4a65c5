"""Headrace: a reliable, atomic, distributed work queue on Redis or Valkey."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.errors import (
    DependencyRefused,
    EmbeddedServerError,
    EventsTrimmed,
    FeedError,
    FeedExists,
    FeedNotFound,
    HasDependents,
    HeadraceError,
    ImportRefused,
    InvalidArgument,
    ItemNotFound,
    JobError,
    JobExists,
    JobNotFound,
    LakeRefused,
    LeaseLost,
    MissingExtra,
    NamespaceMismatch,
    NamespaceNotFound,
    NoResult,
    QueueNotFound,
    ScheduleNotFound,
    ScriptError,
    ServerUnavailable,
    SessionEnded,
    SessionRequired,
    StagedLost,
    TaskFailed,
    TooMany,
    Unreadable,
    WorkerError,
    WriteError,
    WriteGivenUp,
    WriteIdTaken,
    WriteLost,
    WrongState,
)

if TYPE_CHECKING:
    from datetime import timedelta

    from headrace.app.app import App
    from headrace.app.backoff import Backoff
    from headrace.app.context import Context
    from headrace.app.task import Task
    from headrace.app.verdicts import Discard, Retry, Snooze
    from headrace.client.client import AsyncClient, Client
    from headrace.client.codec import Codec
    from headrace.client.encryption import Encrypted
    from headrace.client.feed import AsyncFeed, Feed
    from headrace.client.feed_values import FeedCounts, FeedEvent, FeedSettings
    from headrace.client.group import AsyncGroup, Group
    from headrace.client.lake_values import LakeShard
    from headrace.client.lease import AsyncLease, Lease
    from headrace.client.listening import AsyncListening, Listening
    from headrace.client.queue import AsyncQueue, Queue
    from headrace.client.schedules import Schedule
    from headrace.client.session import AsyncSession, Session
    from headrace.client.values import (
        Audit,
        Bulk,
        Counts,
        Fail,
        Failure,
        FailureGroup,
        Job,
        Page,
        Put,
        Result,
        Stage,
        Throttle,
        Tracked,
        Worker,
        Written,
    )
    from headrace.client.watch import AsyncWatch, Watch
    from headrace.engine.check import Limits
    from headrace.engine.events import Event
    from headrace.engine.script import Library
    from headrace.engine.statistics import Series, Stats

__version__ = "0.1.0"

# Loaded when first asked for: redis-py alone takes longer to import than most programs to start.
_LATER = {
    "App": "headrace.app.app",
    "AsyncClient": "headrace.client.client",
    "AsyncFeed": "headrace.client.feed",
    "AsyncGroup": "headrace.client.group",
    "AsyncLease": "headrace.client.lease",
    "AsyncListening": "headrace.client.listening",
    "AsyncQueue": "headrace.client.queue",
    "AsyncSession": "headrace.client.session",
    "AsyncWatch": "headrace.client.watch",
    "Audit": "headrace.client.values",
    "Backoff": "headrace.app.backoff",
    "Bulk": "headrace.client.values",
    "Client": "headrace.client.client",
    "Codec": "headrace.client.codec",
    "Context": "headrace.app.context",
    "Counts": "headrace.client.values",
    "Discard": "headrace.app.verdicts",
    "Encrypted": "headrace.client.encryption",
    "Event": "headrace.engine.events",
    "Fail": "headrace.client.values",
    "Failure": "headrace.client.values",
    "FailureGroup": "headrace.client.values",
    "Feed": "headrace.client.feed",
    "FeedCounts": "headrace.client.feed_values",
    "FeedEvent": "headrace.client.feed_values",
    "FeedSettings": "headrace.client.feed_values",
    "Group": "headrace.client.group",
    "Job": "headrace.client.values",
    "LakeShard": "headrace.client.lake_values",
    "Lease": "headrace.client.lease",
    "Limits": "headrace.engine.check",
    "Listening": "headrace.client.listening",
    "Page": "headrace.client.values",
    "Put": "headrace.client.values",
    "Queue": "headrace.client.queue",
    "Result": "headrace.client.values",
    "Retry": "headrace.app.verdicts",
    "Schedule": "headrace.client.schedules",
    "Series": "headrace.engine.statistics",
    "Session": "headrace.client.session",
    "Snooze": "headrace.app.verdicts",
    "Stage": "headrace.client.values",
    "Stats": "headrace.engine.statistics",
    "Task": "headrace.app.task",
    "Throttle": "headrace.client.values",
    "Tracked": "headrace.client.values",
    "Watch": "headrace.client.watch",
    "Worker": "headrace.client.values",
    "Written": "headrace.client.values",
}

__all__ = [
    "App",
    "AsyncClient",
    "AsyncFeed",
    "AsyncGroup",
    "AsyncLease",
    "AsyncListening",
    "AsyncQueue",
    "AsyncSession",
    "AsyncWatch",
    "Audit",
    "Backoff",
    "Bulk",
    "Client",
    "Codec",
    "Context",
    "Counts",
    "DependencyRefused",
    "Discard",
    "EmbeddedServerError",
    "Encrypted",
    "Event",
    "EventsTrimmed",
    "Fail",
    "Failure",
    "FailureGroup",
    "Feed",
    "FeedCounts",
    "FeedError",
    "FeedEvent",
    "FeedExists",
    "FeedNotFound",
    "FeedSettings",
    "Group",
    "HasDependents",
    "HeadraceError",
    "ImportRefused",
    "InvalidArgument",
    "ItemNotFound",
    "Job",
    "JobError",
    "JobExists",
    "JobNotFound",
    "LakeRefused",
    "LakeShard",
    "Lease",
    "LeaseLost",
    "Limits",
    "Listening",
    "MissingExtra",
    "NamespaceMismatch",
    "NamespaceNotFound",
    "NoResult",
    "Page",
    "Put",
    "Queue",
    "QueueNotFound",
    "Result",
    "Retry",
    "Schedule",
    "ScheduleNotFound",
    "ScriptError",
    "Series",
    "ServerUnavailable",
    "Session",
    "SessionEnded",
    "SessionRequired",
    "Snooze",
    "Stage",
    "StagedLost",
    "Stats",
    "Task",
    "TaskFailed",
    "Throttle",
    "TooMany",
    "Tracked",
    "Unreadable",
    "Watch",
    "Worker",
    "WorkerError",
    "WriteError",
    "WriteGivenUp",
    "WriteIdTaken",
    "WriteLost",
    "Written",
    "WrongState",
    "connect",
    "connect_async",
]


def connect(
    url: str | None = None,
    *,
    namespace: str = "default",
    shards: int | None = None,
    codec: str | Codec = "json",
    limits: Limits | None = None,
    retry_for: float | timedelta = 15,
    timeout: float | timedelta = 5,
    library: Library | None = None,
) -> Client:
    """Opens a namespace on a server; without a URL on the embedded one, data under ./.headrace.

    The number of shards is fixed by whoever opens the namespace first (default 1). A call whose
    answer is lost is repeated safely for retry_for seconds; a reply may take timeout seconds.
    """
    from headrace.client import connect as connecting

    return connecting.connect(
        connecting.wanted(url, namespace, shards, codec, limits, library, retry_for, timeout)
    )


async def connect_async(
    url: str | None = None,
    *,
    namespace: str = "default",
    shards: int | None = None,
    codec: str | Codec = "json",
    limits: Limits | None = None,
    retry_for: float | timedelta = 15,
    timeout: float | timedelta = 5,
    library: Library | None = None,
) -> AsyncClient:
    """The same for code that awaits."""
    from headrace.client import connect as connecting

    return await connecting.connect_async(
        connecting.wanted(url, namespace, shards, codec, limits, library, retry_for, timeout)
    )


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    if name in _LATER:
        from importlib import import_module

        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'headrace' has no attribute {name!r}")
