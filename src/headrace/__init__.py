"""Headrace: a reliable, atomic, distributed work queue on Redis or Valkey."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from headrace import errors as errors
from headrace.errors import *  # noqa: F403 - every exception is public

if TYPE_CHECKING:
    from datetime import timedelta

    from headrace.app.app import App as App
    from headrace.app.context import Context as Context
    from headrace.app.task import Task as Task
    from headrace.app.verdicts import Discard as Discard
    from headrace.app.verdicts import Retry as Retry
    from headrace.app.verdicts import Snooze as Snooze
    from headrace.backoff import Backoff as Backoff
    from headrace.client.client import AsyncClient as AsyncClient
    from headrace.client.client import Client as Client
    from headrace.client.connect import PendingAsyncClient
    from headrace.client.group import AsyncGroup as AsyncGroup
    from headrace.client.group import Group as Group
    from headrace.client.lease import AsyncLease as AsyncLease
    from headrace.client.lease import Lease as Lease
    from headrace.client.queue import AsyncQueue as AsyncQueue
    from headrace.client.queue import Queue as Queue
    from headrace.client.session import AsyncSession as AsyncSession
    from headrace.client.session import Session as Session
    from headrace.client.watch import AsyncWatch as AsyncWatch
    from headrace.client.watch import Watch as Watch
    from headrace.codecs.codec import Codec as Codec
    from headrace.codecs.encryption import Encrypted as Encrypted
    from headrace.engine.check import Limits as Limits
    from headrace.engine.events import Event as Event
    from headrace.engine.script import Library
    from headrace.engine.statistics import Series as Series
    from headrace.engine.statistics import Stats as Stats
    from headrace.feeds.feed import AsyncFeed as AsyncFeed
    from headrace.feeds.feed import Feed as Feed
    from headrace.feeds.values import FeedCounts as FeedCounts
    from headrace.feeds.values import FeedEvent as FeedEvent
    from headrace.feeds.values import FeedSettings as FeedSettings
    from headrace.operations.channel_listener import AsyncListener as AsyncListener
    from headrace.operations.channel_listener import Listener as Listener
    from headrace.operations.lakes import LakeShard as LakeShard
    from headrace.operations.schedules import Schedule as Schedule
    from headrace.operations.values import Audit as Audit
    from headrace.operations.values import Bulk as Bulk
    from headrace.operations.values import Counts as Counts
    from headrace.operations.values import Fail as Fail
    from headrace.operations.values import Failure as Failure
    from headrace.operations.values import FailureGroup as FailureGroup
    from headrace.operations.values import Job as Job
    from headrace.operations.values import Page as Page
    from headrace.operations.values import Result as Result
    from headrace.operations.values import Stage as Stage
    from headrace.operations.values import Throttle as Throttle
    from headrace.operations.values import Tracked as Tracked
    from headrace.operations.values import Worker as Worker
    from headrace.operations.values import WriteStatus as WriteStatus
    from headrace.options import JobOptions as JobOptions
    from headrace.options import Put as Put
    from headrace.options import TaskOptions as TaskOptions

__version__ = "0.1.0"

# The public names of each module. Headrace imports a module when a program first uses one of its
# names, because importing redis-py alone takes longer than the start of most programs.
_NAMES = {
    "headrace.app.app": "App",
    "headrace.backoff": "Backoff",
    "headrace.app.context": "Context",
    "headrace.app.task": "Task",
    "headrace.app.verdicts": "Discard Retry Snooze",
    "headrace.client.client": "AsyncClient Client",
    "headrace.client.group": "AsyncGroup Group",
    "headrace.client.lease": "AsyncLease Lease",
    "headrace.client.queue": "AsyncQueue Queue",
    "headrace.client.session": "AsyncSession Session",
    "headrace.client.watch": "AsyncWatch Watch",
    "headrace.codecs.codec": "Codec",
    "headrace.codecs.encryption": "Encrypted",
    "headrace.engine.check": "Limits",
    "headrace.engine.events": "Event",
    "headrace.engine.statistics": "Series Stats",
    "headrace.feeds.feed": "AsyncFeed Feed",
    "headrace.feeds.values": "FeedCounts FeedEvent FeedSettings",
    "headrace.operations.lakes": "LakeShard",
    "headrace.operations.channel_listener": "AsyncListener Listener",
    "headrace.operations.schedules": "Schedule",
    "headrace.operations.values": (
        "Audit Bulk Counts Fail Failure FailureGroup Job Page Result Stage Throttle "
        "Tracked Worker WriteStatus"
    ),
    "headrace.options": "JobOptions Put TaskOptions",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}

_ERRORS = [
    name
    for name, value in vars(errors).items()
    if isinstance(value, type) and issubclass(value, errors.HeadraceError)
]

__all__ = sorted([*_MODULES, *_ERRORS, "connect", "connect_async"])  # noqa: PLE0605 - one table of names


def connect(
    url: str | None = None,
    *,
    namespace: str = "default",
    shards: int | None = None,
    codec: str | Codec = "json",
    limits: Limits | None = None,
    retry_for: float | timedelta = 15,
    timeout: float | timedelta = 5,
    durability: Literal["aof"] | int = 0,
    library: Library | None = None,
) -> Client:
    """Connect to a namespace on a server and return a sync client.

    Without a URL, the client uses the embedded server, which keeps its data in ./.headrace. The
    first client of a namespace creates the namespace and sets its number of shards (default 1). The
    client waits up to `timeout` seconds for each reply. If a reply is lost, the client safely
    repeats the call for up to `retry_for` seconds. With `durability="aof"`, puts and outcomes wait
    until the server has written the call to its append-only file; a number means that many
    replicas. If the server does not confirm this within half of `timeout`, the call raises
    NotDurable.

    Raises InvalidArgument if an argument is invalid, ServerUnavailable if the server cannot be
    reached, and NamespaceMismatch if the namespace has another layout or number of shards.

        with headrace.connect("redis://localhost") as client:
            client.queue("mail").put({"to": "ada"})
    """
    from headrace.client import connect as connecting

    return connecting.connect(
        connecting.ConnectOptions(
            url,
            namespace,
            shards=shards,
            codec=codec,
            limits=limits,
            library=library,
            retry_for=retry_for,
            timeout=timeout,
            durability=durability,
        )
    )


def connect_async(
    url: str | None = None,
    *,
    namespace: str = "default",
    shards: int | None = None,
    codec: str | Codec = "json",
    limits: Limits | None = None,
    retry_for: float | timedelta = 15,
    timeout: float | timedelta = 5,
    durability: Literal["aof"] | int = 0,
    library: Library | None = None,
) -> PendingAsyncClient:
    """Connect to a namespace on a server with an asyncio client.

    The arguments and errors are those of `connect`. Use the result with `async with`, which closes
    the client at the end of the block, or with `await`, which returns the client.

        async with headrace.connect_async("redis://localhost") as client:
            await client.queue("mail").put({"to": "ada"})
    """
    from headrace.client import connect as connecting

    return connecting.PendingAsyncClient(
        connecting.ConnectOptions(
            url,
            namespace,
            shards=shards,
            codec=codec,
            limits=limits,
            library=library,
            retry_for=retry_for,
            timeout=timeout,
            durability=durability,
        )
    )


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        from importlib import import_module

        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'headrace' has no attribute {name!r}")
