"""Operations that the Qless client shares with its jobs and queues."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from headrace.client.lease import LeaseBase
from headrace.compat.opening import all_pages
from headrace.compat.qless.context import NotLeased, QlessContext, QlessLike, Refused
from headrace.compat.qless.values import STATES, Document, QlessJobFields, seconds
from headrace.engine.check import Span, choice, number, text
from headrace.errors import HeadraceError, InvalidArgument
from headrace.operations import dependencies, finishing, popping, putting, tracking
from headrace.operations import jobs as job_operations
from headrace.operations import queues as queue_operations
from headrace.operations import tags as tag_operations
from headrace.operations.paging import ids_of_page
from headrace.operations.protocols import QueueLike
from headrace.operations.queues import QueueRef
from headrace.operations.values import Counts
from headrace.options import UNSET
from headrace.transport.drive import Operation

J = TypeVar("J", bound=QlessJobFields)


# By id.


def timeout(client: QlessLike, *ids: str) -> Operation[list[str]]:
    """Take the locks of running jobs away and return their ids; they wait at the front."""
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
    """Put an existing job into a queue as if new. Return its id, or False if there is none."""
    operation = job_operations.requeue(client, id, queue, delay=delay)
    state = yield from client.context.unless_refused(operation)
    return False if state is False else id


def unfail(client: QlessLike, queue: str, group: str, count: int = 25) -> Operation[int]:
    """Put up to count of the oldest jobs that failed with a type into a queue; return how many."""
    answers = yield from job_operations.retry(client, failure=group, count=count, queue=queue)
    return sum(not isinstance(answer, HeadraceError) for answer in answers)


def pause(client: QlessLike, *queues: str) -> Operation[None]:
    """Pause queues: no job is popped from them until unpause."""
    for queue in [QueueRef(client.core, name) for name in queues]:
        yield from queue_operations.pause(queue)


def unpause(client: QlessLike, *queues: str) -> Operation[None]:
    """Let workers pop from paused queues again."""
    for queue in [QueueRef(client.core, name) for name in queues]:
        yield from queue_operations.resume(queue)


# Tracking and tags.


def track(client: QlessLike, id: str) -> Operation[bool]:
    """Publish every event of a job at once. Return False if there is no such job."""
    return (yield from client.context.unless_refused(tracking.track(client, id))) is not False


def untrack(client: QlessLike, id: str) -> Operation[None]:
    """Stop tracking a job."""
    yield from tracking.untrack(client, id)


def tag(client: QlessLike, id: str, *tags: str) -> Operation[list[str] | Refused]:
    """Add tags to a job and return all its tags. Return False if there is no such job."""
    return (yield from client.context.unless_refused(tag_operations.tag(client, id, *tags)))


def untag(client: QlessLike, id: str, *tags: str) -> Operation[list[str] | Refused]:
    """Remove tags from a job and return the remaining ones. Return False if there is no job."""
    return (yield from client.context.unless_refused(tag_operations.untag(client, id, *tags)))


# Dependencies.


def depends(client: QlessLike, id: str, command: str, *ids: str) -> Operation[str | Refused]:
    """Add dependencies to a job ("on") or remove some ("off"; the id "all" removes every one).

    Return the new state, or False if there is no such job, or it is running or finished.
    """
    if choice("command", command, ("on", "off")) == "on":
        operation = dependencies.depend(client, id, ids)
    elif not ids:
        raise InvalidArgument("name the jobs that it no longer depends on, or 'all'")
    else:
        operation = dependencies.undepend(client, id, *(() if ids == ("all",) else ids))
    state = yield from client.context.unless_refused(operation)
    return False if state is False else STATES.get(state, state)


# With a lease.


def lease_by_id(owner: QlessLike, job_id: str, worker: str | None = None) -> LeaseBase | NotLeased:
    """Return the lease that this client has on a job, for the named worker if one is given."""
    text("id", job_id, owner.core.limits.name)
    if worker is not None:
        text("worker", worker, owner.core.limits.name)
    lease = owner.context.lease_of(job_id)
    if lease is None or worker not in (None, lease.worker):
        return NotLeased(owner.core, job_id)
    return lease


def renew(
    owner: QlessLike, lease: LeaseBase | NotLeased, lease_for: Span | None, data: Any
) -> Operation[float | Refused | None]:
    """Renew a lock; see heartbeat."""
    given = finishing.NO_RESULT if data is UNSET else data
    operation = finishing.heartbeat(lease, lease_for=lease_for, data=given)
    deadline = yield from owner.context.unless_refused(operation)
    return False if deadline is False else seconds(deadline)


def complete_lease(
    owner: QlessLike,
    lease: LeaseBase | NotLeased,
    data: Any,
    next: str | None,
    delay: Span,
    depends: Iterable[str] | None = None,
) -> Operation[str | Refused]:
    """Complete a leased job; see complete."""
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
    """Fail a leased job; see fail."""
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
    """Return a leased job to its queue; see retry."""
    failure = f"failed-retries-{lease.queue}" if group is None else group
    operation = finishing.fail(lease, failure, message, retry_in=delay)
    state = _finished(owner, lease, (yield from owner.context.unless_refused(operation)))
    if state is False or isinstance(lease, NotLeased):
        return False
    remaining = lease.job.remaining
    return -1 if state == "failed" else None if remaining is None else remaining - 1


# In a queue.


def put_into(
    context: QlessContext, queue: QueueLike, data: Any, job_id: str | None, options: dict[str, Any]
) -> Operation[str]:
    """Put or move a job with put options of Headrace and a priority of qless."""
    priority = context.flip_priority(options["priority"])
    given: Any = {**options, "priority": priority, "id": job_id, "on_exists": "move"}
    return (yield from putting.put_with_options(queue, data, given))


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


def peek_at(
    context: QlessContext, queue: QueueLike, kind: type[J], count: int
) -> Operation[list[J]]:
    """Return the jobs that pop would return next."""
    found = yield from popping.peek(queue, count)
    return [kind(context, queue.core, job, None) for job in found]


def all_counts(owner: QlessLike) -> Operation[list[Document]]:
    """Return the counts of every queue, in the order of their first use."""
    documents: list[Document] = []
    for page in (yield from all_pages(queue_operations.queues, owner)):
        for name, found in page.items():
            documents.append((yield from counts_document(QueueRef(owner.core, name), found)))
    return documents


def counts_document(queue: QueueLike, found: Counts) -> Operation[Document]:
    """Return the counts of a queue as a document of qless."""
    recurring, _ = yield from ids_of_page(
        queue.core, "schedules", queue.name, 0, 1, newest_first=False
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
