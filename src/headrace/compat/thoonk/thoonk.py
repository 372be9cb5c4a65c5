"""Thoonk: where feeds are made, opened and deleted; for code that blocks and code that awaits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headrace.client.client import AsyncClient, Client
from headrace.compat.opening import AsyncOpened, Opened, awaiting
from headrace.compat.thoonk import registry
from headrace.compat.thoonk.leaf import AsyncLeaf, AsyncSortedFeed, Leaf, SortedFeed
from headrace.compat.thoonk.lines import AsyncJob, AsyncQueue, Job, Queue
from headrace.compat.thoonk.notices import AsyncThoonkListener, Handlers, ThoonkListener
from headrace.operations.method import blocking, named
from headrace.transport.drive import drive, drive_async

Config = Mapping[str, Any] | str
AnyFeed = Leaf | SortedFeed | Queue | Job
AnyAsyncFeed = AsyncLeaf | AsyncSortedFeed | AsyncQueue | AsyncJob
KINDS: dict[str, type[AnyFeed]] = {
    Leaf.type: Leaf,
    SortedFeed.type: SortedFeed,
    Queue.type: Queue,
    Job.type: Job,
}
ASYNC_KINDS: dict[str, type[AnyAsyncFeed]] = {
    AsyncLeaf.type: AsyncLeaf,
    AsyncSortedFeed.type: AsyncSortedFeed,
    AsyncQueue.type: AsyncQueue,
    AsyncJob.type: AsyncJob,
}


@named
class Thoonk(Opened):
    """Feeds, queues and jobs in the words of thoonk, for code that blocks. Threads may share it.

    With listen=True handlers are called, in a thread of their own.
    """

    def __init__(
        self, client: Client | str, namespace: str = "default", *, listen: bool = False
    ) -> None:
        super().__init__(client, namespace)
        self._handlers = Handlers(listens=listen)
        self._listener = (
            ThoonkListener(self.client.feeds.listen(), self._handlers, self.core)
            if listen
            else None
        )

    delete_feed = blocking(registry.delete_feed)
    feed_exists = blocking(registry.feed_exists)
    get_config = blocking(registry.get_config)
    get_feeds = blocking(registry.get_feeds)
    set_config = blocking(registry.set_config)

    @property
    def instance(self) -> str:
        """What this client is called where it is told who made, configured or deleted a feed."""
        return self.core.instance

    def create_feed(self, feed: str, config: Config | None = None) -> AnyFeed:
        """Makes a feed with its config; raises FeedExists if there is one of this name."""
        kind = drive(self.core.transport, registry.create(self, feed, config))
        return KINDS[kind](self.core, feed)

    def __getitem__(self, feed: str) -> AnyFeed:
        kind = drive(self.core.transport, registry.open_by_name(self, feed))
        return KINDS[kind](self.core, feed)

    def leaf(self, feed: str, config: Config | None = None) -> Leaf:
        """The leaf of this name; if there is none, it is made."""
        self._open(feed, config, Leaf.type)
        return Leaf(self.core, feed)

    feed = leaf

    def sorted_feed(self, feed: str, config: Config | None = None) -> SortedFeed:
        """The sorted feed of this name; if there is none, it is made."""
        self._open(feed, config, SortedFeed.type)
        return SortedFeed(self.core, feed)

    def queue(self, feed: str, config: Config | None = None) -> Queue:
        """The queue of this name; if there is none, it is made."""
        self._open(feed, config, Queue.type)
        return Queue(self.core, feed)

    def job(self, feed: str, config: Config | None = None) -> Job:
        """The feed of jobs of this name; if there is none, it is made."""
        self._open(feed, config, Job.type)
        return Job(self.core, feed)

    def _open(self, feed: str, config: Config | None, kind: str) -> None:
        drive(self.core.transport, registry.open_as(self, feed, config, kind))

    def register_handler(self, name: str, handler: Callable[..., Any], *, own: bool = True) -> None:
        """Has a function called from now on: create(feed), delete(feed), config(feed),
        publish(feed, item, id), edit(feed, item, id), retract(feed, id),
        position(feed, id, place), missed(feed, count).

        With own=False not when this client itself has made, configured or deleted a feed.
        """
        self._handlers.add(name, handler, own=own)

    def close(self) -> None:
        """Calls no handlers any more, and closes the connections if they are its own."""
        if self._listener is not None:
            self._listener.close()
        super().close()


@named
class AsyncThoonk(AsyncOpened):
    """The same for code that awaits. With listen=True handlers are called, in a task of their own,
    from the first call on, or from the beginning of an async with.
    """

    def __init__(
        self, client: AsyncClient | str, namespace: str = "default", *, listen: bool = False
    ) -> None:
        super().__init__(client, namespace)
        self._listens = listen
        self._handlers = Handlers(listens=listen)
        self._listener: AsyncThoonkListener | None = None

    delete_feed = awaiting(registry.delete_feed)
    feed_exists = awaiting(registry.feed_exists)
    get_config = awaiting(registry.get_config)
    get_feeds = awaiting(registry.get_feeds)
    set_config = awaiting(registry.set_config)

    async def open(self) -> None:
        """Connects, and begins to listen, if that has not happened yet."""
        await super().open()
        async with self._opening:
            if self._listens and self._listener is None:
                listening = await self.client.feeds.listen()
                self._listener = AsyncThoonkListener(listening, self._handlers, self.core)

    @property
    def instance(self) -> str:
        """What this client is called where it is told who made, configured or deleted a feed."""
        return self.core.instance

    async def create_feed(self, feed: str, config: Config | None = None) -> AnyAsyncFeed:
        """Makes a feed with its config; raises FeedExists if there is one of this name."""
        await self.open()
        kind = await drive_async(self.core.transport, registry.create(self, feed, config))
        return ASYNC_KINDS[kind](self.core, feed)

    async def __getitem__(self, feed: str) -> AnyAsyncFeed:
        await self.open()
        kind = await drive_async(self.core.transport, registry.open_by_name(self, feed))
        return ASYNC_KINDS[kind](self.core, feed)

    async def leaf(self, feed: str, config: Config | None = None) -> AsyncLeaf:
        """The leaf of this name; if there is none, it is made."""
        await self._open(feed, config, AsyncLeaf.type)
        return AsyncLeaf(self.core, feed)

    feed = leaf

    async def sorted_feed(self, feed: str, config: Config | None = None) -> AsyncSortedFeed:
        """The sorted feed of this name; if there is none, it is made."""
        await self._open(feed, config, AsyncSortedFeed.type)
        return AsyncSortedFeed(self.core, feed)

    async def queue(self, feed: str, config: Config | None = None) -> AsyncQueue:
        """The queue of this name; if there is none, it is made."""
        await self._open(feed, config, AsyncQueue.type)
        return AsyncQueue(self.core, feed)

    async def job(self, feed: str, config: Config | None = None) -> AsyncJob:
        """The feed of jobs of this name; if there is none, it is made."""
        await self._open(feed, config, AsyncJob.type)
        return AsyncJob(self.core, feed)

    async def _open(self, feed: str, config: Config | None, kind: str) -> None:
        await self.open()
        await drive_async(self.core.transport, registry.open_as(self, feed, config, kind))

    def register_handler(self, name: str, handler: Callable[..., Any], *, own: bool = True) -> None:
        """Has a function called from now on, and awaited if need be: create(feed), delete(feed),
        config(feed), publish(feed, item, id), edit(feed, item, id), retract(feed, id),
        position(feed, id, place), missed(feed, count).

        With own=False not when this client itself has made, configured or deleted a feed.
        """
        self._handlers.add(name, handler, own=own)

    async def close(self) -> None:
        """Calls no handlers any more, and closes the connections if they are its own."""
        if self._listener is not None:
            await self._listener.close()
        await super().close()
