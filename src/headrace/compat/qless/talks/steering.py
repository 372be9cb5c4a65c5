"""What an operator does to jobs, by id."""

from __future__ import annotations

from headrace.compat.qless.dialect import Face
from headrace.compat.qless.talks.holding import JobFace, Refused
from headrace.compat.qless.talks.refusing import unless_refused
from headrace.compat.qless.values import STATES
from headrace.engine.check import Span, choice, number
from headrace.errors import HeadraceError, InvalidArgument
from headrace.operations import dependencies, tracking
from headrace.operations import jobs as job_talks
from headrace.operations import queues as queue_talks
from headrace.operations import tags as tagging
from headrace.operations.queues import QueueRef
from headrace.transport.drive import Operation


def cancel(client: Face, *ids: str) -> Operation[list[str]]:
    """Deletes jobs that are not complete, and returns their ids; unknown ones are fine.

    Raises HasDependents if others depend on one of them that are not named too.
    """
    return (yield from job_talks.cancel(client, *ids))


def cancel_job(job: JobFace) -> Operation[bool]:
    """Deletes the job, unless it is complete or gone; whether it did."""
    return bool((yield from job_talks.cancel(job, job.id)))


def timeout(client: Face, *ids: str) -> Operation[list[str]]:
    """Takes the locks of running jobs away; they wait at the front. Returns their ids."""
    answers = yield from job_talks.timeout(client, *ids)
    return [
        job_id
        for job_id, answer in zip(ids, answers, strict=True)
        if not isinstance(answer, HeadraceError)
    ]


def timeout_job(job: JobFace) -> Operation[bool]:
    """Takes the lock of the job away; it waits at the front. False if it does not run."""
    return bool((yield from timeout(job, job.id)))


def change_priority(client: Face, id: str, priority: float) -> Operation[float | Refused]:
    """Gives a job another priority; False if there is none."""
    turned = client.dialect.turned(number("priority", priority))
    operation = job_talks.prioritise(client, id, turned or 0)
    state = yield from unless_refused(client.dialect, operation)
    return False if state is False else priority


def prioritise(job: JobFace, priority: float) -> Operation[float | Refused]:
    """Gives the job another priority; False if it is gone."""
    return (yield from change_priority(job, job.id, priority))


def requeue(client: Face, queue: str, id: str, delay: Span = 0) -> Operation[str | Refused]:
    """Puts a job that exists into a queue as if new; its id, or False if there is none."""
    operation = job_talks.requeue(client, id, queue, delay=delay)
    state = yield from unless_refused(client.dialect, operation)
    return False if state is False else id


def move(job: JobFace, queue: str, delay: Span = 0) -> Operation[str | Refused]:
    """Puts the job into a queue as if new, whoever holds it; its id, or False if it is gone."""
    return (yield from requeue(job, queue, job.id, delay))


def unfail(client: Face, queue: str, group: str, count: int = 25) -> Operation[int]:
    """Puts up to count of the oldest jobs that failed with a type into a queue; how many it did."""
    answers = yield from job_talks.retry(client, failure=group, count=count, queue=queue)
    return sum(not isinstance(answer, HeadraceError) for answer in answers)


def pause(client: Face, *queues: str) -> Operation[None]:
    """From now on nothing is popped from these queues; everything else goes on."""
    for queue in [QueueRef(client.core, name) for name in queues]:
        yield from queue_talks.pause(queue)


def unpause(client: Face, *queues: str) -> Operation[None]:
    """These queues give out jobs again."""
    for queue in [QueueRef(client.core, name) for name in queues]:
        yield from queue_talks.resume(queue)


# tracking and tags


def track(client: Face, id: str) -> Operation[bool]:
    """Lets everything that happens to a job be told at once; False if there is no such job."""
    return (yield from unless_refused(client.dialect, tracking.track(client, id))) is not False


def untrack(client: Face, id: str) -> Operation[None]:
    """Tracks a job no longer."""
    yield from tracking.untrack(client, id)


def track_job(job: JobFace) -> Operation[bool]:
    """Lets everything that happens to the job be told at once; False if it is gone."""
    return (yield from track(job, job.id))


def untrack_job(job: JobFace) -> Operation[None]:
    """Tracks the job no longer."""
    yield from tracking.untrack(job, job.id)


def tag(client: Face, id: str, *tags: str) -> Operation[list[str] | Refused]:
    """Gives tags to a job, and returns all it has; False if there is no such job."""
    return (yield from unless_refused(client.dialect, tagging.tag(client, id, *tags)))


def untag(client: Face, id: str, *tags: str) -> Operation[list[str] | Refused]:
    """Takes tags from a job, and returns those it has left; False if there is no such job."""
    return (yield from unless_refused(client.dialect, tagging.untag(client, id, *tags)))


def tag_job(job: JobFace, *tags: str) -> Operation[list[str] | Refused]:
    """Gives tags to the job, and returns all it has; False if it is gone."""
    return (yield from tag(job, job.id, *tags))


def untag_job(job: JobFace, *tags: str) -> Operation[list[str] | Refused]:
    """Takes tags from the job, and returns those it has left; False if it is gone."""
    return (yield from untag(job, job.id, *tags))


# dependencies


def depends(client: Face, id: str, command: str, *ids: str) -> Operation[str | Refused]:
    """Lets a job depend on others too ("on"), or not any more ("off"; "all" for all of them).

    Returns the new state; False if there is no such job, or it runs or is over.
    """
    if choice("command", command, ("on", "off")) == "on":
        operation = dependencies.depend(client, id, ids)
    elif not ids:
        raise InvalidArgument("name the jobs it no longer depends on, or 'all'")
    else:
        operation = dependencies.undepend(client, id, *(() if ids == ("all",) else ids))
    state = yield from unless_refused(client.dialect, operation)
    return False if state is False else STATES.get(state, state)


def depend(job: JobFace, *ids: str) -> Operation[str | Refused]:
    """Lets the job depend on others too; its state, or False if it runs or is over."""
    return (yield from depends(job, job.id, "on", *ids))


def undepend(job: JobFace, *ids: str, all: bool = False) -> Operation[str | Refused]:
    """Lets the job not depend on these any more, or on any; its state, or False."""
    return (yield from depends(job, job.id, "off", *(("all",) if all else ids)))
