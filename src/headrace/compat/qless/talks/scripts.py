"""The calls of the document, with its arguments in its order.

Data and tags are JSON blobs, jobs are the structures of the document. Its moments are the caller's
own: of `now` and `expiration` only the span between them is sent, so no clock must be right.
"""

from __future__ import annotations

import time
from datetime import date
from typing import Any

from headrace.compat.qless.dialect import Face, NotHeld
from headrace.compat.qless.talks import holding, serving
from headrace.compat.qless.values import Document, JobFacts, day_of, parsed, span, statistics
from headrace.engine.check import Span, number, text
from headrace.errors import InvalidArgument
from headrace.operations import jobs as job_talks
from headrace.operations import queues as queue_talks
from headrace.operations.queues import QueueRef
from headrace.options import UNSET
from headrace.transport.drive import Operation


def put(
    client: Face,
    queue: str,
    id: str,
    data: str,
    now: float,
    priority: float | None = None,
    tags: str | None = None,
    delay: Span | None = None,
) -> Operation[str]:
    """Makes a job in a queue, or moves the one of this id there; returns the id."""
    number("now", now)
    text("id", id, client.core.limits.name)
    where = QueueRef(client.core, queue)
    given = None if tags is None else parsed("tags", tags)
    if not isinstance(given, list | None):
        raise InvalidArgument(f"tags must be a JSON array, not {tags!r}")
    asked = {"priority": priority, "tags": given, "delay": delay}
    return (yield from serving.put_into(client.dialect, where, parsed("data", data), id, asked))


def get(client: Face, id: str) -> Operation[Document | None]:
    """The structure of a job, or None."""
    known = yield from job_talks.job(client, id)
    return None if known is None else JobFacts(client.dialect, client.core, known, None).structure()


def pop(
    client: Face, queue: str, worker: str, count: int, now: float, expiration: float
) -> Operation[list[Document]]:
    """Gives up to count jobs to a worker, locked for the time from now to expiration."""
    where = QueueRef(client.core, queue)
    lease = span(now, expiration)
    found = yield from serving.popped(client.dialect, where, JobFacts, worker, count, lease)
    return [job.structure() for job in found]


def peek(client: Face, queue: str, count: int, now: float) -> Operation[list[Document]]:
    """The next jobs as pop would give them out; nobody gets them."""
    number("now", now)
    where = QueueRef(client.core, queue)
    found = yield from serving.peeked(client.dialect, where, JobFacts, count)
    return [job.structure() for job in found]


def heartbeat(
    client: Face, id: str, worker: str, expiration: float, data: str | None = None
) -> Operation[Any]:
    """Renews the lock of a worker, and may replace the data; when it now expires, or False."""
    given = UNSET if data is None else parsed("data", data)
    lease_for = span(time.time(), expiration)
    lease = holding.held(client, id, worker)
    return (yield from holding.renewed(client, lease, lease_for, given))


def complete(
    client: Face,
    id: str,
    data: str | None = None,
    queue: str | None = None,
    delay: Span | None = None,
) -> Operation[Any]:
    """Completes a job, or puts it into another queue; its new state, or False."""
    given = UNSET if data is None else parsed("data", data)
    lease = holding.held(client, id)
    return (yield from holding.completed(client, lease, given, queue, delay or 0))


def fail(client: Face, id: str, type: str, message: str, now: float) -> Operation[Any]:
    """Sets a job aside under a type, and returns its id, or False."""
    number("now", now)
    return (yield from holding.failed(client, holding.held(client, id), type, message, UNSET))


def retry(
    client: Face,
    id: str,
    queue: str,
    worker: str,
    delay: Span = 0,
    group: str | None = None,
    message: str = "",
) -> Operation[Any]:
    """Gives a job of a queue back, to be tried again after a delay; how many retries are left.

    -1 if there was none left and it is failed now under the group, False if it is not the worker's.
    """
    lease = holding.held(client, id, worker)
    if QueueRef(client.core, queue).name != lease.queue:
        lease = NotHeld(client.core, id)
    return (yield from holding.retried(client, lease, delay, group, message))


def stats(client: Face, queue: str, date: str | date | float | None = None) -> Operation[Document]:
    """Waiting and running times of a queue on a day."""
    where = QueueRef(client.core, queue)
    return statistics((yield from queue_talks.stats(where, day_of(date))))
