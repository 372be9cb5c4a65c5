"""What is heard of a queue: work, cancel, delete and done."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from headrace.client.core import Core
from headrace.client.holdings import log
from headrace.client.listening import Station, hear, tune_in
from headrace.client.queue import QueueName
from headrace.client.talk import LONGEST_PAUSE, Send, Sleep, Talk
from headrace.client.talks import queues
from headrace.client.talks.faces import QueueFace
from headrace.dialects.worqr.crew import Face, Notice, Post
from headrace.errors import HeadraceError, Unreadable

LOOK_EVERY = 5.0


def done_channel(queue: QueueFace) -> tuple[int, str]:
    """The channel on which those who work on a queue hear what was done, and its shard."""
    core = queue.core
    return core.channel(core.shard_of(queue.name), "done", queue.name)


def tell_done(queue: QueueFace, worker: str, task: bytes, result: bytes | None) -> Talk[None]:
    """Tells who works on a queue that a process is done, once: as every notice, it is a hint.

    The task is done by now, so whoever did it does not hear that this was not told.
    """
    shard, channel = done_channel(queue)
    message = msgspec.msgpack.encode((worker, task, result))
    yield Send([(shard, ("SPUBLISH", channel, message))])


def listen(queue: QueueName) -> Talk[Station[Notice]]:
    """Hears from now on what happens in a queue; what waits there already is work too."""
    core = queue.core
    done = done_channel(queue)
    channels = [core.channel(shard, "queue", queue.name) for shard in range(core.shards)]

    def read(channel: str, message: bytes) -> Iterable[Notice]:
        try:
            return _done(core, message) if channel == done[1] else _read(core, message)
        except (Unreadable, msgspec.DecodeError, ValueError) as error:
            # Anybody may publish; nobody must be able to make us deaf.
            log.warning("a notice of queue %r is left out: %s", queue.name, error)
            return []

    station: Station[Notice] = Station(
        core, [*channels, done], read, lambda: waiting(queue), wait=LOOK_EVERY
    )
    return (yield from tune_in(station))


def _done(core: Core, message: bytes) -> Iterable[Notice]:
    worker, task, result = msgspec.msgpack.decode(message, type=tuple[str, bytes, bytes | None])
    told = {
        "workerId": worker,
        "task": core.codec.decode(task),
        "result": None if result is None else core.codec.decode(result),
    }
    return [("done", told)]


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
