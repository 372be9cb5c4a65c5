"""Operations of an operator by id: cancel, time out, move, tag, track, pause, throttle."""

from __future__ import annotations

from headrace.compat.qless.context import QlessJobLike, QlessLike, Refused
from headrace.compat.qless.values import STATES, Document
from headrace.engine.check import PAGE, Span, choice, number
from headrace.errors import HeadraceError, InvalidArgument
from headrace.operations import dependencies, tracking
from headrace.operations import jobs as job_operations
from headrace.operations import queues as queue_operations
from headrace.operations import tags as tag_operations
from headrace.operations import throttles as throttle_operations
from headrace.operations.queues import QueueRef
from headrace.transport.drive import Operation


def cancel(client: QlessLike, *ids: str) -> Operation[list[str]]:
    """Delete jobs that are not complete and return their ids, ignoring unknown ones.

    Raises HasDependents if other jobs depend on one of them and are not cancelled too.
    """
    return (yield from job_operations.cancel(client, *ids))


def cancel_job(job: QlessJobLike) -> Operation[bool]:
    """Delete the job unless it is complete or gone. Return whether it was deleted."""
    return bool((yield from job_operations.cancel(job, job.id)))


def timeout(client: QlessLike, *ids: str) -> Operation[list[str]]:
    """Take the locks of running jobs away and return their ids; they wait at the front."""
    answers = yield from job_operations.timeout(client, *ids)
    return [
        job_id
        for job_id, answer in zip(ids, answers, strict=True)
        if not isinstance(answer, HeadraceError)
    ]


def timeout_job(job: QlessJobLike) -> Operation[bool]:
    """Take the lock of the job away; it waits at the front. Return False if it is not running."""
    return bool((yield from timeout(job, job.id)))


def change_priority(client: QlessLike, id: str, priority: float) -> Operation[float | Refused]:
    """Change the priority of a job. Return False if there is no such job."""
    flipped = client.context.flip_priority(number("priority", priority))
    operation = job_operations.prioritise(client, id, flipped or 0)
    state = yield from client.context.unless_refused(operation)
    return False if state is False else priority


def prioritise(job: QlessJobLike, priority: float) -> Operation[float | Refused]:
    """Change the priority of the job. Return False if it is gone."""
    return (yield from change_priority(job, job.id, priority))


def requeue(client: QlessLike, queue: str, id: str, delay: Span = 0) -> Operation[str | Refused]:
    """Put an existing job into a queue as if new. Return its id, or False if there is none."""
    operation = job_operations.requeue(client, id, queue, delay=delay)
    state = yield from client.context.unless_refused(operation)
    return False if state is False else id


def move(job: QlessJobLike, queue: str, delay: Span = 0) -> Operation[str | Refused]:
    """Put the job into a queue as if new, even if a worker holds it. Return its id, or False."""
    return (yield from requeue(job, queue, job.id, delay))


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


def track_job(job: QlessJobLike) -> Operation[bool]:
    """Publish every event of the job at once. Return False if the job is gone."""
    return (yield from track(job, job.id))


def untrack_job(job: QlessJobLike) -> Operation[None]:
    """Stop tracking the job."""
    yield from tracking.untrack(job, job.id)


def tag(client: QlessLike, id: str, *tags: str) -> Operation[list[str] | Refused]:
    """Add tags to a job and return all its tags. Return False if there is no such job."""
    return (yield from client.context.unless_refused(tag_operations.tag(client, id, *tags)))


def untag(client: QlessLike, id: str, *tags: str) -> Operation[list[str] | Refused]:
    """Remove tags from a job and return the remaining ones. Return False if there is no job."""
    return (yield from client.context.unless_refused(tag_operations.untag(client, id, *tags)))


def tag_job(job: QlessJobLike, *tags: str) -> Operation[list[str] | Refused]:
    """Add tags to the job and return all its tags. Return False if the job is gone."""
    return (yield from tag(job, job.id, *tags))


def untag_job(job: QlessJobLike, *tags: str) -> Operation[list[str] | Refused]:
    """Remove tags from the job and return the remaining ones. Return False if it is gone."""
    return (yield from untag(job, job.id, *tags))


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


def depend(job: QlessJobLike, *ids: str) -> Operation[str | Refused]:
    """Add dependencies to the job. Return its state, or False if it is running or finished."""
    return (yield from depends(job, job.id, "on", *ids))


def undepend(job: QlessJobLike, *ids: str, all: bool = False) -> Operation[str | Refused]:
    """Remove these dependencies of the job, or all of them. Return its state, or False."""
    return (yield from depends(job, job.id, "off", *(("all",) if all else ids)))


# Throttles.


def set_throttle(
    owner: QlessLike, name: str, maximum: int, expiration: Span | None = None
) -> Operation[None]:
    """Let at most `maximum` jobs with this throttle run at once, for `expiration` if given."""
    limit = None if maximum == 0 else maximum
    yield from throttle_operations.set_throttle(owner, name, concurrency=limit, ttl=expiration)


def get_throttle(owner: QlessLike, name: str) -> Operation[Document]:
    """Return a throttle: maximum, seconds left, ids of running jobs, queues that it holds up.

    A maximum of 0 means no limit.
    """
    found = yield from throttle_operations.throttle(owner, name, count=PAGE)
    return {
        "id": found.name,
        "maximum": found.concurrency or 0,
        "ttl": found.expires_in,
        "locks": found.holders,
        "pending": found.held_up,
    }


def delete_throttle(owner: QlessLike, name: str) -> Operation[bool]:
    """Delete a throttle. Return whether there was one."""
    return (yield from throttle_operations.delete_throttle(owner, name))
