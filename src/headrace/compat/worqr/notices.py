"""The notices of a queue: work, cancel, delete and done."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

import msgspec

from headrace.errors import Unreadable
from headrace.operations import queues
from headrace.operations.core import Core
from headrace.operations.listening import ListeningState, subscribe
from headrace.operations.protocols import QueueLike
from headrace.operations.queues import QueueRef
from headrace.transport.drive import Operation, Send

Notice = tuple[str, Any]

log = logging.getLogger("headrace")

# Seconds without a notice after which a worker checks for waiting tasks.
CHECK_EVERY = 5.0


def done_channel(queue: QueueLike) -> tuple[int, str]:
    """Return the channel for notices of finished tasks, and its shard."""
    core = queue.core
    return core.channel(core.shard_of(queue.name), "done", queue.name)


def publish_done(
    queue: QueueLike, worker: str, task: bytes, result: bytes | None
) -> Operation[None]:
    """Publish once that a task is finished; the notice is a hint and may be lost.

    The task is finished by now, so the worker gets no error if publishing fails.
    """
    shard, channel = done_channel(queue)
    message = msgspec.msgpack.encode((worker, task, result))
    yield Send([(shard, ("SPUBLISH", channel, message))])


def listen(queue: QueueRef) -> Operation[ListeningState[Notice]]:
    """Subscribe to the notices of a queue; tasks that wait already count as work."""
    core = queue.core
    done = done_channel(queue)
    channels = [core.channel(shard, "queue", queue.name) for shard in range(core.shards)]

    def read(channel: str, message: bytes) -> Iterable[Notice]:
        try:
            return _read_done(core, message) if channel == done[1] else _read(core, message)
        except (Unreadable, msgspec.DecodeError, ValueError) as error:
            # Any client may publish here, so an unreadable message must not stop the thread.
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
