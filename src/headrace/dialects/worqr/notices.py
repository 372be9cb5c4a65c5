"""What is heard of a queue: work, cancel, delete and done."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, NamedTuple

from headrace.client.core import Core
from headrace.client.holdings import log
from headrace.client.listening import Station, hear, tune_in
from headrace.client.queue import QueueName
from headrace.client.talk import LONGEST_PAUSE, Sleep, Talk
from headrace.client.talks import feeds, queues
from headrace.client.talks.faces import QueueFace
from headrace.client.talks.feed_listening import HAS_ITEM, Told
from headrace.dialects.worqr.crew import Face, Notice, Post
from headrace.dialects.worqr.values import done_item, read_done
from headrace.errors import FeedNotFound, HeadraceError

LOOK_EVERY = 5.0


class DoneFeed(NamedTuple):
    """A feed by which those who work on a queue hear what was done."""

    core: Core
    name: str
    sorted: bool = False


def done_feed(queue: QueueFace) -> DoneFeed:
    """That of a queue."""
    return DoneFeed(queue.core, f"done:{queue.name}")


def tell_done(queue: QueueFace, process: str, worker: str, task: Any, result: Any) -> Talk[None]:
    """Tells who works on a queue that a process is done; nothing of that is kept."""
    feed = done_feed(queue)
    # The task is done: whoever did it must not hear that this was not told.
    with suppress(HeadraceError):
        item = done_item(queue.core.codec, worker, task, result)
        yield from feeds.publish(feed, item, id=process)
        yield from feeds.retract(feed, process)


def forget_done(queue: QueueFace) -> Talk[None]:
    """The feed goes with the queue."""
    with suppress(FeedNotFound):
        yield from feeds.delete(done_feed(queue))


def listen(queue: QueueName) -> Talk[Station[Notice]]:
    """Hears from now on what happens in a queue; what waits there already is work too."""
    core = queue.core
    feed = done_feed(queue)
    yield from feeds.make(core, feed.name, max_length=1, open_existing=True)
    told_of_done = core.channel(core.shard_of(feed.name), "changes", feed.name)
    channels = [core.channel(shard, "queue", queue.name) for shard in range(core.shards)]

    def read(channel: str, message: bytes) -> Iterable[Notice]:
        return _done(core, message) if channel == told_of_done[1] else _read(core, message)

    station: Station[Notice] = Station(
        core, [*channels, told_of_done], read, lambda: waiting(queue), wait=LOOK_EVERY
    )
    return (yield from tune_in(station))


def _done(core: Core, message: bytes) -> Iterable[Notice]:
    event = Told(core.codec, message).event
    return [("done", read_done(core.codec, event.item))] if event.kind in HAS_ITEM else []


def _read(core: Core, message: bytes) -> Iterable[Notice]:
    word, space, rest = message.partition(b" ")
    if word == b"work":
        return [("work", int(rest))]
    if word == b"cancelled":
        # The notice of a large task does not carry it.
        return [("cancel", core.codec.decode(rest) if space else None)]
    return [("delete", None)] if word == b"deleted" else []


def waiting(queue: QueueFace) -> Talk[list[Notice]]:
    """That there is work, if there is."""
    tasks = (yield from queues.counts(queue)).waiting
    return [("work", tasks)] if tasks else []


def attending(face: Face, post: Post) -> Talk[None]:
    """Tells handlers what is heard, until nobody works on the queue; looks after every silence."""
    station = post.station
    queue = QueueName(face.core, post.queue)
    while not station.ended:
        try:
            heard = (yield from hear(station)) or (yield from waiting(queue))
        except HeadraceError:
            if not station.ended:
                log.warning("nothing is heard of queue %r", post.queue)
                yield Sleep(LONGEST_PAUSE)
            continue
        for kind, message in heard:
            if not station.closed:
                face.crew.tell(post.queue, kind, message)
