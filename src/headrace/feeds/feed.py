"""A feed, for code that blocks and for code that awaits: the same names."""

from __future__ import annotations

from headrace.engine.check import Span
from headrace.feeds import operations
from headrace.feeds.listening import listen
from headrace.feeds.values import FeedEvent
from headrace.operations.core import Core
from headrace.operations.listening import AsyncListener, Listener
from headrace.operations.method import awaiting, blocking, named
from headrace.transport.drive import drive, drive_async


class FeedFacts:
    """What a feed knows without asking the server: its name, and whether it is sorted."""

    def __init__(self, core: Core, name: str, *, is_sorted: bool) -> None:
        self.core = core
        self.name = name
        self.sorted = is_sorted

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} of {self.core.namespace!r}>"


@named
class Feed(FeedFacts):
    """A feed of items, for code that blocks."""

    all = blocking(operations.all)
    configure = blocking(operations.configure)
    counts = blocking(operations.counts)
    delete = blocking(operations.delete)
    has = blocking(operations.has)
    ids = blocking(operations.ids)
    item = blocking(operations.item)
    length = blocking(operations.length)
    move = blocking(operations.move)
    publish = blocking(operations.publish)
    publish_many = blocking(operations.publish_many)
    retract = blocking(operations.retract)
    settings = blocking(operations.settings)

    def listen(self, *, wait: Span | None = None) -> Listener[FeedEvent]:
        """Hears every change from now on; ends when nothing came for `wait` seconds, None never."""
        return Listener(drive(self.core.transport, listen(self, wait)))


@named
class AsyncFeed(FeedFacts):
    """A feed of items, for code that awaits."""

    all = awaiting(operations.all)
    configure = awaiting(operations.configure)
    counts = awaiting(operations.counts)
    delete = awaiting(operations.delete)
    has = awaiting(operations.has)
    ids = awaiting(operations.ids)
    item = awaiting(operations.item)
    length = awaiting(operations.length)
    move = awaiting(operations.move)
    publish = awaiting(operations.publish)
    publish_many = awaiting(operations.publish_many)
    retract = awaiting(operations.retract)
    settings = awaiting(operations.settings)

    async def listen(self, *, wait: Span | None = None) -> AsyncListener[FeedEvent]:
        """Hears every change from now on; ends when nothing came for `wait` seconds, None never."""
        return AsyncListener(await drive_async(self.core.transport, listen(self, wait)))
