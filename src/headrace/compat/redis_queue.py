"""The API of redis-queue: a popped id is redelivered after a timeout unless marked as done."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Generic

from headrace.client.client import AsyncClient, Client
from headrace.compat import common
from headrace.engine import keys
from headrace.engine.check import Span, milliseconds
from headrace.engine.timestamps import DAY
from headrace.errors import JobNotFound, WrongState
from headrace.operations import finishing, jobs, popping, putting
from headrace.operations.core import Core
from headrace.operations.method import method
from headrace.operations.queues import QueueRef, check_name
from headrace.operations.sessions import default_worker_name
from headrace.transport.drive import Operation


class RedisQueueBase(Generic[common.AnyClient]):
    """The methods and options that RedisQueue and AsyncRedisQueue share."""

    core: Core

    def __init__(
        self,
        client: common.AnyClient | str,
        poptimeout: Span | None = 30,
        tasktimeout: Span = 30,
        exptime: Span | None = DAY,
    ) -> None:
        milliseconds("tasktimeout", tasktimeout)
        for name, duration in (("poptimeout", poptimeout), ("exptime", exptime)):
            if duration is not None:
                milliseconds(name, duration)
        self.poptimeout = poptimeout
        self.tasktimeout = tasktimeout
        self.exptime = exptime
        self.worker = default_worker_name()
        super().__init__(client)  # type: ignore[call-arg]  # of CompatClient or AsyncCompatClient

    def ingress(self, qkey: str) -> str:
        """Return the key of the list to which a program without Headrace can LPUSH ids."""
        return self.core.key(0, keys.ingress(check_name(self.core, qkey)))

    @method
    def safe_pop(self, qkey: str) -> Operation[str | None]:
        """Return the next new or timed-out id, or None if no id arrives within the pop timeout.

        The id stays in the queue. Unless the id is marked as done, it is redelivered after the task
        timeout.
        """
        popped = yield from self._pop(qkey)
        return _pushed_id(qkey, popped) if popped else None

    @method
    def safe_pop_msg(self, qkey: str) -> Operation[tuple[str, Any] | None]:
        """Return the next new or timed-out id with its message; see safe_pop."""
        popped = yield from self._pop(qkey)
        if popped is None:
            return None
        pushed = _pushed_id(qkey, popped)
        # If an id was pushed without a message, the payload is the id itself, not encoded by any
        # codec.
        if popped.payload == pushed.encode():
            return pushed, pushed
        return pushed, self.core.codec.decode(popped.payload)

    @method
    def push_msg(self, qkey: str, msg: Any) -> Operation[str]:
        """Put a message into the queue and return its new id; the message expires after exptime."""
        queue = yield from self._open_queue(qkey)
        return (yield from putting.put(queue, msg, start_within=self.exptime))

    @method
    def mark_done(self, qkey: str, tid: str) -> Operation[None]:
        """Mark an id as done, even if another client popped it; ignore ids that are not running."""
        queue = QueueRef(self.core, qkey)
        for job_id in (tid, f"{tid}@{qkey}"):
            job = yield from jobs.job(self, job_id)
            if job is not None and job.queue == queue.name:
                with suppress(JobNotFound, WrongState):
                    yield from finishing.finish(self, job_id)
                return

    def _pop(self, qkey: str) -> Operation[popping.Popped | None]:
        queue = yield from self._open_queue(qkey)
        popped = yield from popping.pop(
            queue, self.worker, lease=self.tasktimeout, wait=self.poptimeout
        )
        return popped[0] if popped else None

    def _open_queue(self, qkey: str) -> Operation[QueueRef]:
        queue = QueueRef(self.core, qkey)
        yield from common.ensure_profile(queue, "ring")
        return queue


def _pushed_id(qkey: str, popped: popping.Popped) -> str:
    """Return the id that was pushed.

    If a job in another queue already has this id, the job id is the pushed id plus a suffix.
    """
    pushed = popped.id.removesuffix(f"@{qkey}")
    return pushed if popped.payload == pushed.encode() else popped.id


class RedisQueue(RedisQueueBase[Client], common.CompatClient):
    """Queues that redeliver each popped id until the id is marked as done.

    Times are in seconds. `poptimeout` is how long a pop waits. `tasktimeout` is the time after
    which a popped id is redelivered. `exptime` is how long a message may wait. For `poptimeout` and
    `exptime`, None means no limit.
    """


class AsyncRedisQueue(RedisQueueBase[AsyncClient], common.AsyncCompatClient):
    """The asyncio form of RedisQueue."""
