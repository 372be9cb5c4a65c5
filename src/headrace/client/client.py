"""The client: the door to a namespace, for code that blocks and for code that awaits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from types import TracebackType
from typing import Self
from weakref import WeakSet

from headrace.client.group import AsyncGroup, Group
from headrace.client.lease import AsyncLease, Lease
from headrace.client.queue import AsyncQueue, Queue
from headrace.client.session import AsyncSession, Session
from headrace.client.watch import AsyncWatch, Watch
from headrace.engine.check import Span
from headrace.engine.events import Event
from headrace.feeds import operations as feed_talks
from headrace.feeds.feed import AsyncFeed, Feed
from headrace.feeds.listening import listen_feeds
from headrace.feeds.values import FeedEvent
from headrace.operations import audit as auditing
from headrace.operations import (
    dependencies,
    event_log,
    finishing,
    housekeeping,
    matching,
    sessions,
    tags,
    tracking,
)
from headrace.operations import (
    failures as bulk,
)
from headrace.operations import jobs as job_talks
from headrace.operations import lakes as lake_talks
from headrace.operations import queues as queue_talks
from headrace.operations import (
    schedules as scheduling,
)
from headrace.operations import throttles as throttle_talks
from headrace.operations import (
    why_waiting as why,
)
from headrace.operations import (
    writes as writing,
)
from headrace.operations.core import Core
from headrace.operations.listening import AsyncListener, Listener
from headrace.operations.method import AsyncMethods, SyncMethods, method
from headrace.transport.drive import drive, drive_async

FOLLOW_MS = 1000


class ConfigMethods:
    """TODO."""

    get = method(queue_talks.config_get)
    set = method(queue_talks.config_set)
    unset = method(queue_talks.config_unset)


class Config(ConfigMethods, SyncMethods):
    """The settings of a namespace: defaults for every queue that does not say otherwise."""

    def __init__(self, core: Core) -> None:
        self.core = core


class AsyncConfig(ConfigMethods, AsyncMethods):
    """The settings of a namespace, for code that awaits."""

    def __init__(self, core: Core) -> None:
        self.core = core


class ClientMethods:
    """TODO."""

    audit = method(auditing.audit)
    cancel = method(job_talks.cancel)
    cancel_failed = method(bulk.cancel_failed)
    cancel_matching = method(matching.cancel_matching)
    chain = method(dependencies.chain)
    complete_many = method(finishing.complete_many)
    delete_throttle = method(throttle_talks.delete_throttle)
    depend = method(dependencies.depend)
    end_worker = method(sessions.end_by_name)
    fail = method(finishing.fail_by_id)
    fail_many = method(finishing.fail_many)
    failed = method(job_talks.failed)
    failure_groups = method(bulk.failure_groups)
    failures = method(job_talks.failures)
    feed_exists = method(feed_talks.feed_exists)
    feeds = method(feed_talks.feeds)
    finish = method(finishing.finish)
    forget_lake = method(lake_talks.forget_lake)
    heartbeat_many = method(finishing.heartbeat_many)
    job = method(job_talks.job)
    jobs = method(job_talks.jobs)
    lakes = method(lake_talks.lakes)
    matching = method(matching.matching)
    prioritise = method(job_talks.prioritise)
    queues = method(queue_talks.queues)
    release = method(finishing.release_by_id)
    release_many = method(finishing.release_many)
    requeue = method(job_talks.requeue)
    reschedule = method(scheduling.reschedule)
    result = method(job_talks.result)
    retry = method(job_talks.retry)
    retry_failed = method(bulk.retry_failed)
    schedule = method(scheduling.schedule)
    schedules = method(scheduling.schedules)
    set_throttle = method(throttle_talks.set_throttle)
    sweep = method(housekeeping.sweep)
    tag = method(tags.tag)
    tagged = method(tags.tagged)
    throttle = method(throttle_talks.throttle)
    throttles = method(throttle_talks.throttles)
    timeout = method(job_talks.timeout)
    top_tags = method(tags.top_tags)
    track = method(tracking.track)
    tracked = method(tracking.tracked)
    undepend = method(dependencies.undepend)
    unschedule = method(scheduling.unschedule)
    untag = method(tags.untag)
    untrack = method(tracking.untrack)
    why_waiting = method(why.why_waiting)
    workers = method(sessions.workers)
    writes = method(writing.writes)
    written = method(writing.written)


class Client(ClientMethods, SyncMethods):
    """A namespace on a server, for code that blocks. Threads may share it."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.config = Config(core)
        self._watches: WeakSet[Watch] = WeakSet()

    def create_feed(
        self,
        name: str,
        *,
        sorted: bool = False,  # noqa: A002 - the word users know
        max_length: int | None = None,
        about: str | None = None,
    ) -> Feed:
        """Makes a feed; raises FeedExists if there is one of this name."""
        kind = "sorted" if sorted else "plain"
        operation = feed_talks.make(self.core, name, kind=kind, max_length=max_length, about=about)
        return Feed(self.core, name, is_sorted=drive(self.core.transport, operation))

    def feed(self, name: str) -> Feed:
        """The feed of this name; if there is none, a plain one is made."""
        operation = feed_talks.make(self.core, name, open_existing=True)
        return Feed(self.core, name, is_sorted=drive(self.core.transport, operation))

    def listen_feeds(self, *, wait: Span | None = None) -> Listener[FeedEvent]:
        """Hears every change of every feed, also of new ones, from now on; as Feed.listen."""
        return Listener(drive(self.core.transport, listen_feeds(self, wait)))

    @property
    def instance(self) -> str:
        """What this client is called in the events of feeds that it makes, configures, deletes."""
        return self.core.instance

    def group(self, name: str | None = None) -> Group:
        """A group of jobs, by its name; without one, a new group."""
        return Group(self.core, name)

    def queue(self, name: str) -> Queue:
        """The queue of this name; the first put makes it."""
        return Queue(self.core, name)

    def session(self, worker: str, *, ttl: Span | None = sessions.TTL) -> Session:
        """Begins a session of a worker, to be renewed within ttl seconds, again and again."""
        token = drive(self.core.transport, sessions.start(self, worker, ttl=ttl))
        return Session(self.core, worker, token)

    def watch(
        self, worker: str, *, on_taken: Callable[[Lease, str], object] | None = None
    ) -> Watch:
        """From now on a lease that the worker pops here hears at once when it is taken.

        Its .taken is then "cancelled" or "lost"; on_taken is called with the lease and that word.
        """
        watch = Watch(self.core, worker, on_taken)
        self._watches.add(watch)
        return watch

    def events(self, *, follow: bool = False, count: int = 1000) -> Iterator[Event]:
        """What happened, oldest first on each shard; with follow, what happens from then on too,
        until the client is closed.
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

    def listen_tracked(self, *, wait: Span | None = None) -> Listener[Event]:
        """What happens to tracked jobs from now on, as it happens; iterate over it.

        After a broken connection an event of kind "missed" says that something may have been
        missed on its shard. It ends when nothing came for wait seconds, or when it is closed.
        """
        return Listener(drive(self.core.transport, tracking.listen_tracked(self, wait=wait)))

    def close(self) -> None:
        """Closes the connections, and ends the watches and what is listened to.

        A pop that waits elsewhere meanwhile ends when its time is over.
        """
        for watch in list(self._watches):
            watch.close()
        self.core.transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()


class AsyncClient(ClientMethods, AsyncMethods):
    """A namespace on a server, for code that awaits. Tasks of one loop may share it."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.config = AsyncConfig(core)
        self._watches: WeakSet[AsyncWatch] = WeakSet()

    async def create_feed(
        self,
        name: str,
        *,
        sorted: bool = False,  # noqa: A002 - the word users know
        max_length: int | None = None,
        about: str | None = None,
    ) -> AsyncFeed:
        """Makes a feed; raises FeedExists if there is one of this name."""
        kind = "sorted" if sorted else "plain"
        operation = feed_talks.make(self.core, name, kind=kind, max_length=max_length, about=about)
        return AsyncFeed(
            self.core, name, is_sorted=await drive_async(self.core.transport, operation)
        )

    async def feed(self, name: str) -> AsyncFeed:
        """The feed of this name; if there is none, a plain one is made."""
        operation = feed_talks.make(self.core, name, open_existing=True)
        return AsyncFeed(
            self.core, name, is_sorted=await drive_async(self.core.transport, operation)
        )

    async def listen_feeds(self, *, wait: Span | None = None) -> AsyncListener[FeedEvent]:
        """Hears every change of every feed, also of new ones, from now on; as Feed.listen."""
        return AsyncListener(await drive_async(self.core.transport, listen_feeds(self, wait)))

    @property
    def instance(self) -> str:
        """What this client is called in the events of feeds that it makes, configures, deletes."""
        return self.core.instance

    def group(self, name: str | None = None) -> AsyncGroup:
        """A group of jobs, by its name; without one, a new group."""
        return AsyncGroup(self.core, name)

    def queue(self, name: str) -> AsyncQueue:
        """The queue of this name; the first put makes it."""
        return AsyncQueue(self.core, name)

    async def session(self, worker: str, *, ttl: Span | None = sessions.TTL) -> AsyncSession:
        """Begins a session of a worker, to be renewed within ttl seconds, again and again."""
        token = await drive_async(self.core.transport, sessions.start(self, worker, ttl=ttl))
        return AsyncSession(self.core, worker, token)

    async def watch(
        self, worker: str, *, on_taken: Callable[[AsyncLease, str], object] | None = None
    ) -> AsyncWatch:
        """From now on a lease that the worker pops here hears at once when it is taken.

        Its .taken is then "cancelled" or "lost"; on_taken is called with the lease and that word.
        """
        watch = await AsyncWatch.begun(self.core, worker, on_taken)
        self._watches.add(watch)
        return watch

    async def events(self, *, follow: bool = False, count: int = 1000) -> AsyncIterator[Event]:
        """What happened, oldest first on each shard; with follow, what happens from then on too,
        until the client is closed.
        """
        seen: dict[int, str] = {}
        closings = self.core.transport.closings
        while True:
            found = await drive_async(
                self.core.transport, event_log.events(self, after=seen, count=count)
            )
            for event in found:
                seen[event.shard] = event.entry_id
                yield event
            if not found and (not follow or self.core.transport.closings > closings):
                return
            if not found:
                await drive_async(
                    self.core.transport, event_log.wait_for_event(self, seen, FOLLOW_MS)
                )

    async def listen_tracked(self, *, wait: Span | None = None) -> AsyncListener[Event]:
        """What happens to tracked jobs from now on, as it happens; iterate over it.

        After a broken connection an event of kind "missed" says that something may have been
        missed on its shard. It ends when nothing came for wait seconds, or when it is closed.
        """
        state = await drive_async(self.core.transport, tracking.listen_tracked(self, wait=wait))
        return AsyncListener(state)

    async def close(self) -> None:
        """Closes the connections, and ends the watches and what is listened to.

        A pop that waits elsewhere meanwhile ends when its time is over.
        """
        for watch in list(self._watches):
            await watch.close()
        await self.core.transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        await self.close()
