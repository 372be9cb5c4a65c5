"""Listeners to feeds. Changes are numbered, so a listener can count the missed changes."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.codecs.codec import Codec
from headrace.engine import keys
from headrace.engine.check import Span
from headrace.errors import FeedNotFound
from headrace.feeds.operations import changes, info
from headrace.feeds.values import FeedEvent
from headrace.operations.channel_listener import ListeningState, catch_up, seconds, subscribe
from headrace.operations.core import Core
from headrace.operations.protocols import ClientLike, FeedLike
from headrace.transport.drive import Operation

# The number of parts of a message. The separator is the byte 0.
PARTS = 9
NOTHING = (0, 0)
HAS_ITEM = ("published", "edited")


class FeedMessage:
    """A parsed message: the event, and the numbers that show whether messages were missed.

    `life` increases each time a deleted feed is created again. `of_shard` is the sequence number of
    the change among all changes on the shard.
    """

    __slots__ = ("event", "life", "of_shard")

    def __init__(self, codec: Codec, message: bytes) -> None:
        *names, item = message.split(b"\0", PARTS - 1)
        kind, feed, life, number, of_shard, item_id, place, instance = (
            name.decode() for name in names
        )
        kind = kind.removeprefix("feed_")
        place, _, after = place.partition(" ")
        self.life = int(life)
        self.of_shard = int(of_shard)
        self.event = FeedEvent(
            kind=kind,
            feed=feed,
            id=item_id,
            payload=item if kind in HAS_ITEM else None,
            number=int(number),
            place=place or None,
            after=after or None,
            instance=instance,
            _codec=codec,
        )


class FeedReader:
    """Reads the messages of one feed, and finds gaps in the change numbers of the feed."""

    def __init__(self, core: Core, name: str) -> None:
        self._core = core
        self._name = name
        self._at = NOTHING
        self._exists = False

    def read(self, _: str, message: bytes) -> Iterator[FeedEvent]:
        """Yield the event of a message; after a gap, first yield an event of kind missed."""
        parsed = FeedMessage(self._core.codec, message)
        life, number = parsed.life, parsed.event.number
        if (life, number) <= self._at:
            return
        if life == self._at[0]:
            if number > self._at[1] + 1:
                yield self._missed(number - self._at[1] - 1)
        elif self._exists or number > 1:
            yield self._missed(None)
        self._at = (life, number)
        self._exists = parsed.event.kind != "deleted"
        yield parsed.event

    def check(self, state: ListeningState[FeedEvent]) -> Operation[list[FeedEvent]]:
        """Compare the received change numbers with the server's numbers, and report missed changes.

        The first check only stores the numbers.
        """
        found = yield from info(self._core, self._name)
        exists = found is not None
        newest = self._at
        if found is not None:
            newest = int(found.fields["life"]), int(found.fields["number"])
        if self._at == NOTHING:
            self._at, self._exists = newest, exists
            return []
        lost_data = newest < self._at
        yield from catch_up(state, lambda: self._knows(newest, exists=exists))
        if self._knows(newest, exists=exists) and not lost_data:
            return []
        same_life = exists and newest[0] == self._at[0] and not lost_data
        missed = self._missed(newest[1] - self._at[1] if same_life else None)
        self._at, self._exists = newest, exists
        return [missed]

    def _knows(self, newest: tuple[int, int], *, exists: bool) -> bool:
        return self._at >= newest and (exists or not self._exists)

    def _missed(self, count: int | None) -> FeedEvent:
        return FeedEvent("missed", self._name, missed=count)


class AllFeedsReader:
    """Reads the messages of all feeds, and finds gaps in the change numbers of each shard."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.channels = [
            core.channel(shard, keys.changes_channel, "") for shard in range(core.shards)
        ]
        self._shards = {name: shard for shard, name in self.channels}
        self._seen: list[int] | None = None

    def read(self, channel: str, message: bytes) -> Iterator[FeedEvent]:
        """Yield the event of a message; after a gap, first yield an event of kind missed."""
        parsed = FeedMessage(self._core.codec, message)
        seen = self._seen or []
        shard = self._shards[channel]
        if parsed.of_shard <= seen[shard]:
            return
        if parsed.of_shard > seen[shard] + 1:
            yield self._missed(parsed.of_shard - seen[shard] - 1)
        seen[shard] = parsed.of_shard
        yield parsed.event

    def check(self, state: ListeningState[FeedEvent]) -> Operation[list[FeedEvent]]:
        """Compare the received change numbers with the server's numbers, and report missed changes.

        The first check only stores the numbers.
        """
        counts = yield from changes(self._core)
        if self._seen is None:
            self._seen = counts
            return []
        seen = self._seen
        lost_data = any(theirs < ours for theirs, ours in zip(counts, seen, strict=True))

        def missing() -> int:
            return sum(max(0, theirs - ours) for theirs, ours in zip(counts, seen, strict=True))

        yield from catch_up(state, lambda: missing() == 0)
        if not lost_data and missing() == 0:
            return []
        missed = self._missed(None if lost_data else missing())
        self._seen = counts
        return [missed]

    def _missed(self, count: int | None) -> FeedEvent:
        return FeedEvent("missed", "", missed=count)


def listen(feed: FeedLike, wait: Span | None) -> Operation[ListeningState[FeedEvent]]:
    """Subscribe to the changes of a feed; see Feed.listen."""
    core = feed.core
    wait_for = seconds(wait)
    if (yield from info(core, feed.name)) is None:
        raise FeedNotFound(feed.name)
    reader = FeedReader(core, feed.name)
    channel = core.channel(core.shard_of(feed.name), keys.changes_channel, feed.name)
    state = ListeningState(core, [channel], reader.read, lambda: reader.check(state), wait_for)
    return (yield from subscribe(state))


def listen_feeds(client: ClientLike, wait: Span | None) -> Operation[ListeningState[FeedEvent]]:
    """Subscribe to the changes of every feed; see Feeds.listen."""
    core = client.core
    reader = AllFeedsReader(core)
    state = ListeningState(
        core, reader.channels, reader.read, lambda: reader.check(state), seconds(wait)
    )
    return (yield from subscribe(state))
