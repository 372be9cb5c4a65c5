"""Put jobs into a queue, pop them and peek at them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from headrace.client.lease import LeaseBase
from headrace.compat.qless.context import QlessContext, QlessQueueLike
from headrace.compat.qless.values import QlessJobFields
from headrace.engine.check import Span
from headrace.operations import jobs as job_operations
from headrace.operations import popping, putting
from headrace.operations.protocols import QueueLike
from headrace.options import UNSET, Unset
from headrace.transport.drive import Operation

J = TypeVar("J", bound=QlessJobFields)


def put(
    queue: QlessQueueLike,
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
    """Put a job into this queue, or move the job with this id here; return its id.

    A moved job keeps its priority and tags unless new ones are given. With `depends`, the job waits
    until those jobs are complete.
    """
    options = {
        "priority": priority,
        "tags": tags,
        "delay": delay,
        "retries": retries,
        "depends_on": depends,
        "throttles": throttles,
    }
    return (yield from put_into(queue.context, queue, data, id, options))


def put_into(
    context: QlessContext, queue: QueueLike, data: Any, job_id: str | None, options: dict[str, Any]
) -> Operation[str]:
    """Put or move a job with put options of Headrace and a priority of qless."""
    priority = context.flip_priority(options["priority"])
    given: Any = {**options, "priority": priority, "id": job_id, "on_exists": "move"}
    return (yield from putting.put_with_options(queue, data, given))


def pop(
    queue: QlessQueueLike, kind: type[J], count: int | None, worker: str | None
) -> Operation[list[J]]:
    """Lock up to count jobs (default 1) for a worker (default: that of the client)."""
    name = queue.context.worker_name if worker is None else worker
    number = 1 if count is None else count
    return (yield from pop_from(queue.context, queue, kind, name, number, None))


def pop_from(
    context: QlessContext,
    queue: QueueLike,
    kind: type[J],
    worker: str,
    count: int,
    lease: Span | None,
) -> Operation[list[J]]:
    """Pop jobs and remember their leases, so that later calls by id use their tokens.

    The jobs are read once more because pop does not return when they expire.
    """
    popped = yield from popping.pop(queue, worker, count=count, lease=lease)
    leases = [LeaseBase(queue.core, each) for each in popped]
    for each in leases:
        context.add_lease(each)
    read = yield from job_operations.jobs(queue, [each.id for each in leases])
    by_delivery = {(job.id, job.worker, job.attempt): job for job in read}
    return [
        kind(
            context, queue.core, by_delivery.get((each.id, worker, each.attempt)) or each.job, each
        )
        for each in leases
    ]


def peek(queue: QlessQueueLike, kind: type[J], count: int | None) -> Operation[list[J]]:
    """Return up to count jobs (default 1) that pop would return next."""
    return (yield from peek_at(queue.context, queue, kind, 1 if count is None else count))


def peek_at(
    context: QlessContext, queue: QueueLike, kind: type[J], count: int
) -> Operation[list[J]]:
    """Return the jobs that pop would return next."""
    found = yield from popping.peek(queue, count)
    return [kind(context, queue.core, job, None) for job in found]
