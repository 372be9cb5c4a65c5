"""The client of a namespace, sync and async."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from functools import cached_property
from typing import Any, ClassVar, Generic
from weakref import WeakSet

from headrace.client import method_groups as groups
from headrace.client.group import AsyncGroup, Group
from headrace.client.lease import AsyncLease, Lease
from headrace.client.queue import AsyncQueue, Queue
from headrace.client.session import AsyncSession, Session
from headrace.client.watch import AsyncWatch, Watch
from headrace.close_on_exit import ClosesOnAsyncExit, ClosesOnExit
from headrace.engine.check import Durability, Span
from headrace.engine.events import Event
from headrace.feeds import operations as feed_operations
from headrace.feeds.feed import AsyncFeed, Feed
from headrace.operations import audit as audit_operations
from headrace.operations import (
    dependencies,
    event_log,
    finishing,
    housekeeping,
    sessions,
)
from headrace.operations import jobs as job_operations
from headrace.operations import queues as queue_operations
from headrace.operations import why_waiting as why_waiting_operations
from headrace.operations.core import Core
from headrace.operations.method import AsyncMethods, MethodGroup, Mode, SyncMethods, method
from headrace.transport.drive import drive, drive_async


def _group_property(kind: type[MethodGroup[Any]]) -> Any:
    """Return a property that creates a method group on first use; `help` shows its docstring."""
    found = cached_property(lambda client: kind(client.core, is_async=client._is_async))  # noqa: SLF001
    found.__doc__ = kind.__doc__
    return found


class ClientBase(Generic[Mode]):
    """The methods that Client and AsyncClient share."""

    audit = method(audit_operations.audit)
    cancel = method(job_operations.cancel)
    chain = method(dependencies.chain)
    fail = method(finishing.fail_by_id)
    finish = method(finishing.finish)
    job = method(job_operations.job)
    jobs = method(job_operations.jobs)
    prioritise = method(job_operations.prioritise)
    queues = method(queue_operations.queues)
    release = method(finishing.release_by_id)
    requeue = method(job_operations.requeue)
    result = method(job_operations.result)
    retry = method(job_operations.retry)
    sweep = method(housekeeping.sweep)
    timeout = method(job_operations.timeout)
    why_waiting = method(why_waiting_operations.why_waiting)

    config: groups.Config[Mode] = _group_property(groups.Config)
    dependencies: groups.Dependencies[Mode] = _group_property(groups.Dependencies)
    failures: groups.Failures[Mode] = _group_property(groups.Failures)
    lakes: groups.Lakes[Mode] = _group_property(groups.Lakes)
    leases: groups.Leases[Mode] = _group_property(groups.Leases)
    schedules: groups.Schedules[Mode] = _group_property(groups.Schedules)
    tags: groups.Tags[Mode] = _group_property(groups.Tags)
    throttles: groups.Throttles[Mode] = _group_property(groups.Throttles)
    workers: groups.Workers[Mode] = _group_property(groups.Workers)
    writes: groups.Writes[Mode] = _group_property(groups.Writes)

    _is_async: ClassVar[bool]

    def __init__(self, core: Core) -> None:
        self.core = core

    @property
    def instance(self) -> str:
        """The name that identifies this client in feed events (create, configure, delete)."""
        return self.core.instance


class Client(ClientBase[SyncMethods], SyncMethods, ClosesOnExit):
    """A namespace on a server. Threads may share a client.

    Every call raises InvalidArgument for an invalid argument, before anything is sent. A call
    raises ServerUnavailable if the server does not answer within `retry_for` seconds. Connect with
    headrace.connect:

        with headrace.connect("redis://localhost") as client:
            client.queue("mail").put({"to": "ada@example.org"})
    """

    _is_async = False

    def __init__(self, core: Core) -> None:
        super().__init__(core)
        self._watches: WeakSet[Watch] = WeakSet()

    @cached_property
    def feeds(self) -> groups.Feeds:
        """Feeds: lists whose items stay until a client retracts them."""
        return groups.Feeds(self.core)

    @cached_property
    def tracking(self) -> groups.Tracking:
        """Track jobs, and listen to the events of tracked jobs."""
        return groups.Tracking(self.core)

    def feed(self, name: str) -> Feed:
        """Return the feed with this name; if no such feed exists, create a plain feed.

        Raises InvalidArgument if the name is malformed.

            news = client.feed("news")
            news.publish({"title": "Released"})
        """
        operation = feed_operations.open_feed(self.core, name)
        return Feed(self.core, name, is_sorted=drive(self.core.transport, operation))

    def group(self, name: str | None = None) -> Group:
        """Return the group of jobs with this name; without a name, return a new group.

        The members of a group may be in different queues.

        Raises InvalidArgument if the name is malformed.

            group = client.group()
            group.put_many("resize", images)
            group.then("notify", {"to": "ada@example.org"})
        """
        return Group(self.core, name)

    def queue(self, name: str, *, durability: Durability | None = None) -> Queue:
        """Return the queue with this name; the first put creates the queue on the server.

        With `durability`, puts into this queue and outcomes of its leases wait for the append-only
        file ("aof") or for a number of replicas; the default is the durability of the client.

        Raises InvalidArgument if the name is malformed or the `durability` is invalid.
        """
        return Queue(self.core.with_durability(durability), name)

    def session(self, worker: str, *, ttl: Span | None = sessions.TTL) -> Session:
        """Start a session of a worker, and return the session.

        The worker must renew the session within `ttl` seconds. Otherwise the session lapses, and
        the jobs of the worker return to their queues. With a `ttl` of None, the session never
        lapses.

        Raises InvalidArgument if the name of the worker or the `ttl` is invalid.

            with client.session("worker-1", ttl=10) as session:
                session.serve("mail")
        """
        token = drive(self.core.transport, sessions.start(self, worker, ttl=ttl))
        return Session(self.core, worker, token)

    def watch(
        self, worker: str, *, on_taken: Callable[[Lease, str], object] | None = None
    ) -> Watch:
        """Watch the leases of a worker, and report each lost lease at once.

        The watch covers the leases that the worker pops after this call. When a lease is lost, the
        watch sets `lease.taken` to "cancelled" or "lost". The watch then calls `on_taken` with the
        lease and this value, in the thread of the watch.

        Raises InvalidArgument if `on_taken` is not a plain function, and ServerUnavailable if the
        watch cannot subscribe.

            with client.watch("worker-1", on_taken=print):
                [lease] = client.queue("mail").pop("worker-1", wait=None)
        """
        watch = Watch(self.core, worker, on_taken)._start()  # noqa: SLF001 - only a client starts watches
        self._watches.add(watch)
        return watch

    def events(self, *, follow: bool = False, count: int = 1000) -> Iterator[Event]:
        """Yield the events of the event log, oldest first per shard; read `count` per round trip.

        With `follow`, wait for new events until the client is closed.

        Raises InvalidArgument if `count` is not from 1 to 10,000.

            for event in client.events():
                print(event.kind, event.job_id)
        """
        read = event_log.reader(self, count, follow=follow)
        while found := drive(self.core.transport, read()):
            yield from found

    def close(self) -> None:
        """Close the connections, the watches and the listeners of this client.

        A pop that waits in another thread returns when its `wait` time is over.
        """
        for watch in list(self._watches):
            watch.close()
        self.core.transport.close()


class AsyncClient(ClientBase[AsyncMethods], AsyncMethods, ClosesOnAsyncExit):
    """The asyncio form of Client. Tasks of one event loop may share a client.

    Connect with headrace.connect_async:

        async with headrace.connect_async("redis://localhost") as client:
            await client.queue("mail").put({"to": "ada@example.org"})
    """

    _is_async = True

    def __init__(self, core: Core) -> None:
        super().__init__(core)
        self._watches: WeakSet[AsyncWatch] = WeakSet()

    @cached_property
    def feeds(self) -> groups.AsyncFeeds:
        """Feeds: lists whose items stay until a client retracts them."""
        return groups.AsyncFeeds(self.core)

    @cached_property
    def tracking(self) -> groups.AsyncTracking:
        """Track jobs, and listen to the events of tracked jobs."""
        return groups.AsyncTracking(self.core)

    async def feed(self, name: str) -> AsyncFeed:
        """Return the feed with this name; see Client.feed."""
        operation = feed_operations.open_feed(self.core, name)
        return AsyncFeed(
            self.core, name, is_sorted=await drive_async(self.core.transport, operation)
        )

    def group(self, name: str | None = None) -> AsyncGroup:
        """Return the group of jobs with this name; see Client.group."""
        return AsyncGroup(self.core, name)

    def queue(self, name: str, *, durability: Durability | None = None) -> AsyncQueue:
        """Return the queue with this name; see Client.queue."""
        return AsyncQueue(self.core.with_durability(durability), name)

    async def session(self, worker: str, *, ttl: Span | None = sessions.TTL) -> AsyncSession:
        """Start a session of a worker; see Client.session."""
        token = await drive_async(self.core.transport, sessions.start(self, worker, ttl=ttl))
        return AsyncSession(self.core, worker, token)

    async def watch(
        self, worker: str, *, on_taken: Callable[[AsyncLease, str], object] | None = None
    ) -> AsyncWatch:
        """Watch the leases of a worker; see Client.watch."""
        watch = await AsyncWatch(self.core, worker, on_taken)._start()  # noqa: SLF001 - as in Client
        self._watches.add(watch)
        return watch

    async def events(self, *, follow: bool = False, count: int = 1000) -> AsyncIterator[Event]:
        """Yield the events of the event log, oldest first per shard; see Client.events."""
        read = event_log.reader(self, count, follow=follow)
        while found := await drive_async(self.core.transport, read()):
            for event in found:
                yield event

    async def close(self) -> None:
        """Close the connections, the watches and the listeners; see Client.close."""
        for watch in list(self._watches):
            await watch.close()
        await self.core.transport.close()
