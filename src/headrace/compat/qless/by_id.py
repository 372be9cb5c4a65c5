"""Operations of an operator by id: cancel, time out, move, tag, track, pause, throttle."""

from __future__ import annotations

from headrace.compat.qless.context import QlessLike, Refused
from headrace.compat.qless.values import STATES
from headrace.engine.check import Span, choice, number
from headrace.errors import HeadraceError, InvalidArgument
from headrace.operations import dependencies, tracking
from headrace.operations import jobs as job_operations
from headrace.operations import queues as queue_operations
from headrace.operations import tags as tag_operations
from headrace.operations.queues import QueueRef
from headrace.transport.drive import Operation


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
