"""A feed, for code that blocks and for code that awaits: the same names."""

from __future__ import annotations

from headrace.engine.check import Span
from headrace.feeds import operations
from headrace.feeds.listening import listen
from headrace.feeds.values import FeedEvent
from headrace.operations.core import Core
from headrace.operations.listening import AsyncListener, Listener
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
    """A feed of items, for code that blocks."""

    def listen(self, *, wait: Span | None = None) -> Listener[FeedEvent]:
        """Hears every change from now on; ends when nothing came for `wait` seconds, None never."""
        return Listener(drive(self.core.transport, listen(self, wait)))


class AsyncFeed(FeedBase, AsyncMethods):
    """A feed of items, for code that awaits."""

    async def listen(self, *, wait: Span | None = None) -> AsyncListener[FeedEvent]:
        """Hears every change from now on; ends when nothing came for `wait` seconds, None never."""
        return AsyncListener(await drive_async(self.core.transport, listen(self, wait)))
