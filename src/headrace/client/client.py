"""The client of a namespace, sync and async."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from weakref import WeakSet

from headrace.client import groups
from headrace.client.group import AsyncGroup, Group
from headrace.client.lease import AsyncLease, Lease
from headrace.client.queue import AsyncQueue, Queue
from headrace.client.session import AsyncSession, Session
from headrace.client.watch import AsyncWatch, Watch
from headrace.closing import ClosesOnAsyncExit, ClosesOnExit
from headrace.engine.check import Span
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
from headrace.operations.method import AsyncMethods, SyncMethods, method
from headrace.transport.drive import drive, drive_async

FOLLOW_MS = 1000


class ClientBase:
    """The methods that Client and AsyncClient share."""

    core: Core

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

    @property
    def instance(self) -> str:
        """The name of this client in the events of feeds that it creates, configures, deletes."""
        return self.core.instance


class Client(ClientBase, SyncMethods, ClosesOnExit):
    """A namespace on a server. Threads may share a client.

    Connect with headrace.connect:

        with headrace.connect("redis://localhost") as client:
            client.queue("mail").put({"to": "ada@example.org"})
    """

    def __init__(self, core: Core) -> None:
        self.core = core
        self.config = groups.Config[SyncMethods](core, is_async=False)
        self.dependencies = groups.Dependencies[SyncMethods](core, is_async=False)
        self.failures = groups.Failures[SyncMethods](core, is_async=False)
        self.feeds = groups.Feeds(core)
        self.lakes = groups.Lakes[SyncMethods](core, is_async=False)
        self.leases = groups.Leases[SyncMethods](core, is_async=False)
        self.schedules = groups.Schedules[SyncMethods](core, is_async=False)
        self.tags = groups.Tags[SyncMethods](core, is_async=False)
        self.throttles = groups.Throttles[SyncMethods](core, is_async=False)
        self.tracking = groups.Tracking(core)
        self.workers = groups.Workers[SyncMethods](core, is_async=False)
        self.writes = groups.Writes[SyncMethods](core, is_async=False)
        self._watches: WeakSet[Watch] = WeakSet()

    def feed(self, name: str) -> Feed:
        """Return the feed with this name; create a plain one if there is none."""
        operation = feed_operations.make(self.core, name, open_existing=True)
        return Feed(self.core, name, is_sorted=drive(self.core.transport, operation))

    def group(self, name: str | None = None) -> Group:
        """Return the group of jobs with this name, or a new group.

        The members of a group may be in different queues.

            group = client.group()
            group.put_many("resize", images)
            group.then("notify", {"to": "ada@example.org"})
        """
        return Group(self.core, name)

    def queue(self, name: str) -> Queue:
        """Return the queue with this name; the first put creates it on the server."""
        return Queue(self.core, name)

    def session(self, worker: str, *, ttl: Span | None = sessions.TTL) -> Session:
        """Start a session of a worker; it lapses unless it is renewed within ttl seconds.

        A ttl of None never lapses. When a session ends, the jobs of its worker go back to their
        queues.

            with client.session("worker-1", ttl=10) as session:
                session.serve("mail")
        """
        token = drive(self.core.transport, sessions.start(self, worker, ttl=ttl))
        return Session(self.core, worker, token)

    def watch(
        self, worker: str, *, on_taken: Callable[[Lease, str], object] | None = None
    ) -> Watch:
        """Notify the leases that a worker pops from now on when they are lost or cancelled.

        A lost lease has "cancelled" or "lost" in its attribute `taken`. `on_taken` is called with
        the lease and that word, in the thread of the watch.

        Raises InvalidArgument if `on_taken` is not a plain function, ServerUnavailable if the watch
        cannot subscribe.

            with client.watch("worker-1", on_taken=print):
                [lease] = client.queue("mail").pop("worker-1", wait=None)
        """
        watch = Watch(self.core, worker, on_taken)
        self._watches.add(watch)
        return watch

    def events(self, *, follow: bool = False, count: int = 1000) -> Iterator[Event]:
        """Yield the events of the log, oldest first on each shard, `count` per round trip.

        With `follow`, wait for new events until the client is closed.

            for event in client.events(follow=True):
                print(event.kind, event.job_id)
        """
        seen: dict[int, str] = {}
        closings = self.core.transport.closings
        while True:
            found = drive(self.core.transport, event_log.events(self, after=seen, count=count))
            for event in found:
                seen[event.shard] = event.entry_id
                yield event
            if not found and (not follow or self.core.transport.closings > closings):
                return
            if not found:
                drive(self.core.transport, event_log.wait_for_event(self, seen, FOLLOW_MS))

    def close(self) -> None:
        """Close the connections, the watches and the listeners of this client.

        A pop that waits in another thread returns when its time is over.
        """
        for watch in list(self._watches):
            watch.close()
        self.core.transport.close()


class AsyncClient(ClientBase, AsyncMethods, ClosesOnAsyncExit):
    """The asyncio form of Client. Tasks of one event loop may share it.

    Connect with headrace.connect_async:

        async with headrace.connect_async("redis://localhost") as client:
            await client.queue("mail").put({"to": "ada@example.org"})
    """

    def __init__(self, core: Core) -> None:
        self.core = core
        self.config = groups.Config[AsyncMethods](core, is_async=True)
        self.dependencies = groups.Dependencies[AsyncMethods](core, is_async=True)
        self.failures = groups.Failures[AsyncMethods](core, is_async=True)
        self.feeds = groups.AsyncFeeds(core)
        self.lakes = groups.Lakes[AsyncMethods](core, is_async=True)
        self.leases = groups.Leases[AsyncMethods](core, is_async=True)
        self.schedules = groups.Schedules[AsyncMethods](core, is_async=True)
        self.tags = groups.Tags[AsyncMethods](core, is_async=True)
        self.throttles = groups.Throttles[AsyncMethods](core, is_async=True)
        self.tracking = groups.AsyncTracking(core)
        self.workers = groups.Workers[AsyncMethods](core, is_async=True)
        self.writes = groups.Writes[AsyncMethods](core, is_async=True)
        self._watches: WeakSet[AsyncWatch] = WeakSet()

    async def feed(self, name: str) -> AsyncFeed:
        """Return the feed with this name; see Client.feed."""
        operation = feed_operations.make(self.core, name, open_existing=True)
        return AsyncFeed(
            self.core, name, is_sorted=await drive_async(self.core.transport, operation)
        )

    def group(self, name: str | None = None) -> AsyncGroup:
        """Return the group of jobs with this name, or a new group; see Client.group."""
        return AsyncGroup(self.core, name)

    def queue(self, name: str) -> AsyncQueue:
        """Return the queue with this name; the first put creates it on the server."""
        return AsyncQueue(self.core, name)

    async def session(self, worker: str, *, ttl: Span | None = sessions.TTL) -> AsyncSession:
        """Start a session of a worker; see Client.session."""
        token = await drive_async(self.core.transport, sessions.start(self, worker, ttl=ttl))
        return AsyncSession(self.core, worker, token)

    async def watch(
        self, worker: str, *, on_taken: Callable[[AsyncLease, str], object] | None = None
    ) -> AsyncWatch:
        """Notify the leases that a worker pops from now on; see Client.watch."""
        watch = await AsyncWatch.started(self.core, worker, on_taken)
        self._watches.add(watch)
        return watch

    async def events(self, *, follow: bool = False, count: int = 1000) -> AsyncIterator[Event]:
        """Yield the events of the log, oldest first on each shard; see Client.events."""
        seen: dict[int, str] = {}
        closings = self.core.transport.closings
        while True:
            operation = event_log.events(self, after=seen, count=count)
            found = await drive_async(self.core.transport, operation)
            for event in found:
                seen[event.shard] = event.entry_id
                yield event
            if not found and (not follow or self.core.transport.closings > closings):
                return
            if not found:
                wait = event_log.wait_for_event(self, seen, FOLLOW_MS)
                await drive_async(self.core.transport, wait)

    async def close(self) -> None:
        """Close the connections, the watches and the listeners; see Client.close."""
        for watch in list(self._watches):
            await watch.close()
        await self.core.transport.close()
