"""The operations behind the methods of RedisQueue."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Protocol

from headrace.compat.opening import ensure_profile
from headrace.engine.check import Span
from headrace.errors import JobNotFound, WrongState
from headrace.operations import finishing, jobs, popping, putting
from headrace.operations.core import Core
from headrace.operations.queues import QueueRef
from headrace.transport.drive import Operation


class RedisQueueLike(Protocol):
    """A RedisQueue or an AsyncRedisQueue."""

    @property
    def core(self) -> Core:
        """The namespace and its connection."""

    @property
    def worker(self) -> str:
        """The name of the worker that pops."""

    @property
    def poptimeout(self) -> Span | None:
        """Seconds that a pop waits; None for no limit."""

    @property
    def tasktimeout(self) -> Span:
        """Seconds after which a popped id comes back."""

    @property
    def exptime(self) -> Span | None:
        """Seconds that a message may wait; None for no limit."""


def safe_pop(client: RedisQueueLike, qkey: str) -> Operation[str | None]:
    """Return the next new or late id, or None if none arrives within the pop timeout.

    The id stays in the queue and comes back after the task timeout unless it is marked as done.
    """
    popped = yield from _pop(client, qkey)
    return _pushed_id(qkey, popped) if popped else None


def safe_pop_msg(client: RedisQueueLike, qkey: str) -> Operation[tuple[str, Any] | None]:
    """Return the next new or late id with its message; see safe_pop."""
    popped = yield from _pop(client, qkey)
    if popped is None:
        return None
    pushed = _pushed_id(qkey, popped)
    # An id that was pushed without a message is its own message, and no codec encoded it.
    if popped.payload == pushed.encode():
        return pushed, pushed
    return pushed, client.core.codec.decode(popped.payload)


def _pushed_id(qkey: str, popped: popping.Popped) -> str:
    """Return the id as it was pushed; if another queue has the same id, the job id has a suffix."""
    pushed = popped.id.removesuffix(f"@{qkey}")
    return pushed if popped.payload == pushed.encode() else popped.id


def _pop(client: RedisQueueLike, qkey: str) -> Operation[popping.Popped | None]:
    queue = yield from _open_queue(client, qkey)
    popped = yield from popping.pop(
        queue, client.worker, lease=client.tasktimeout, wait=client.poptimeout
    )
    return popped[0] if popped else None


def push_msg(client: RedisQueueLike, qkey: str, msg: Any) -> Operation[str]:
    """Put a message into the queue and return its new id; the message expires after exptime."""
    queue = yield from _open_queue(client, qkey)
    return (yield from putting.put(queue, msg, start_within=client.exptime))


def mark_done(client: RedisQueueLike, qkey: str, tid: str) -> Operation[None]:
    """Mark an id as done, even if another client popped it; ignore ids that are not running."""
    queue = QueueRef(client.core, qkey)
    for job_id in (tid, f"{tid}@{qkey}"):
        job = yield from jobs.job(client, job_id)
        if job is not None and job.queue == queue.name:
            with suppress(JobNotFound, WrongState):
                yield from finishing.finish(client, job_id)
            return


def _open_queue(client: RedisQueueLike, qkey: str) -> Operation[QueueRef]:
    queue = QueueRef(client.core, qkey)
    yield from ensure_profile(queue, "ring")
    return queue
