"""The notices of a queue: work, cancel, delete and done."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

import msgspec

from headrace.engine import keys
from headrace.errors import Unreadable
from headrace.operations import queues
from headrace.operations.channel_listener import ListeningState, subscribe
from headrace.operations.core import Core
from headrace.operations.lease_watch import CHECK_EVERY
from headrace.operations.protocols import QueueLike
from headrace.operations.queues import QueueRef
from headrace.transport.drive import Operation, Send

Notice = tuple[str, Any]

log = logging.getLogger("headrace")


def done_channel(queue: QueueLike) -> tuple[int, str]:
    """Return the shard and the name of the channel for notices of finished tasks."""
    core = queue.core
    return core.channel(core.shard_of(queue.name), keys.done_channel, queue.name)


def publish_done(
    queue: QueueLike, worker: str, task: bytes, result: bytes | None
) -> Operation[None]:
    """Publish a notice that a task is finished; the notice is sent only once and may be lost.

    The task is already finished, so the worker gets no error if publishing fails.
    """
    shard, channel = done_channel(queue)
    message = msgspec.msgpack.encode((worker, task, result))
    yield Send([(shard, ("SPUBLISH", channel, message))])


def listen(queue: QueueRef) -> Operation[ListeningState[Notice]]:
    """Subscribe to the notices of a queue; tasks that already wait cause a work notice."""
    core = queue.core
    done = done_channel(queue)
    channels = [core.channel(shard, keys.queue_channel, queue.name) for shard in range(core.shards)]

    def read(channel: str, message: bytes) -> Iterable[Notice]:
        try:
            return _read_done(core, message) if channel == done[1] else _read(core, message)
        except (Unreadable, msgspec.DecodeError, ValueError) as error:
            # Any client may publish to the channel, so a bad message must not stop the thread.
            log.warning("ignored a notice of queue %r: %s", queue.name, error)
            return []

    state: ListeningState[Notice] = ListeningState(
        core, [*channels, done], read, lambda: waiting_notice(queue), wait=CHECK_EVERY
    )
    return (yield from subscribe(state))


def _read_done(core: Core, message: bytes) -> Iterable[Notice]:
    worker, task, result = msgspec.msgpack.decode(message, type=tuple[str, bytes, bytes | None])
    document = {
        "workerId": worker,
        "task": core.codec.decode(task),
        "result": None if result is None else core.codec.decode(result),
    }
    return [("done", document)]


def _read(core: Core, message: bytes) -> Iterable[Notice]:
    word, space, rest = message.partition(b" ")
    if word == b"work":
        return [("work", int(rest))]
    if word == b"cancelled":
        # The notice of a large task does not contain the task.
        return [("cancel", core.codec.decode(rest) if space else None)]
    return [("delete", None)] if word == b"deleted" else []


def waiting_notice(queue: QueueLike) -> Operation[list[Notice]]:
    """Return a work notice if tasks are waiting."""
    tasks = (yield from queues.counts(queue)).waiting
    return [("work", tasks)] if tasks else []
