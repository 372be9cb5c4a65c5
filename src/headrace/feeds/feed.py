"""Feeds, sync and async."""

from __future__ import annotations

from headrace.engine.check import Span
from headrace.feeds import operations
from headrace.feeds.listening import listen
from headrace.feeds.values import FeedEvent
from headrace.operations.channel_listener import AsyncListener, Listener
from headrace.operations.core import Core
from headrace.operations.method import AsyncMethods, SyncMethods, method
from headrace.transport.drive import drive, drive_async


class FeedBase:
    """The methods that Feed and AsyncFeed share."""

    all = method(operations.all)
    configure = method(operations.configure)
    counts = method(operations.counts)
    delete = method(operations.delete)
    has = method(operations.has)
    ids = method(operations.ids)
    item = method(operations.item)
    length = method(operations.length)
    move = method(operations.move)
    publish = method(operations.publish)
    publish_many = method(operations.publish_many)
    retract = method(operations.retract)
    settings = method(operations.settings)

    def __init__(self, core: Core, name: str, *, is_sorted: bool) -> None:
        self.core = core
        self.name = name
        self.sorted = is_sorted

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} of {self.core.namespace!r}>"


class Feed(FeedBase, SyncMethods):
    """A feed: a list of items that stay until they are retracted.

    A plain feed is ordered by the time of publishing. The items of a sorted feed have positions.

        news = client.feed("news")
        item_id = news.publish({"title": "Released"})
        news.item(item_id)
    """

    def listen(self, *, wait: Span | None = None) -> Listener[FeedEvent]:
        """Subscribe to the changes of the feed; iterate over the returned listener.

        The iteration ends after `wait` seconds without a change; None waits without a limit. An
        event of kind "missed" reports changes that were not received.

        Raises FeedNotFound if the feed does not exist.

            with news.listen(wait=60) as changes:
                for change in changes:
                    print(change.kind, change.id, change.item)
        """
        return Listener(drive(self.core.transport, listen(self, wait)))


class AsyncFeed(FeedBase, AsyncMethods):
    """The asyncio form of Feed."""

    async def listen(self, *, wait: Span | None = None) -> AsyncListener[FeedEvent]:
        """Subscribe to the changes of the feed; see Feed.listen."""
        return AsyncListener(await drive_async(self.core.transport, listen(self, wait)))
