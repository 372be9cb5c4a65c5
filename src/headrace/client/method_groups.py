"""Groups of client methods by subject: `client.failures`, `client.schedules`, `client.tags`, ..."""

from __future__ import annotations

from headrace.engine.check import Span
from headrace.engine.events import Event
from headrace.feeds import operations as feed_operations
from headrace.feeds.feed import AsyncFeed, Feed
from headrace.feeds.listening import listen_feeds
from headrace.feeds.values import FeedEvent
from headrace.operations import (
    dependencies,
    failures,
    finishing,
    lakes,
    queues,
    schedules,
    sessions,
    tags,
    throttles,
    tracking,
    writes,
)
from headrace.operations.channel_listener import AsyncListener, Listener
from headrace.operations.core import Core
from headrace.operations.method import AsyncMethods, MethodGroup, Mode, SyncMethods, method
from headrace.transport.drive import drive, drive_async


class Config(MethodGroup[Mode]):
    """`client.config`: settings of the namespace; these are the defaults for every queue."""

    get = method(queues.config_get)
    set = method(queues.config_set)
    unset = method(queues.config_unset)


class Dependencies(MethodGroup[Mode]):
    """`client.dependencies`: add or remove the jobs that a job waits for."""

    add = method(dependencies.depend)
    remove = method(dependencies.undepend)


class Failures(MethodGroup[Mode]):
    """`client.failures`: read, retry and cancel failed jobs, grouped by failure type."""

    cancel = method(failures.cancel_failed)
    counts = method(failures.failure_counts)
    groups = method(failures.failure_groups)
    jobs = method(failures.failed_jobs)
    retry = method(failures.retry_failed)


class Lakes(MethodGroup[Mode]):
    """`client.lakes`: list or forget the lakes for which the server keeps events."""

    forget = method(lakes.forget_lake)
    list = method(lakes.lakes)


class Leases(MethodGroup[Mode]):
    """`client.leases`: finish or renew many leases in one round trip."""

    complete = method(finishing.complete_many)
    fail = method(finishing.fail_many)
    heartbeat = method(finishing.heartbeat_many)
    release = method(finishing.release_many)


class Schedules(MethodGroup[Mode]):
    """`client.schedules`: read, change and delete schedules; Queue.schedule creates a schedule."""

    delete = method(schedules.unschedule)
    get = method(schedules.schedule)
    list = method(schedules.schedules)
    update = method(schedules.reschedule)


class Tags(MethodGroup[Mode]):
    """`client.tags`: labels of jobs."""

    add = method(tags.tag)
    jobs = method(tags.tagged)
    remove = method(tags.untag)
    top = method(tags.top_tags)


class Throttles(MethodGroup[Mode]):
    """`client.throttles`: named limits that queues share."""

    delete = method(throttles.delete_throttle)
    get = method(throttles.throttle)
    list = method(throttles.throttles)
    set = method(throttles.set_throttle)


class Workers(MethodGroup[Mode]):
    """`client.workers`: list the workers that have a session, and end sessions."""

    end = method(sessions.end_by_name)
    list = method(sessions.workers)


class Writes(MethodGroup[Mode]):
    """`client.writes`: the status of writes from Spark."""

    get = method(writes.written)
    list = method(writes.writes)


class FeedsBase:
    """The methods that Feeds and AsyncFeeds share."""

    def __init__(self, core: Core) -> None:
        self.core = core

    exists = method(feed_operations.feed_exists)
    list = method(feed_operations.feeds)


class Feeds(FeedsBase, SyncMethods):
    """`client.feeds`: lists whose items stay until a client retracts them."""

    def create(
        self,
        name: str,
        *,
        sorted: bool = False,  # noqa: A002 - the word users know
        max_length: int | None = None,
        about: str | None = None,
    ) -> Feed:
        """Create a feed and return it; the items of a sorted feed have positions.

        If a plain feed has more than `max_length` items, the oldest items are retracted. `about` is
        a description.

        Raises FeedExists if a feed with this name exists, and InvalidArgument if `max_length` is
        passed for a sorted feed.

            todo = client.feeds.create("todo", sorted=True)
        """
        make = feed_operations.make
        operation = make(self.core, name, sorted=sorted, max_length=max_length, about=about)
        return Feed(self.core, name, is_sorted=drive(self.core.transport, operation))

    def listen(self, *, wait: Span | None = None) -> Listener[FeedEvent]:
        """Subscribe to the changes of every feed, including new feeds; see Feed.listen.

        Raises ServerUnavailable if the client cannot subscribe.

            with client.feeds.listen(wait=60) as changes:
                for change in changes:
                    print(change.feed, change.kind, change.id)
        """
        return Listener(drive(self.core.transport, listen_feeds(self, wait)))


class AsyncFeeds(FeedsBase, AsyncMethods):
    """The asyncio form of Feeds."""

    async def create(
        self,
        name: str,
        *,
        sorted: bool = False,  # noqa: A002 - the word users know
        max_length: int | None = None,
        about: str | None = None,
    ) -> AsyncFeed:
        """Create a feed; see Feeds.create."""
        make = feed_operations.make
        operation = make(self.core, name, sorted=sorted, max_length=max_length, about=about)
        is_sorted = await drive_async(self.core.transport, operation)
        return AsyncFeed(self.core, name, is_sorted=is_sorted)

    async def listen(self, *, wait: Span | None = None) -> AsyncListener[FeedEvent]:
        """Subscribe to the changes of every feed; see Feeds.listen."""
        return AsyncListener(await drive_async(self.core.transport, listen_feeds(self, wait)))


class TrackingBase:
    """The methods that Tracking and AsyncTracking share."""

    def __init__(self, core: Core) -> None:
        self.core = core

    add = method(tracking.track)
    list = method(tracking.tracked)
    remove = method(tracking.untrack)


class Tracking(TrackingBase, SyncMethods):
    """`client.tracking`: track jobs, and listen to the events of tracked jobs."""

    def listen(self, *, wait: Span | None = None) -> Listener[Event]:
        """Subscribe to the events of tracked jobs, and return a listener to iterate over.

        After a connection breaks, an event of kind "missed" reports that events of a shard may be
        missing. The iteration ends after `wait` seconds without an event, or when the listener or
        the client is closed.

        Raises ServerUnavailable if the client cannot subscribe.

            with client.tracking.listen(wait=60) as events:
                for event in events:
                    print(event.kind, event.job_id)
        """
        return Listener(drive(self.core.transport, tracking.listen_tracked(self, wait=wait)))


class AsyncTracking(TrackingBase, AsyncMethods):
    """The asyncio form of Tracking."""

    async def listen(self, *, wait: Span | None = None) -> AsyncListener[Event]:
        """Subscribe to the events of tracked jobs; see Tracking.listen."""
        operation = tracking.listen_tracked(self, wait=wait)
        return AsyncListener(await drive_async(self.core.transport, operation))
