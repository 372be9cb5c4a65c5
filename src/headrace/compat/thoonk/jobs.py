"""What is said of the items of a queue, and of jobs, which are ended by their ids."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NamedTuple

from headrace.compat.thoonk.errors import Empty, FeedDoesNotExist, JobDoesNotExist, JobNotPending
from headrace.compat.thoonk.registry import Facts, present
from headrace.engine.call import Call, build
from headrace.engine.check import Span, text
from headrace.engine.record import Record, decode_record
from headrace.errors import JobError, JobNotFound, LeaseLost, NoResult, WrongState
from headrace.operations import finishing, jobs, popping, putting, queues
from headrace.operations.core import Core
from headrace.operations.requests import ask_one
from headrace.operations.values import Job
from headrace.transport.drive import Operation

# The type of failure by which Headrace knows stalled jobs.
STALLED = "stalled"
HIGH = -1
# Each may have an item of a megabyte.
PAGE = 200


class Claimed(NamedTuple):
    """A job that was given out: its id, its item, and how often it was cancelled before."""

    id: str
    item: Any
    cancelled: int


# queues


def put(feed: Facts, item: Any, priority: float | None = None) -> Operation[str]:
    """Puts an item at the back, under a new id, which is returned; priority=HIGH before others."""
    yield from present(feed)
    job_id = yield from putting.put(feed, item, priority=priority)
    try:
        yield from present(feed)
    except FeedDoesNotExist:
        # Deleted in this very moment: what came after that goes, what came before has gone with it.
        if (yield from jobs.cancel(feed, job_id)):
            raise
    return job_id


def get(feed: Facts, timeout: Span | None = 0) -> Operation[Any]:
    """Takes the oldest item away; waits for one up to timeout seconds, 0 for ever.

    Raises Empty when none came.
    """
    return feed.core.codec.decode((yield from _next(feed, timeout)).payload)


def _next(feed: Facts, timeout: Span | None) -> Operation[popping.Popped]:
    yield from present(feed)
    worker = f"{socket.gethostname()}-{os.getpid()}"
    for popped in (yield from popping.pop(feed, worker, wait=timeout or None)):
        return popped
    raise Empty(f"nothing came to feed {feed.name!r} within {timeout} seconds")


def waiting_ids(feed: Facts) -> Operation[list[str]]:
    """The ids of what waits, the next one last."""
    return [job.id for job in (yield from _waiting(feed))]


def waiting_items(feed: Facts) -> Operation[dict[str, Any]]:
    """The items that wait by their ids, the next one last."""
    return {job.id: job.data for job in (yield from _waiting(feed))}


def every_id(feed: Facts) -> Operation[list[str]]:
    """The ids of all jobs: those that wait, the next one last; then running; then stalled."""
    return [job.id for job in (yield from _every(feed))]


def every_item(feed: Facts) -> Operation[dict[str, Any]]:
    """The items of all jobs by their ids, in the order of get_ids."""
    return {job.id: job.data for job in (yield from _every(feed))}


def length(feed: Facts) -> Operation[int]:
    """How many items the feed has."""
    yield from present(feed)
    counts = yield from queues.counts(feed)
    return counts.length + counts.failed


def _waiting(feed: Facts) -> Operation[list[Job]]:
    return (yield from _listed(feed, "waiting"))[::-1]


def _every(feed: Facts) -> Operation[list[Job]]:
    found: dict[str, Job] = {}
    for listing in (_waiting(feed), _listed(feed, "running"), _listed(feed, "failed")):
        found |= {job.id: job for job in (yield from listing)}
    return list(found.values())


def _listed(feed: Facts, state: str) -> Operation[list[Job]]:
    yield from present(feed)
    found: list[Job] = []
    while True:
        page = yield from jobs.queue_jobs(feed, state, offset=len(found), count=PAGE)
        found += page.jobs
        if len(page.jobs) < PAGE:
            return found


def get_item(feed: Facts, id: str) -> Operation[Any]:  # noqa: A002 - the word users know
    """The item of this id, None if there is none."""
    if (yield from _record(feed, id)) is None:
        yield from present(feed)
        return None
    found = yield from jobs.job(feed, id)
    return None if found is None else found.data


def has_id(feed: Facts, id: str) -> Operation[bool]:  # noqa: A002
    """Whether there is an item of this id."""
    found = yield from _record(feed, id)
    if found is None:
        yield from present(feed)
    return found is not None


def retract(feed: Facts, id: str) -> Operation[None]:  # noqa: A002
    """Takes an item away with all that belongs to it, in whatever state; an unknown id is fine."""
    if (yield from _record(feed, id)) is None:
        yield from present(feed)
    else:
        yield from jobs.cancel(feed, id)


def _record(feed: Facts, job_id: str) -> Operation[Record | None]:
    """The job of this feed as it is stored, None if the feed has none of this id, or it is over."""
    found = yield from _kept(feed, job_id)
    return None if found is None or found.state == "complete" else found


def _kept(feed: Facts, job_id: str) -> Operation[Record | None]:
    """The same, also if it is over and its result waits."""
    core = feed.core
    call: Call[list[Any]] = build("get", list, [(text("id", job_id, core.limits.name),)])
    for described in (yield from ask_one(core, core.shard_of(job_id), call)):
        record = decode_record(described[1])
        if record.queue == feed.name:
            return record
    return None


# jobs


def claim(feed: Facts, timeout: Span | None = 0) -> Operation[Claimed]:
    """The oldest job, which is then running; waits for one up to timeout seconds, 0 for ever.

    Raises Empty when none came.
    """
    popped = yield from _next(feed, timeout)
    item = feed.core.codec.decode(popped.payload)
    return Claimed(popped.id, item, popped.record.extras().releases)


def _of(feed: Facts, job_id: str) -> Operation[Record]:
    found = yield from _record(feed, job_id)
    if found is None:
        yield from present(feed)
        raise JobNotFound(job_id)
    return found


@contextmanager
def _refused(error: type[JobError], job_id: str, wanted: str) -> Iterator[None]:
    try:
        yield
    except JobNotFound as why:
        raise error(job_id, "is not in this feed; nothing was changed") from why
    except (WrongState, LeaseLost) as why:
        raise error(job_id, f"is {why.state}, not {wanted}; nothing was changed") from why


def finish(feed: Facts, id: str, result: Any = finishing.NO_RESULT) -> Operation[None]:  # noqa: A002
    """Ends a running job, whoever got it; a result, also an empty one, is kept for get_result.

    Raises JobDoesNotExist if it is not running.
    """
    with _refused(JobDoesNotExist, id, "running"):
        yield from _of(feed, id)
        yield from finishing.finish(feed, id, result)


def get_result(feed: Facts, id: str, timeout: Span | None = 0) -> Operation[tuple[Any, Any]]:  # noqa: A002
    """Takes the result of a job, with its item: (item, result); waits for it, 0 for ever.

    Raises Empty when it did not come in time, or will not: the job is stalled, was finished without
    one, or somebody else has taken it.
    """
    if (yield from _kept(feed, id)) is None:
        # Ids are made by put: one that the feed does not have now, it never will.
        yield from present(feed)
        raise Empty(f"there is no result: job {id!r} is not in this feed, or over without one")
    try:
        found = yield from jobs.result(feed, id, wait=timeout or None, take=True)
    except (JobNotFound, NoResult, WrongState) as why:
        raise Empty(f"there is no result: {why}") from why
    return found.data, found.value


def cancel(feed: Facts, id: str) -> Operation[None]:  # noqa: A002
    """Gives a running job back, to the back; who gets it next is told how often this happened.

    Raises JobNotPending if it is not running.
    """
    with _refused(JobNotPending, id, "running"):
        yield from _of(feed, id)
        yield from finishing.release_by_id(feed, id, position="back")


class Holder(NamedTuple):
    """What shows that it is this delivery of a job that is meant."""

    core: Core
    id: str
    token: str


def stall(feed: Facts, id: str) -> Operation[None]:  # noqa: A002
    """Sets a running job aside until it is retried.

    Raises JobDoesNotExist if it is not running.
    """
    with _refused(JobDoesNotExist, id, "running"):
        found = yield from _of(feed, id)
        if found.state != "running":
            raise WrongState(id, found.state)
        yield from finishing.fail(Holder(feed.core, id, found.token), STALLED)


def retry(feed: Facts, id: str) -> Operation[None]:  # noqa: A002
    """Puts a stalled job at the back, as if it had never been cancelled.

    Raises JobDoesNotExist if it is not stalled.
    """
    with _refused(JobDoesNotExist, id, "stalled"):
        yield from _of(feed, id)
        finishing.sole((yield from jobs.retry(feed, id)))


def get_claimed(feed: Facts) -> Operation[dict[str, datetime]]:
    """Since when the running jobs are held, by their ids."""
    return {job.id: _popped_at(job) for job in (yield from _listed(feed, "running"))}


def _popped_at(job: Job) -> datetime:
    popped = job.history[-1].popped
    return job.put_at if popped is None else popped


def get_running(feed: Facts) -> Operation[list[str]]:
    """The ids of the running jobs."""
    return [job.id for job in (yield from _listed(feed, "running"))]


def get_stalled(feed: Facts) -> Operation[list[str]]:
    """The ids of the stalled jobs, the last one first."""
    return [job.id for job in (yield from _listed(feed, "failed"))]


def get_failure_count(feed: Facts, id: str) -> Operation[int]:  # noqa: A002
    """How often a job was cancelled since it was put or retried."""
    with _refused(JobDoesNotExist, id, "there"):
        return (yield from _of(feed, id)).extras().releases
