"""What is heard of a queue: work, cancel, delete and done."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from headrace.compat.worqr.crew import Face, Notice, Post
from headrace.errors import HeadraceError, Unreadable
from headrace.operations import queues
from headrace.operations.core import Core
from headrace.operations.held_leases import log
from headrace.operations.listening import ListeningState, receive, subscribe
from headrace.operations.protocols import QueueLike
from headrace.operations.queues import QueueRef
from headrace.operations.requests import LONGEST_PAUSE
from headrace.transport.drive import Operation, Send, Sleep

LOOK_EVERY = 5.0


def done_channel(queue: QueueLike) -> tuple[int, str]:
    """The channel on which those who work on a queue hear what was done, and its shard."""
    core = queue.core
    return core.channel(core.shard_of(queue.name), "done", queue.name)


def tell_done(queue: QueueLike, worker: str, task: bytes, result: bytes | None) -> Operation[None]:
    """Tells who works on a queue that a process is done, once: as every notice, it is a hint.

    The task is done by now, so whoever did it does not hear that this was not told.
    """
    shard, channel = done_channel(queue)
    message = msgspec.msgpack.encode((worker, task, result))
    yield Send([(shard, ("SPUBLISH", channel, message))])


def listen(queue: QueueRef) -> Operation[ListeningState[Notice]]:
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

    state: ListeningState[Notice] = ListeningState(
        core, [*channels, done], read, lambda: waiting(queue), wait=LOOK_EVERY
    )
    return (yield from subscribe(state))


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


def waiting(queue: QueueLike) -> Operation[list[Notice]]:
    """That there is work, if there is."""
    tasks = (yield from queues.counts(queue)).waiting
    return [("work", tasks)] if tasks else []


def attending(face: Face, post: Post) -> Operation[None]:
    """Tells handlers what is heard, until nobody works on the queue; looks after every silence."""
    state = post.state
    queue = QueueRef(face.core, post.queue)
    while not state.ended:
        try:
            heard = (yield from receive(state)) or (yield from waiting(queue))
        except HeadraceError:
            if not state.ended:
                log.warning("nothing is heard of queue %r", post.queue)
                yield Sleep(LONGEST_PAUSE)
            continue
        for kind, message in heard:
            if not state.closed:
                face.crew.tell(post.queue, kind, message)
