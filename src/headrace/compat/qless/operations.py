"""Operations that the Qless client shares with its jobs and queues."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from headrace.client.lease import LeaseBase
from headrace.compat.qless.context import NotLeased, QlessLike, Refused
from headrace.compat.qless.values import STATES, Document, QlessJobFields, seconds
from headrace.engine import keys
from headrace.engine.check import Span, choice, number, text
from headrace.errors import HeadraceError, InvalidArgument
from headrace.operations import (
    dependencies,
    finishing,
    noted_workers,
    popping,
    putting,
    tracking,
)
from headrace.operations import jobs as job_operations
from headrace.operations import queues as queue_operations
from headrace.operations import tags as tag_operations
from headrace.operations.paging import all_items, ids_of_page
from headrace.operations.protocols import QueueLike
from headrace.operations.queues import QueueRef
from headrace.operations.values import Counts
from headrace.options import UNSET
from headrace.transport.drive import Operation

J = TypeVar("J", bound=QlessJobFields)


# Operations on jobs by id.


def timeout(client: QlessLike, *ids: str) -> Operation[list[str]]:
    """Remove the locks of running jobs and move the jobs to the front of their queues.

    Return the ids of the moved jobs.
    """
    answers = yield from job_operations.timeout(client, *ids)
    return [
        job_id
        for job_id, answer in zip(ids, answers, strict=True)
        if not isinstance(answer, HeadraceError)
    ]


def change_priority(client: QlessLike, id: str, priority: float) -> Operation[float | Refused]:
    """Change the priority of a job. Return False if there is no such job."""
    flipped = client.context.flip_priority(number("priority", priority))
    operation = job_operations.prioritise(client, id, flipped or 0)
    state = yield from client.context.unless_refused(operation)
    return False if state is False else priority


def requeue(client: QlessLike, queue: str, id: str, delay: Span = 0) -> Operation[str | Refused]:
    """Put an existing job into a queue like a new job.

    Return the job id, or False if there is no such job.
    """
    operation = job_operations.requeue(client, id, queue, delay=delay)
    state = yield from client.context.unless_refused(operation)
    return False if state is False else id


def unfail(client: QlessLike, queue: str, group: str, count: int = 25) -> Operation[int]:
    """Move jobs that failed with the failure type `group` to a queue, oldest first.

    Move up to `count` jobs, and return the number of moved jobs.
    """
    answers = yield from job_operations.retry(client, failure=group, count=count, queue=queue)
    return sum(not isinstance(answer, HeadraceError) for answer in answers)


def pause(client: QlessLike, *queues: str) -> Operation[None]:
    """Pause queues, so that no job is popped from the queues until unpause is called."""
    for queue in [QueueRef(client.core, name) for name in queues]:
        yield from queue_operations.pause(queue)


def unpause(client: QlessLike, *queues: str) -> Operation[None]:
    """Let workers pop from paused queues again."""
    for queue in [QueueRef(client.core, name) for name in queues]:
        yield from queue_operations.resume(queue)


# Tracking and tags.


def track(client: QlessLike, id: str) -> Operation[bool]:
    """Track a job: publish each of its events immediately. Return False if there is no such job."""
    return (yield from client.context.unless_refused(tracking.track(client, id))) is not False


def tag(client: QlessLike, id: str, *tags: str) -> Operation[list[str] | Refused]:
    """Add tags to a job and return all its tags. Return False if there is no such job."""
    return (yield from client.context.unless_refused(tag_operations.tag(client, id, *tags)))


def untag(client: QlessLike, id: str, *tags: str) -> Operation[list[str] | Refused]:
    """Remove tags from a job and return the remaining tags. Return False if no such job exists."""
    return (yield from client.context.unless_refused(tag_operations.untag(client, id, *tags)))


# Dependencies.


def depends(client: QlessLike, id: str, command: str, *ids: str) -> Operation[str | Refused]:
    """Add ("on") or remove ("off") dependencies of a job; the id "all" removes all dependencies.

    Return the new state, or False if the job does not exist or has no unfinished dependency.
    """
    if choice("command", command, ("on", "off")) == "on":
        operation = dependencies.depend_in_state(client, id, ids, state="blocked")
    elif not ids:
        raise InvalidArgument("pass the ids of the dependencies to remove, or 'all'")
    else:
        operation = dependencies.undepend(client, id, *(() if ids == ("all",) else ids))
    state = yield from client.context.unless_refused(operation)
    return False if state is False else STATES.get(state, state)


# Operations on leased jobs.


def lease_by_id(owner: QlessLike, job_id: str, worker: str | None = None) -> LeaseBase | NotLeased:
    """Return this client's lease on a job.

    Return NotLeased if the client has no lease on the job, or if another worker has the lease.
    """
    text("id", job_id, owner.core.limits.name)
    if worker is not None:
        text("worker", worker, owner.core.limits.name)
    lease = owner.context.leases.get(job_id)
    if lease is None or worker not in (None, lease.worker):
        return NotLeased(owner.core, job_id)
    return lease


def renew(
    owner: QlessLike, lease: LeaseBase | NotLeased, lease_for: Span | None, data: Any
) -> Operation[float | Refused | None]:
    """Renew a lock; see QlessJob.heartbeat."""
    given = finishing.NO_RESULT if data is UNSET else data
    operation = finishing.heartbeat(lease, lease_for=lease_for, data=given)
    deadline = yield from owner.context.unless_refused(operation)
    if deadline is False or isinstance(lease, NotLeased):
        return False
    yield from noted_workers.note_worker(owner.core, lease.worker)
    return seconds(deadline)


def complete_lease(
    owner: QlessLike,
    lease: LeaseBase | NotLeased,
    data: Any,
    next: str | None,
    delay: Span,
    depends: Iterable[str] | None = None,
) -> Operation[str | Refused]:
    """Complete a leased job; see QlessJob.complete."""
    given = finishing.NO_RESULT if data is UNSET else data
    operation = finishing.complete(lease, data=given, next=next, delay=delay, depends_on=depends)
    state = yield from owner.context.unless_refused(operation)
    return _finished(owner, lease, state)


def _finished(
    owner: QlessLike, lease: LeaseBase | NotLeased, state: str | Refused
) -> str | Refused:
    if state is False:
        return False
    owner.context.drop_lease(lease)
    return STATES.get(state, state)


def fail_lease(
    owner: QlessLike, lease: LeaseBase | NotLeased, type: str, message: str, data: Any
) -> Operation[str | Refused]:
    """Fail a leased job; see QlessJob.fail."""
    if isinstance(lease, NotLeased):
        if data is not UNSET:
            raise InvalidArgument("only the holder of a job may replace its data")
        operation = finishing.fail_by_id(owner, lease.id, type, message)
    else:
        operation = finishing.fail(lease, type, message, data=data)
    state = yield from owner.context.unless_refused(operation)
    return _finished(owner, lease, state) and lease.id


def retry_lease(
    owner: QlessLike, lease: LeaseBase | NotLeased, delay: Span, group: str | None, message: str
) -> Operation[int | Refused | None]:
    """Put a leased job back into its queue; see QlessJob.retry."""
    failure = f"failed-retries-{lease.queue}" if group is None else group
    operation = finishing.fail(lease, failure, message, retry_in=delay)
    state = _finished(owner, lease, (yield from owner.context.unless_refused(operation)))
    if state is False or isinstance(lease, NotLeased):
        return False
    remaining = lease.job.remaining
    return -1 if state == "failed" else None if remaining is None else remaining - 1


# Operations on queues.


def put_into(
    owner: QlessLike, queue: QueueLike, data: Any, job_id: str | None, options: dict[str, Any]
) -> Operation[str]:
    """Put or move a job.

    `options` has the options of a put in Headrace, except that the priority is as in qless.
    """
    priority = owner.context.flip_priority(options["priority"])
    given: Any = {**options, "priority": priority, "id": job_id, "on_exists": "move"}
    return (yield from putting.put_with_options(queue, data, given))


def pop_from(
    owner: QlessLike,
    queue: QueueLike,
    kind: type[J],
    worker: str,
    count: int,
    lease: Span | None = None,
) -> Operation[list[J]]:
    """Pop jobs and store their leases, so that later calls by job id use the lease tokens.

    The jobs are read again because the reply of pop does not include their expiry times.
    """
    popped = yield from popping.pop(queue, worker, count=count, lease=lease)
    yield from noted_workers.note_worker(queue.core, worker)
    leases = [LeaseBase(queue.core, each) for each in popped]
    for each in leases:
        owner.context.add_lease(each)
    read = yield from job_operations.jobs(queue, [each.id for each in leases])
    by_delivery = {(job.id, job.worker, job.attempt): job for job in read}
    return [
        kind(owner, by_delivery.get((each.id, worker, each.attempt)) or each.job, each)
        for each in leases
    ]


def all_counts(owner: QlessLike) -> Operation[list[Document]]:
    """Return the job counts of every queue, in the order in which the queues were first used."""
    documents: list[Document] = []
    for name, found in (yield from all_items(queue_operations.queues, owner)):
        documents.append((yield from counts_document(QueueRef(owner.core, name), found)))
    return documents


def counts_document(queue: QueueLike, found: Counts) -> Operation[Document]:
    """Return the job counts of a queue in the format of qless."""
    recurring, _ = yield from ids_of_page(
        queue.core, keys.schedules, queue.name, 0, 1, newest_first=False
    )
    return {
        "name": queue.name,
        "waiting": found.waiting,
        "running": found.running - found.late,
        "stalled": found.late,
        "scheduled": found.scheduled,
        "depends": found.blocked,
        "recurring": recurring,
        "paused": found.paused,
    }
