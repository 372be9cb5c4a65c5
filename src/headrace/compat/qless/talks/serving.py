"""What goes into a queue and comes out of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from headrace.client.lease import LeaseBase
from headrace.compat.qless.dialect import Dialect, QueueFace
from headrace.compat.qless.values import JobFacts
from headrace.engine.check import Span
from headrace.operations import jobs as job_talks
from headrace.operations import popping, putting
from headrace.operations.protocols import QueueLike as KnownQueue
from headrace.options import UNSET, Unset
from headrace.transport.drive import Operation

J = TypeVar("J", bound=JobFacts)


def put(
    queue: QueueFace,
    data: Any,
    priority: float | None = None,
    tags: Iterable[str] | None = None,
    delay: Span | None = None,
    *,
    id: str | None = None,
    retries: int | Unset | None = UNSET,
    depends: Iterable[str] | None = None,
    throttles: Iterable[str] | None = None,
) -> Operation[str]:
    """Makes a job in this queue, or moves the one of this id here; returns its id.

    A move keeps the priority and the tags that are not given. With depends it waits for those jobs.
    """
    asked = {
        "priority": priority,
        "tags": tags,
        "delay": delay,
        "retries": retries,
        "depends_on": depends,
        "throttles": throttles,
    }
    return (yield from put_into(queue.dialect, queue, data, id, asked))


def put_into(
    dialect: Dialect, queue: KnownQueue, data: Any, job_id: str | None, asked: dict[str, Any]
) -> Operation[str]:
    """Makes or moves a job."""
    given = {**asked, "priority": dialect.turned(asked["priority"])}
    options: Any = {**given, "id": job_id, "on_exists": "move"}
    return (yield from putting.put_with_options(queue, data, options))


def popped(
    dialect: Dialect, queue: KnownQueue, kind: type[J], worker: str, count: int, lease: Span | None
) -> Operation[list[J]]:
    """Hands jobs to a worker; what this client says of them later, it says with their tokens.

    They are read once more, as a pop does not tell when they expire.
    """
    found = yield from popping.pop(queue, worker, count=count, lease=lease)
    leases = [LeaseBase(queue.core, one) for one in found]
    for each in leases:
        dialect.hold(each)
    read = yield from job_talks.jobs(queue, [lease.id for lease in leases])
    known = {(job.id, job.worker, job.attempt): job for job in read}
    return [
        kind(dialect, queue.core, known.get((each.id, worker, each.attempt)) or each.job, each)
        for each in leases
    ]


def peeked(dialect: Dialect, queue: KnownQueue, kind: type[J], count: int) -> Operation[list[J]]:
    """The next jobs."""
    found = yield from popping.peek(queue, count)
    return [kind(dialect, queue.core, known, None) for known in found]


def pop(
    queue: QueueFace, kind: type[J], count: int | None, worker: str | None
) -> Operation[list[J]]:
    """The next jobs, locked for a worker."""
    name = queue.dialect.worker_name if worker is None else worker
    wanted = 1 if count is None else count
    return (yield from popped(queue.dialect, queue, kind, name, wanted, None))


def peek(queue: QueueFace, kind: type[J], count: int | None) -> Operation[list[J]]:
    """The next jobs, given to nobody."""
    return (yield from peeked(queue.dialect, queue, kind, 1 if count is None else count))
