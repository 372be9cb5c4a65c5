"""The calls of the qless document, with its arguments in its order.

Data and tags are JSON text, and jobs are the structures of the document. `now` and `expiration` are
times of the caller's clock: only the difference is sent, so that clock may be wrong.
"""

from __future__ import annotations

import time
from datetime import date
from typing import Any

from headrace.compat.qless.context import NotLeased, QlessLike
from headrace.compat.qless.operations import leased, put_pop
from headrace.compat.qless.values import (
    Document,
    QlessJobFields,
    day_of,
    decode_json,
    lock_duration,
    statistics,
)
from headrace.engine.check import Span, number, text
from headrace.errors import InvalidArgument
from headrace.operations import jobs as job_operations
from headrace.operations import queues as queue_operations
from headrace.operations.queues import QueueRef
from headrace.options import UNSET
from headrace.transport.drive import Operation


def put(
    client: QlessLike,
    queue: str,
    id: str,
    data: str,
    now: float,
    priority: float | None = None,
    tags: str | None = None,
    delay: Span | None = None,
) -> Operation[str]:
    """Put a job into a queue, or move the job with this id there; return the id."""
    number("now", now)
    text("id", id, client.core.limits.name)
    target = QueueRef(client.core, queue)
    given = None if tags is None else decode_json("tags", tags)
    if not isinstance(given, list | None):
        raise InvalidArgument(f"tags must be a JSON array, not {tags!r}")
    options = {"priority": priority, "tags": given, "delay": delay}
    value = decode_json("data", data)
    return (yield from put_pop.put_into(client.context, target, value, id, options))


def get(client: QlessLike, id: str) -> Operation[Document | None]:
    """Return the structure of a job, or None if there is none."""
    found = yield from job_operations.job(client, id)
    if found is None:
        return None
    return QlessJobFields(client.context, client.core, found, None).structure()


def pop(
    client: QlessLike, queue: str, worker: str, count: int, now: float, expiration: float
) -> Operation[list[Document]]:
    """Lock up to count jobs for a worker, for the time from now to expiration."""
    target = QueueRef(client.core, queue)
    lease = lock_duration(now, expiration)
    found = yield from put_pop.pop_from(
        client.context, target, QlessJobFields, worker, count, lease
    )
    return [job.structure() for job in found]


def peek(client: QlessLike, queue: str, count: int, now: float) -> Operation[list[Document]]:
    """Return the jobs that pop would return next, without a lock."""
    number("now", now)
    target = QueueRef(client.core, queue)
    found = yield from put_pop.peek_at(client.context, target, QlessJobFields, count)
    return [job.structure() for job in found]


def heartbeat(
    client: QlessLike, id: str, worker: str, expiration: float, data: str | None = None
) -> Operation[Any]:
    """Renew the lock of a worker, and replace the data if some is given.

    Return when the lock now expires, or False if the worker does not hold the job.
    """
    given = UNSET if data is None else decode_json("data", data)
    lease_for = lock_duration(time.time(), expiration)
    lease = leased.lease_by_id(client, id, worker)
    return (yield from leased.renew(client, lease, lease_for, given))


def complete(
    client: QlessLike,
    id: str,
    data: str | None = None,
    queue: str | None = None,
    delay: Span | None = None,
) -> Operation[Any]:
    """Complete a job, or move it to another queue. Return the new state, or False."""
    given = UNSET if data is None else decode_json("data", data)
    lease = leased.lease_by_id(client, id)
    return (yield from leased.complete_lease(client, lease, given, queue, delay or 0))


def fail(client: QlessLike, id: str, type: str, message: str, now: float) -> Operation[Any]:
    """Fail a job with a type. Return its id, or False."""
    number("now", now)
    lease = leased.lease_by_id(client, id)
    return (yield from leased.fail_lease(client, lease, type, message, UNSET))


def retry(
    client: QlessLike,
    id: str,
    queue: str,
    worker: str,
    delay: Span = 0,
    group: str | None = None,
    message: str = "",
) -> Operation[Any]:
    """Return a job to its queue, to be retried after a delay; return how many retries are left.

    Return -1 if none was left: then the job is failed under the group. Return False if the worker
    does not hold the job.
    """
    lease = leased.lease_by_id(client, id, worker)
    if QueueRef(client.core, queue).name != lease.queue:
        lease = NotLeased(client.core, id)
    return (yield from leased.retry_lease(client, lease, delay, group, message))


def stats(
    client: QlessLike, queue: str, date: str | date | float | None = None
) -> Operation[Document]:
    """Return the wait and run times of a queue on a day (default: today)."""
    target = QueueRef(client.core, queue)
    return statistics((yield from queue_operations.stats(target, day_of(date))))
