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
    WriteAborted,
    WriteError,
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
    from headrace.client.group import AsyncGroup, Group
    from headrace.client.lease import AsyncLease, Lease
    from headrace.client.queue import AsyncQueue, Queue
    from headrace.client.session import AsyncSession, Session
    from headrace.client.watch import AsyncWatch, Watch
    from headrace.codecs.codec import Codec
    from headrace.codecs.encryption import Encrypted
    from headrace.engine.check import Limits
    from headrace.engine.events import Event
    from headrace.engine.script import Library
    from headrace.engine.statistics import Series, Stats
    from headrace.feeds.feed import AsyncFeed, Feed
    from headrace.feeds.values import FeedCounts, FeedEvent, FeedSettings
    from headrace.operations.lakes import LakeShard
    from headrace.operations.listening import AsyncListener, Listener
    from headrace.operations.schedule_values import Schedule
    from headrace.operations.values import (
        Audit,
        Bulk,
        Counts,
        Fail,
        Failure,
        FailureGroup,
        Job,
        Page,
        Result,
        Stage,
        Throttle,
        Tracked,
        Worker,
        WriteStatus,
    )
    from headrace.options import Put

__version__ = "0.1.0"

# Loaded when first asked for: redis-py alone takes longer to import than most programs to start.
_LATER = {
    "App": "headrace.app.app",
    "AsyncClient": "headrace.client.client",
    "AsyncFeed": "headrace.feeds.feed",
    "AsyncGroup": "headrace.client.group",
    "AsyncLease": "headrace.client.lease",
    "AsyncListener": "headrace.operations.listening",
    "AsyncQueue": "headrace.client.queue",
    "AsyncSession": "headrace.client.session",
    "AsyncWatch": "headrace.client.watch",
    "Audit": "headrace.operations.values",
    "Backoff": "headrace.app.backoff",
    "Bulk": "headrace.operations.values",
    "Client": "headrace.client.client",
    "Codec": "headrace.codecs.codec",
    "Context": "headrace.app.context",
    "Counts": "headrace.operations.values",
    "Discard": "headrace.app.verdicts",
    "Encrypted": "headrace.codecs.encryption",
    "Event": "headrace.engine.events",
    "Fail": "headrace.operations.values",
    "Failure": "headrace.operations.values",
    "FailureGroup": "headrace.operations.values",
    "Feed": "headrace.feeds.feed",
    "FeedCounts": "headrace.feeds.values",
    "FeedEvent": "headrace.feeds.values",
    "FeedSettings": "headrace.feeds.values",
    "Group": "headrace.client.group",
    "Job": "headrace.operations.values",
    "LakeShard": "headrace.operations.lakes",
    "Lease": "headrace.client.lease",
    "Limits": "headrace.engine.check",
    "Listener": "headrace.operations.listening",
    "Page": "headrace.operations.values",
    "Put": "headrace.options",
    "Queue": "headrace.client.queue",
    "Result": "headrace.operations.values",
    "Retry": "headrace.app.verdicts",
    "Schedule": "headrace.operations.schedule_values",
    "Series": "headrace.engine.statistics",
    "Session": "headrace.client.session",
    "Snooze": "headrace.app.verdicts",
    "Stage": "headrace.operations.values",
    "Stats": "headrace.engine.statistics",
    "Task": "headrace.app.task",
    "Throttle": "headrace.operations.values",
    "Tracked": "headrace.operations.values",
    "Watch": "headrace.client.watch",
    "Worker": "headrace.operations.values",
    "WriteStatus": "headrace.operations.values",
}

__all__ = [
    "App",
    "AsyncClient",
    "AsyncFeed",
    "AsyncGroup",
    "AsyncLease",
    "AsyncListener",
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
    "Listener",
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
    "WriteAborted",
    "WriteError",
    "WriteIdTaken",
    "WriteLost",
    "WriteStatus",
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
