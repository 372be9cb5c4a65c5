"""Operations on the items of a queue, and on jobs, which are finished by id."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NamedTuple

from headrace.compat.thoonk.errors import Empty, FeedDoesNotExist, JobDoesNotExist, JobNotPending
from headrace.compat.thoonk.registry import ThoonkFeed, check_exists
from headrace.engine.call import Call, build
from headrace.engine.check import Span, text
from headrace.engine.record import Record, decode_record
from headrace.errors import JobError, JobNotFound, LeaseLost, NoResult, WrongState
from headrace.operations import finishing, jobs, popping, putting, queues
from headrace.operations.core import Core
from headrace.operations.requests import ask_one
from headrace.operations.values import Job
from headrace.options import JobOptions
from headrace.transport.drive import Operation

# The failure type that Headrace stores for stalled jobs.
STALLED = "stalled"
HIGH = -1
# Each job may have an item of one megabyte.
PAGE = 200


class ClaimedJob(NamedTuple):
    """A job that `get` returned: its id, its item, and how often it was cancelled before."""

    id: str
    item: Any
    cancelled: int


# Queues.


def put(feed: ThoonkFeed, item: Any, priority: float | None = None) -> Operation[str]:
    """Put an item at the back and return its new id; with priority=HIGH, before the others.

    Raises FeedDoesNotExist if the feed is deleted.
    """
    yield from check_exists(feed)
    # A put without any option takes the fast path.
    options: JobOptions = {} if priority is None else {"priority": priority}
    job_id = yield from putting.put(feed, item, **options)
    try:
        yield from check_exists(feed)
    except FeedDoesNotExist:
        # The feed was deleted during the put. If the job survived the deletion, remove it.
        if (yield from jobs.cancel(feed, job_id)):
            raise
    return job_id


def get(feed: ThoonkFeed, timeout: Span | None = 0) -> Operation[Any]:
    """Remove and return the oldest item; wait up to `timeout` seconds, 0 without a limit.

    Raises Empty if no item arrives in time.
    """
    return feed.core.codec.decode((yield from _pop(feed, timeout)).payload)


def _pop(feed: ThoonkFeed, timeout: Span | None) -> Operation[popping.Popped]:
    yield from check_exists(feed)
    worker = f"{socket.gethostname()}-{os.getpid()}"
    for popped in (yield from popping.pop(feed, worker, wait=timeout or None)):
        return popped
    raise Empty(f"no item arrived in feed {feed.name!r} within {timeout} seconds")


def waiting_ids(feed: ThoonkFeed) -> Operation[list[str]]:
    """Return the ids of the waiting items, the next one last."""
    return [job.id for job in (yield from _waiting(feed))]


def waiting_items(feed: ThoonkFeed) -> Operation[dict[str, Any]]:
    """Return the waiting items by id, the next one last."""
    return {job.id: job.data for job in (yield from _waiting(feed))}


def all_ids(feed: ThoonkFeed) -> Operation[list[str]]:
    """Return the ids of all jobs: the waiting ones, the next one last; then running; stalled."""
    return [job.id for job in (yield from _all(feed))]


def all_items(feed: ThoonkFeed) -> Operation[dict[str, Any]]:
    """Return the items of all jobs by id, in the order of get_ids."""
    return {job.id: job.data for job in (yield from _all(feed))}


def length(feed: ThoonkFeed) -> Operation[int]:
    """Return how many items the feed has."""
    yield from check_exists(feed)
    counts = yield from queues.counts(feed)
    return counts.length + counts.failed


def _waiting(feed: ThoonkFeed) -> Operation[list[Job]]:
    return (yield from _in_state(feed, "waiting"))[::-1]


def _all(feed: ThoonkFeed) -> Operation[list[Job]]:
    found: dict[str, Job] = {}
    for listing in (_waiting(feed), _in_state(feed, "running"), _in_state(feed, "failed")):
        found |= {job.id: job for job in (yield from listing)}
    return list(found.values())


def _in_state(feed: ThoonkFeed, state: str) -> Operation[list[Job]]:
    yield from check_exists(feed)
    found: list[Job] = []
    while True:
        page = yield from jobs.queue_jobs(feed, state, offset=len(found), count=PAGE)
        found += page.jobs
        if len(page.jobs) < PAGE:
            return found


def get_item(feed: ThoonkFeed, id: str) -> Operation[Any]:  # noqa: A002 - thoonk's name
    """Return the item with this id, or None if there is none."""
    if (yield from _unfinished(feed, id)) is None:
        yield from check_exists(feed)
        return None
    found = yield from jobs.job(feed, id)
    return None if found is None else found.data


def has_id(feed: ThoonkFeed, id: str) -> Operation[bool]:  # noqa: A002
    """Return whether there is an item with this id."""
    found = yield from _unfinished(feed, id)
    if found is None:
        yield from check_exists(feed)
    return found is not None


def retract(feed: ThoonkFeed, id: str) -> Operation[None]:  # noqa: A002
    """Remove an item in any state with everything that belongs to it; ignore an unknown id."""
    if (yield from _unfinished(feed, id)) is None:
        yield from check_exists(feed)
    else:
        yield from jobs.cancel(feed, id)


def _unfinished(feed: ThoonkFeed, job_id: str) -> Operation[Record | None]:
    """Return the record of a job of this feed, or None if there is none or it is finished."""
    found = yield from _record(feed, job_id)
    return None if found is None or found.state == "complete" else found


def _record(feed: ThoonkFeed, job_id: str) -> Operation[Record | None]:
    """Return the record of a job of this feed, or None; a finished job has one with its result."""
    core = feed.core
    call: Call[list[Any]] = build("get", list, [(text("id", job_id, core.limits.name),)])
    for described in (yield from ask_one(core, core.shard_of(job_id), call)):
        record = decode_record(described[1])
        if record.queue == feed.name:
            return record
    return None


# Jobs.


def claim(feed: ThoonkFeed, timeout: Span | None = 0) -> Operation[ClaimedJob]:
    """Return the oldest job, which is then running; wait up to `timeout` seconds, 0 for no limit.

    Raises Empty if no job arrives in time.
    """
    popped = yield from _pop(feed, timeout)
    item = feed.core.codec.decode(popped.payload)
    return ClaimedJob(popped.id, item, popped.record.extras().releases)


def _existing(feed: ThoonkFeed, job_id: str) -> Operation[Record]:
    found = yield from _unfinished(feed, job_id)
    if found is None:
        yield from check_exists(feed)
        raise JobNotFound(job_id)
    return found


@contextmanager
def _refused_as(error: type[JobError], job_id: str, needed_state: str) -> Iterator[None]:
    try:
        yield
    except JobNotFound as cause:
        raise error(job_id, "is not in this feed; nothing was changed") from cause
    except (WrongState, LeaseLost) as cause:
        message = f"is {cause.state}, not {needed_state}; nothing was changed"
        raise error(job_id, message) from cause


def finish(feed: ThoonkFeed, id: str, result: Any = finishing.NO_RESULT) -> Operation[None]:  # noqa: A002
    """Finish a running job, even if another client got it; keep a result for get_result.

    An empty result is a result too. Raises JobDoesNotExist if the job is not running.
    """
    with _refused_as(JobDoesNotExist, id, "running"):
        yield from _existing(feed, id)
        yield from finishing.finish(feed, id, result)


def get_result(feed: ThoonkFeed, id: str, timeout: Span | None = 0) -> Operation[tuple[Any, Any]]:  # noqa: A002
    """Remove and return the item and the result of a job; wait up to `timeout`, 0 for no limit.

    Raises Empty if the result does not arrive in time or cannot arrive: the job is stalled, it was
    finished without a result, or another client has taken the result.
    """
    if (yield from _record(feed, id)) is None:
        # `put` makes the ids, so an id that is unknown now stays unknown.
        yield from check_exists(feed)
        raise Empty(f"no result: job {id!r} is not in this feed or was finished without a result")
    try:
        found = yield from jobs.result(feed, id, wait=timeout or None, take=True)
    except (JobNotFound, NoResult, WrongState) as cause:
        raise Empty(f"no result: {cause}") from cause
    return found.data, found.value


def cancel(feed: ThoonkFeed, id: str) -> Operation[None]:  # noqa: A002
    """Return a running job to the back of the queue and count it as cancelled.

    The next consumer receives the count. Raises JobNotPending if the job is not running.
    """
    with _refused_as(JobNotPending, id, "running"):
        yield from _existing(feed, id)
        yield from finishing.release_by_id(feed, id, position="back")


class RunningJob(NamedTuple):
    """One delivery of a job."""

    core: Core
    id: str
    token: str


def stall(feed: ThoonkFeed, id: str) -> Operation[None]:  # noqa: A002
    """Set a running job aside until it is retried.

    Raises JobDoesNotExist if the job is not running.
    """
    with _refused_as(JobDoesNotExist, id, "running"):
        found = yield from _existing(feed, id)
        if found.state != "running":
            raise WrongState(id, found.state)
        yield from finishing.fail(RunningJob(feed.core, id, found.token), STALLED)


def retry(feed: ThoonkFeed, id: str) -> Operation[None]:  # noqa: A002
    """Put a stalled job at the back and reset its cancel count.

    Raises JobDoesNotExist if the job is not stalled.
    """
    with _refused_as(JobDoesNotExist, id, "stalled"):
        yield from _existing(feed, id)
        finishing.sole((yield from jobs.retry(feed, id)))


def get_claimed(feed: ThoonkFeed) -> Operation[dict[str, datetime]]:
    """Return the running jobs by id, each with the time since when it is held."""
    return {job.id: _popped_at(job) for job in (yield from _in_state(feed, "running"))}


def _popped_at(job: Job) -> datetime:
    popped = job.history[-1].popped
    return job.put_at if popped is None else popped


def get_running(feed: ThoonkFeed) -> Operation[list[str]]:
    """Return the ids of the running jobs."""
    return [job.id for job in (yield from _in_state(feed, "running"))]


def get_stalled(feed: ThoonkFeed) -> Operation[list[str]]:
    """Return the ids of the stalled jobs, the newest first."""
    return [job.id for job in (yield from _in_state(feed, "failed"))]


def get_failure_count(feed: ThoonkFeed, id: str) -> Operation[int]:  # noqa: A002
    """Return how often a job was cancelled since it was put or retried."""
    with _refused_as(JobDoesNotExist, id, "there"):
        return (yield from _existing(feed, id)).extras().releases
