"""The Thoonk client, sync and async: it creates, opens and deletes feeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headrace.client.client import Client
from headrace.compat.opening import AsyncCompatClient, CompatClient
from headrace.compat.thoonk import registry
from headrace.compat.thoonk.feeds import (
    AsyncLeaf,
    AsyncSortedFeed,
    AsyncThoonkJob,
    AsyncThoonkQueue,
    Leaf,
    SortedFeed,
    ThoonkJob,
    ThoonkQueue,
)
from headrace.compat.thoonk.handlers import ThoonkHandlers, ThoonkListener
from headrace.operations.core import Core
from headrace.operations.method import method
from headrace.transport.drive import drive, drive_async

GivenConfig = Mapping[str, Any] | str
AnyFeed = Leaf | SortedFeed | ThoonkQueue | ThoonkJob
AnyAsyncFeed = AsyncLeaf | AsyncSortedFeed | AsyncThoonkQueue | AsyncThoonkJob
FEED_CLASSES: dict[str, type[AnyFeed]] = {
    kind.type: kind for kind in (Leaf, SortedFeed, ThoonkQueue, ThoonkJob)
}
ASYNC_FEED_CLASSES: dict[str, type[AnyAsyncFeed]] = {
    kind.type: kind for kind in (AsyncLeaf, AsyncSortedFeed, AsyncThoonkQueue, AsyncThoonkJob)
}


class ThoonkBase:
    """The methods that Thoonk and AsyncThoonk share."""

    core: Core

    delete_feed = method(registry.delete_feed)
    feed_exists = method(registry.feed_exists)
    get_config = method(registry.get_config)
    get_feeds = method(registry.get_feeds)
    set_config = method(registry.set_config)

    @property
    def instance(self) -> str:
        """The id of this client in notices about created, configured and deleted feeds."""
        return self.core.instance


class Thoonk(ThoonkBase, CompatClient):
    """Feeds, queues and jobs with the API of thoonk. Threads may share it.

    With listen=True, a thread calls the handlers when feeds change.
    """

    def __init__(
        self, client: Client | str, namespace: str = "default", *, listen: bool = False
    ) -> None:
        super().__init__(client, namespace)
        self._handlers = ThoonkHandlers(listens=listen)
        self._listener = (
            ThoonkListener(self.client.feeds.listen(), self._handlers, self.core)
            if listen
            else None
        )

    def create_feed(self, feed: str, config: GivenConfig | None = None) -> AnyFeed:
        """Create a feed with its config. Raises FeedExists if there is one of this name."""
        kind = drive(self.core.transport, registry.create(self, feed, config))
        return FEED_CLASSES[kind](self.core, feed)

    def __getitem__(self, feed: str) -> AnyFeed:
        kind = drive(self.core.transport, registry.open_by_name(self, feed))
        return FEED_CLASSES[kind](self.core, feed)

    def leaf(self, feed: str, config: GivenConfig | None = None) -> Leaf:
        """Open a leaf, or create it if there is none. Raises NotAllowed for another type."""
        self._open(feed, config, Leaf.type)
        return Leaf(self.core, feed)

    feed = leaf

    def sorted_feed(self, feed: str, config: GivenConfig | None = None) -> SortedFeed:
        """Open a sorted feed, or create it if there is none. Raises NotAllowed; see leaf."""
        self._open(feed, config, SortedFeed.type)
        return SortedFeed(self.core, feed)

    def queue(self, feed: str, config: GivenConfig | None = None) -> ThoonkQueue:
        """Open a queue, or create it if there is none. Raises NotAllowed; see leaf."""
        self._open(feed, config, ThoonkQueue.type)
        return ThoonkQueue(self.core, feed)

    def job(self, feed: str, config: GivenConfig | None = None) -> ThoonkJob:
        """Open a feed of jobs, or create it if there is none. Raises NotAllowed; see leaf."""
        self._open(feed, config, ThoonkJob.type)
        return ThoonkJob(self.core, feed)

    def _open(self, feed: str, config: GivenConfig | None, kind: str) -> None:
        drive(self.core.transport, registry.open_as(self, feed, config, kind))

    def register_handler(self, name: str, handler: Callable[..., Any], *, own: bool = True) -> None:
        """Call a function at every notice of a name, with the arguments that belong to it.

        They are create(feed), delete(feed), config(feed), publish(feed, item, id),
        edit(feed, item, id), retract(feed, id), position(feed, id, place), missed(feed, count).

        With own=False, the function is not called for feeds that this client itself created,
        configured or deleted. Raises NotListening without listen=True.
        """
        self._handlers.add(name, handler, own=own)

    def close(self) -> None:
        """Stop calling handlers, and close the client if this object opened it."""
        if self._listener is not None:
            self._listener.close()
        super().close()


class AsyncThoonk(ThoonkBase, AsyncCompatClient):
    """The asyncio form of Thoonk.

    It has no handlers: iterate over `await client.feeds.listen()` instead.
    """

    async def create_feed(self, feed: str, config: GivenConfig | None = None) -> AnyAsyncFeed:
        """Create a feed with its config. Raises FeedExists if there is one of this name."""
        await self.open()
        kind = await drive_async(self.core.transport, registry.create(self, feed, config))
        return ASYNC_FEED_CLASSES[kind](self.core, feed)

    async def __getitem__(self, feed: str) -> AnyAsyncFeed:
        await self.open()
        kind = await drive_async(self.core.transport, registry.open_by_name(self, feed))
        return ASYNC_FEED_CLASSES[kind](self.core, feed)

    async def leaf(self, feed: str, config: GivenConfig | None = None) -> AsyncLeaf:
        """Open a leaf, or create it if there is none. Raises NotAllowed for another type."""
        await self._open(feed, config, AsyncLeaf.type)
        return AsyncLeaf(self.core, feed)

    feed = leaf

    async def sorted_feed(self, feed: str, config: GivenConfig | None = None) -> AsyncSortedFeed:
        """Open a sorted feed, or create it if there is none. Raises NotAllowed; see leaf."""
        await self._open(feed, config, AsyncSortedFeed.type)
        return AsyncSortedFeed(self.core, feed)

    async def queue(self, feed: str, config: GivenConfig | None = None) -> AsyncThoonkQueue:
        """Open a queue, or create it if there is none. Raises NotAllowed; see leaf."""
        await self._open(feed, config, AsyncThoonkQueue.type)
        return AsyncThoonkQueue(self.core, feed)

    async def job(self, feed: str, config: GivenConfig | None = None) -> AsyncThoonkJob:
        """Open a feed of jobs, or create it if there is none. Raises NotAllowed; see leaf."""
        await self._open(feed, config, AsyncThoonkJob.type)
        return AsyncThoonkJob(self.core, feed)

    async def _open(self, feed: str, config: GivenConfig | None, kind: str) -> None:
        await self.open()
        await drive_async(self.core.transport, registry.open_as(self, feed, config, kind))
