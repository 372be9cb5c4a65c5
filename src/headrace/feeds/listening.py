"""Listening to feeds: what is told is numbered, so that a listener knows what it has missed."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.codecs.codec import Codec
from headrace.engine.check import Span
from headrace.errors import FeedNotFound
from headrace.feeds.operations import changes, info
from headrace.feeds.values import FeedEvent
from headrace.operations.core import Core
from headrace.operations.listening import ListeningState, catch_up, seconds, subscribe
from headrace.operations.protocols import ClientLike, FeedLike
from headrace.transport.drive import Operation

PARTS = 9
NOTHING = (0, 0)
HAS_ITEM = ("published", "edited")


class Told:
    """A message, taken apart: the event, and the numbers that show whether one was missed."""

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


class OneFeed:
    """What a listener knows of a feed: which life of it, and the number of its last change."""

    def __init__(self, core: Core, name: str) -> None:
        self._core = core
        self._name = name
        self._at = NOTHING
        self._there = False

    def read(self, _: str, message: bytes) -> Iterator[FeedEvent]:
        told = Told(self._core.codec, message)
        life, number = told.life, told.event.number
        if (life, number) <= self._at:
            return
        if life == self._at[0]:
            if number > self._at[1] + 1:
                yield self._missed(number - self._at[1] - 1)
        elif self._there or number > 1:
            yield self._missed(None)
        self._at = (life, number)
        self._there = told.event.kind != "deleted"
        yield told.event

    def check(self, state: ListeningState[FeedEvent]) -> Operation[list[FeedEvent]]:
        """Compares numbers with those of the server; the first time there is nothing to miss."""
        found = yield from info(self._core, self._name)
        there = found is not None
        newest = self._at
        if found is not None:
            newest = int(found.fields["life"]), int(found.fields["number"])
        if self._at == NOTHING:
            self._at, self._there = newest, there
            return []
        lost_data = newest < self._at
        yield from catch_up(state, lambda: self._knows(newest, there=there))
        if self._knows(newest, there=there) and not lost_data:
            return []
        same_life = there and newest[0] == self._at[0] and not lost_data
        missed = self._missed(newest[1] - self._at[1] if same_life else None)
        self._at, self._there = newest, there
        return [missed]

    def _knows(self, newest: tuple[int, int], *, there: bool) -> bool:
        return self._at >= newest and (there or not self._there)

    def _missed(self, count: int | None) -> FeedEvent:
        return FeedEvent("missed", self._name, missed=count)


class AllFeeds:
    """What a listener knows of all feeds: how many changes of them there were, by shard."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.channels = [core.channel(shard, "changes", "") for shard in range(core.shards)]
        self._shards = {name: shard for shard, name in self.channels}
        self._seen: list[int] | None = None

    def read(self, channel: str, message: bytes) -> Iterator[FeedEvent]:
        told = Told(self._core.codec, message)
        seen = self._seen or []
        shard = self._shards[channel]
        if told.of_shard <= seen[shard]:
            return
        if told.of_shard > seen[shard] + 1:
            yield self._missed(told.of_shard - seen[shard] - 1)
        seen[shard] = told.of_shard
        yield told.event

    def check(self, state: ListeningState[FeedEvent]) -> Operation[list[FeedEvent]]:
        """Compares numbers with those of the server; the first time there is nothing to miss."""
        told = yield from changes(self._core)
        if self._seen is None:
            self._seen = told
            return []
        seen = self._seen
        lost_data = any(there < here for there, here in zip(told, seen, strict=True))

        def missing() -> int:
            return sum(max(0, there - here) for there, here in zip(told, seen, strict=True))

        yield from catch_up(state, lambda: missing() == 0)
        if not lost_data and missing() == 0:
            return []
        missed = self._missed(None if lost_data else missing())
        self._seen = told
        return [missed]

    def _missed(self, count: int | None) -> FeedEvent:
        return FeedEvent("missed", "", missed=count)


def listen(feed: FeedLike, wait: Span | None) -> Operation[ListeningState[FeedEvent]]:
    """Hears every change of the feed from now on."""
    core = feed.core
    wait_for = seconds(wait)
    if (yield from info(core, feed.name)) is None:
        raise FeedNotFound(feed.name)
    known = OneFeed(core, feed.name)
    channel = core.channel(core.shard_of(feed.name), "changes", feed.name)
    state = ListeningState(core, [channel], known.read, lambda: known.check(state), wait_for)
    return (yield from subscribe(state))


def listen_feeds(client: ClientLike, wait: Span | None) -> Operation[ListeningState[FeedEvent]]:
    """Hears every change of every feed from now on."""
    core = client.core
    known = AllFeeds(core)
    state = ListeningState(
        core, known.channels, known.read, lambda: known.check(state), seconds(wait)
    )
    return (yield from subscribe(state))
