"""A feed, for code that blocks and for code that awaits: the same names."""

from __future__ import annotations

from headrace.client.bind import awaiting, blocking, named
from headrace.client.core import Core
from headrace.client.feed_values import FeedEvent
from headrace.client.listening import AsyncListening, Listening
from headrace.client.talk import drive, drive_async
from headrace.client.talks import feeds
from headrace.client.talks.feed_listening import listen
from headrace.engine.check import Span


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

    all = blocking(feeds.all)
    configure = blocking(feeds.configure)
    counts = blocking(feeds.counts)
    delete = blocking(feeds.delete)
    has = blocking(feeds.has)
    ids = blocking(feeds.ids)
    item = blocking(feeds.item)
    length = blocking(feeds.length)
    move = blocking(feeds.move)
    publish = blocking(feeds.publish)
    publish_many = blocking(feeds.publish_many)
    retract = blocking(feeds.retract)
    settings = blocking(feeds.settings)

    def listen(self, *, wait: Span | None = None) -> Listening[FeedEvent]:
        """Hears every change from now on; ends when nothing came for `wait` seconds, None never."""
        return Listening(drive(self.core.wire, listen(self, wait)))


@named
class AsyncFeed(FeedFacts):
    """A feed of items, for code that awaits."""

    all = awaiting(feeds.all)
    configure = awaiting(feeds.configure)
    counts = awaiting(feeds.counts)
    delete = awaiting(feeds.delete)
    has = awaiting(feeds.has)
    ids = awaiting(feeds.ids)
    item = awaiting(feeds.item)
    length = awaiting(feeds.length)
    move = awaiting(feeds.move)
    publish = awaiting(feeds.publish)
    publish_many = awaiting(feeds.publish_many)
    retract = awaiting(feeds.retract)
    settings = awaiting(feeds.settings)

    async def listen(self, *, wait: Span | None = None) -> AsyncListening[FeedEvent]:
        """Hears every change from now on; ends when nothing came for `wait` seconds, None never."""
        return AsyncListening(await drive_async(self.core.wire, listen(self, wait)))
