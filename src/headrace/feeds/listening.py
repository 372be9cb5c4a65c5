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
HAS_ITEM = ("published", "edited")


# A change: the life of its feed (see FeedMessage), and its number within this life.
Position = tuple[int, int]
# The position before the first check. Lives are numbered from 1.
NOTHING: Position = (0, 0)


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


class ChangeReader:
    """Reads messages about changes, and finds gaps in the numbers of the changes.

    With an empty `feed`, the messages are about all feeds. These changes are numbered on each
    shard, and the numbers never start again.
    """

    def __init__(self, core: Core, feed: str) -> None:
        self._core = core
        self._feed = feed
        shards = [core.shard_of(feed)] if feed else range(core.shards)
        self.channels = [core.channel(shard, keys.changes_channel, feed) for shard in shards]
        self._at = {name: NOTHING for _, name in self.channels}
        self._exists = False

    def read(self, channel: str, message: bytes) -> Iterator[FeedEvent]:
        """Yield the event of a message; after a gap, first yield an event of kind missed."""
        parsed = FeedMessage(self._core.codec, message)
        life, number = (parsed.life, parsed.event.number) if self._feed else (1, parsed.of_shard)
        known_life, known_number = self._at[channel]
        if (life, number) <= self._at[channel]:
            return
        if life == known_life:
            if number > known_number + 1:
                yield self._missed(number - known_number - 1)
        elif self._exists or number > 1:
            yield self._missed(None)
        self._at[channel] = (life, number)
        self._exists = not self._feed or parsed.event.kind != "deleted"
        yield parsed.event

    def check(self, state: ListeningState[FeedEvent]) -> Operation[list[FeedEvent]]:
        """Compare the received change numbers with the server's numbers, and report missed changes.

        The first check only stores the numbers.
        """
        newest, exists = yield from self._newest()
        if NOTHING in self._at.values():
            self._at, self._exists = newest, exists
            return []

        def is_complete() -> bool:
            reached = all(self._at[name] >= position for name, position in newest.items())
            return reached and (exists or not self._exists)

        lost_data = any(position < self._at[name] for name, position in newest.items())
        yield from catch_up(state, is_complete)
        if is_complete() and not lost_data:
            return []
        pairs = [(self._at[name], position) for name, position in newest.items()]
        same_life = exists and all(at[0] == position[0] for at, position in pairs)
        missing = sum(max(0, position[1] - at[1]) for at, position in pairs)
        self._at, self._exists = newest, exists
        return [self._missed(missing if same_life and not lost_data else None)]

    def _newest(self) -> Operation[tuple[dict[str, Position], bool]]:
        """Return the newest change of each channel, and whether the feed exists."""
        if not self._feed:
            counts = yield from changes(self._core)
            return {
                name: (1, count) for (_, name), count in zip(self.channels, counts, strict=True)
            }, True
        found = yield from info(self._core, self._feed)
        if found is None:
            return dict(self._at), False
        return {
            name: (int(found.fields["life"]), int(found.fields["number"])) for name in self._at
        }, True

    def _missed(self, count: int | None) -> FeedEvent:
        return FeedEvent("missed", self._feed, missed=count)


def listen(feed: FeedLike, wait: Span | None) -> Operation[ListeningState[FeedEvent]]:
    """Subscribe to the changes of a feed; see Feed.listen."""
    wait_for = seconds(wait)
    if (yield from info(feed.core, feed.name)) is None:
        raise FeedNotFound(feed.name)
    return (yield from _listen(feed.core, feed.name, wait_for))


def listen_feeds(client: ClientLike, wait: Span | None) -> Operation[ListeningState[FeedEvent]]:
    """Subscribe to the changes of every feed; see Feeds.listen."""
    return (yield from _listen(client.core, "", seconds(wait)))


def _listen(core: Core, feed: str, wait: float | None) -> Operation[ListeningState[FeedEvent]]:
    reader = ChangeReader(core, feed)
    state = ListeningState(core, reader.channels, reader.read, lambda: reader.check(state), wait)
    return (yield from subscribe(state))
