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
from headrace.operations.method import awaiting, blocking, named
from headrace.transport.drive import drive, drive_async

FOLLOW_MS = 1000


@named
class Config:
    """The settings of a namespace: defaults for every queue that does not say otherwise."""

    def __init__(self, core: Core) -> None:
        self.core = core

    get = blocking(queue_talks.config_get)
    set = blocking(queue_talks.config_set)
    unset = blocking(queue_talks.config_unset)


@named
class AsyncConfig:
    """The settings of a namespace, for code that awaits."""

    def __init__(self, core: Core) -> None:
        self.core = core

    get = awaiting(queue_talks.config_get)
    set = awaiting(queue_talks.config_set)
    unset = awaiting(queue_talks.config_unset)


@named
class Client:
    """A namespace on a server, for code that blocks. Threads may share it."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.config = Config(core)
        self._watches: WeakSet[Watch] = WeakSet()

    audit = blocking(auditing.audit)
    cancel = blocking(job_talks.cancel)
    cancel_failed = blocking(bulk.cancel_failed)
    cancel_matching = blocking(matching.cancel_matching)
    chain = blocking(dependencies.chain)
    complete_many = blocking(finishing.complete_many)
    delete_throttle = blocking(throttle_talks.delete_throttle)
    depend = blocking(dependencies.depend)
    end_worker = blocking(sessions.end_by_name)
    fail = blocking(finishing.fail_by_id)
    fail_many = blocking(finishing.fail_many)
    failed = blocking(job_talks.failed)
    failure_groups = blocking(bulk.failure_groups)
    failures = blocking(job_talks.failures)
    feed_exists = blocking(feed_talks.feed_exists)
    feeds = blocking(feed_talks.feeds)
    finish = blocking(finishing.finish)
    forget_lake = blocking(lake_talks.forget_lake)
    heartbeat_many = blocking(finishing.heartbeat_many)
    job = blocking(job_talks.job)
    jobs = blocking(job_talks.jobs)
    lakes = blocking(lake_talks.lakes)
    matching = blocking(matching.matching)
    prioritise = blocking(job_talks.prioritise)
    queues = blocking(queue_talks.queues)
    release = blocking(finishing.release_by_id)
    release_many = blocking(finishing.release_many)
    requeue = blocking(job_talks.requeue)
    reschedule = blocking(scheduling.reschedule)
    result = blocking(job_talks.result)
    retry = blocking(job_talks.retry)
    retry_failed = blocking(bulk.retry_failed)
    schedule = blocking(scheduling.schedule)
    schedules = blocking(scheduling.schedules)
    set_throttle = blocking(throttle_talks.set_throttle)
    sweep = blocking(housekeeping.sweep)
    tag = blocking(tags.tag)
    tagged = blocking(tags.tagged)
    throttle = blocking(throttle_talks.throttle)
    throttles = blocking(throttle_talks.throttles)
    timeout = blocking(job_talks.timeout)
    top_tags = blocking(tags.top_tags)
    track = blocking(tracking.track)
    tracked = blocking(tracking.tracked)
    undepend = blocking(dependencies.undepend)
    unschedule = blocking(scheduling.unschedule)
    untag = blocking(tags.untag)
    untrack = blocking(tracking.untrack)
    why_waiting = blocking(why.why_waiting)
    workers = blocking(sessions.workers)
    writes = blocking(writing.writes)
    written = blocking(writing.written)

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


@named
class AsyncClient:
    """A namespace on a server, for code that awaits. Tasks of one loop may share it."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.config = AsyncConfig(core)
        self._watches: WeakSet[AsyncWatch] = WeakSet()

    audit = awaiting(auditing.audit)
    cancel = awaiting(job_talks.cancel)
    cancel_failed = awaiting(bulk.cancel_failed)
    cancel_matching = awaiting(matching.cancel_matching)
    chain = awaiting(dependencies.chain)
    complete_many = awaiting(finishing.complete_many)
    delete_throttle = awaiting(throttle_talks.delete_throttle)
    depend = awaiting(dependencies.depend)
    end_worker = awaiting(sessions.end_by_name)
    fail = awaiting(finishing.fail_by_id)
    fail_many = awaiting(finishing.fail_many)
    failed = awaiting(job_talks.failed)
    failure_groups = awaiting(bulk.failure_groups)
    failures = awaiting(job_talks.failures)
    feed_exists = awaiting(feed_talks.feed_exists)
    feeds = awaiting(feed_talks.feeds)
    finish = awaiting(finishing.finish)
    forget_lake = awaiting(lake_talks.forget_lake)
    heartbeat_many = awaiting(finishing.heartbeat_many)
    job = awaiting(job_talks.job)
    jobs = awaiting(job_talks.jobs)
    lakes = awaiting(lake_talks.lakes)
    matching = awaiting(matching.matching)
    prioritise = awaiting(job_talks.prioritise)
    queues = awaiting(queue_talks.queues)
    release = awaiting(finishing.release_by_id)
    release_many = awaiting(finishing.release_many)
    requeue = awaiting(job_talks.requeue)
    reschedule = awaiting(scheduling.reschedule)
    result = awaiting(job_talks.result)
    retry = awaiting(job_talks.retry)
    retry_failed = awaiting(bulk.retry_failed)
    schedule = awaiting(scheduling.schedule)
    schedules = awaiting(scheduling.schedules)
    set_throttle = awaiting(throttle_talks.set_throttle)
    sweep = awaiting(housekeeping.sweep)
    tag = awaiting(tags.tag)
    tagged = awaiting(tags.tagged)
    throttle = awaiting(throttle_talks.throttle)
    throttles = awaiting(throttle_talks.throttles)
    timeout = awaiting(job_talks.timeout)
    top_tags = awaiting(tags.top_tags)
    track = awaiting(tracking.track)
    tracked = awaiting(tracking.tracked)
    undepend = awaiting(dependencies.undepend)
    unschedule = awaiting(scheduling.unschedule)
    untag = awaiting(tags.untag)
    untrack = awaiting(tracking.untrack)
    why_waiting = awaiting(why.why_waiting)
    workers = awaiting(sessions.workers)
    writes = awaiting(writing.writes)
    written = awaiting(writing.written)

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
