"""What is said to the server in the words of redis-queue."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Protocol

from headrace.compat.opening import made
from headrace.engine.check import Span
from headrace.errors import JobNotFound, WrongState
from headrace.operations import finishing, jobs, popping, putting
from headrace.operations.core import Core
from headrace.operations.queues import QueueRef
from headrace.transport.drive import Operation


class Face(Protocol):
    """A RedisQueue of either colour."""

    @property
    def core(self) -> Core: ...

    @property
    def worker(self) -> str: ...

    @property
    def poptimeout(self) -> Span | None: ...

    @property
    def tasktimeout(self) -> Span: ...

    @property
    def exptime(self) -> Span | None: ...


def safe_pop(face: Face, qkey: str) -> Operation[str | None]:
    """The next id that is new or late, waited for up to the pop timeout; None if there is none.

    It stays in the queue, and comes back after the task timeout unless it is marked as done.
    """
    popped = yield from _popped(face, qkey)
    return _said(qkey, popped) if popped else None


def safe_pop_msg(face: Face, qkey: str) -> Operation[tuple[str, Any] | None]:
    """As safe_pop, but the id with its message."""
    popped = yield from _popped(face, qkey)
    return _with_message(face, _said(qkey, popped), popped) if popped else None


def _said(qkey: str, popped: popping.Popped) -> str:
    """The id as it was pushed, also where another queue has the same."""
    pushed = popped.id.removesuffix(f"@{qkey}")
    return pushed if popped.payload == pushed.encode() else popped.id


def _with_message(face: Face, said: str, popped: popping.Popped) -> tuple[str, Any]:
    # An id that was pushed without a message is its own, and no codec has written it.
    if popped.payload == said.encode():
        return said, said
    return said, face.core.codec.decode(popped.payload)


def _popped(face: Face, qkey: str) -> Operation[popping.Popped | None]:
    queue = yield from _ring(face, qkey)
    popped = yield from popping.pop(
        queue, face.worker, lease=face.tasktimeout, wait=face.poptimeout
    )
    return popped[0] if popped else None


def push_msg(face: Face, qkey: str, msg: Any) -> Operation[str]:
    """Queues a message and returns the id it was given; not popped in time, it expires."""
    queue = yield from _ring(face, qkey)
    return (yield from putting.put(queue, msg, start_within=face.exptime))


def mark_done(face: Face, qkey: str, tid: str) -> Operation[None]:
    """Says that an id is done, whoever popped it; one that is not being done stays as it is."""
    queue = QueueRef(face.core, qkey)
    for job_id in (tid, f"{tid}@{qkey}"):
        job = yield from jobs.job(face, job_id)
        if job is not None and job.queue == queue.name:
            with suppress(JobNotFound, WrongState):
                yield from finishing.finish(face, job_id)
            return


def _ring(face: Face, qkey: str) -> Operation[QueueRef]:
    queue = QueueRef(face.core, qkey)
    yield from made(queue, "ring")
    return queue
