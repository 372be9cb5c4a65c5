"""Feeds that deliver each item to one consumer: ThoonkQueue and ThoonkJob."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NamedTuple

from headrace.compat.common import RunningJob, all_jobs, read_record
from headrace.compat.thoonk.errors import Empty, JobDoesNotExist, JobNotPending
from headrace.compat.thoonk.registry import ThoonkFeed, check_exists
from headrace.engine.check import Span
from headrace.engine.record import Record
from headrace.errors import FeedNotFound, JobError, JobNotFound, LeaseLost, NoResult, WrongState
from headrace.operations import finishing, jobs, popping, putting, queues
from headrace.operations.method import AsyncMethods, SyncMethods, method
from headrace.operations.sessions import default_worker_name
from headrace.operations.values import Job
from headrace.options import JobOptions
from headrace.transport.drive import Operation

# The failure type that Headrace stores for stalled jobs.
STALLED = "stalled"
HIGH = -1
# Pages are small because each job may have an item of one megabyte.
PAGE = 200


class ClaimedJob(NamedTuple):
    """A job that `get` returned: its id, its item, and how often the job was cancelled before."""

    id: str
    item: Any
    cancelled: int


@contextmanager
def _refused_as(error: type[JobError], job_id: str, needed_state: str) -> Iterator[None]:
    try:
        yield
    except JobNotFound as cause:
        raise error(job_id, "is not in this feed; nothing was changed") from cause
    except (WrongState, LeaseLost) as cause:
        message = f"is {cause.state}, not {needed_state}; nothing was changed"
        raise error(job_id, message) from cause


class JobFeedBase(ThoonkFeed):
    """The methods of a ThoonkQueue and of a ThoonkJob."""

    HIGH = HIGH

    @method
    def put(self, item: Any, priority: float | None = None) -> Operation[str]:
        """Put an item at the back, or with priority=HIGH at the front; return the new id.

        If several items were put at the front, the newest is delivered first. Raises
        FeedDoesNotExist if the feed is deleted.
        """
        yield from check_exists(self)
        if priority == HIGH:
            job_id = yield from putting.put_with_options(self, item, {}, first=True)
        else:
            # A put without any option takes the short path.
            options: JobOptions = {} if priority is None else {"priority": priority}
            job_id = yield from putting.put(self, item, **options)
        try:
            yield from check_exists(self)
        except FeedNotFound:
            # The feed was deleted during the put. If the job survived the deletion, remove the job.
            if (yield from jobs.cancel(self, job_id)):
                raise
        return job_id

    publish = put

    @method
    def get_ids(self) -> Operation[list[str]]:
        """Return the ids of waiting items (the next item last), running items and stalled items."""
        return [job.id for job in (yield from self._all())]

    @method
    def get_all(self) -> Operation[dict[str, Any]]:
        """Return a dict that maps each id to its item, in the order of get_ids."""
        return {job.id: job.data for job in (yield from self._all())}

    def _all(self) -> Operation[list[Job]]:
        """Return the jobs of all items, in the order of get_ids."""
        raise NotImplementedError

    @method
    def length(self) -> Operation[int]:
        """Return how many items the feed has."""
        yield from check_exists(self)
        counts = yield from queues.counts(self)
        return counts.length + counts.failed

    @method
    def get_item(self, id: str) -> Operation[Any]:  # noqa: A002 - thoonk's name
        """Return the item with this id, or None if there is no such item."""
        found = yield from self._unfinished(id)
        return None if found is None else self.core.codec.decode(found[1])

    @method
    def has_id(self, id: str) -> Operation[bool]:  # noqa: A002
        """Return whether there is an item with this id."""
        return (yield from self._unfinished(id)) is not None

    @method
    def retract(self, id: str) -> Operation[None]:  # noqa: A002
        """Remove a waiting, running or stalled item and its data; ignore an unknown id."""
        if (yield from self._unfinished(id)) is not None:
            yield from jobs.cancel(self, id)

    def _pop(self, timeout: Span | None) -> Operation[popping.Popped]:
        yield from check_exists(self)
        worker = default_worker_name()
        for popped in (yield from popping.pop(self, worker, wait=timeout or None)):
            return popped
        raise Empty(f"no item arrived in feed {self.name!r} within {timeout} seconds")

    def _in_state(self, state: str) -> Operation[list[Job]]:
        yield from check_exists(self)
        return (yield from all_jobs(self, state, PAGE))

    def _unfinished(self, job_id: str) -> Operation[tuple[Record, bytes] | None]:
        """Return the record and payload of an unfinished job, or None if the feed has no such job.

        Raises FeedDoesNotExist if the feed is deleted.
        """
        found = yield from self._record(job_id)
        return None if found is None or found[0].state == "complete" else found

    def _record(self, job_id: str) -> Operation[tuple[Record, bytes] | None]:
        """Return the record and payload of a finished or unfinished job of this feed, or None.

        Raises FeedDoesNotExist if the feed is deleted.
        """
        found = yield from read_record(self.core, job_id)
        if found is not None and found[0].queue == self.name:
            return found
        yield from check_exists(self)
        return None

    def _existing(self, job_id: str) -> Operation[Record]:
        found = yield from self._unfinished(job_id)
        if found is None:
            raise JobNotFound(job_id)
        return found[0]


class ThoonkQueueBase(JobFeedBase):
    """The methods that ThoonkQueue and AsyncThoonkQueue share."""

    type = "queue"

    @method
    def get(self, timeout: Span | None = 0) -> Operation[Any]:
        """Remove and return the oldest item; wait up to `timeout` seconds (0: no limit).

        Raises Empty if no item arrives in time.
        """
        return self.core.codec.decode((yield from self._pop(timeout)).payload)

    def _all(self) -> Operation[list[Job]]:
        return (yield from self._in_state("waiting"))[::-1]


class ThoonkQueue(ThoonkQueueBase, SyncMethods):
    """A queue: `get` returns an item and removes the item from the queue."""


class AsyncThoonkQueue(ThoonkQueueBase, AsyncMethods):
    """The asyncio form of ThoonkQueue."""


class ThoonkJobBase(JobFeedBase):
    """The methods that ThoonkJob and AsyncThoonkJob share."""

    type = "job"

    @method
    def get(self, timeout: Span | None = 0) -> Operation[ClaimedJob]:
        """Return the oldest job and mark it as running; wait up to `timeout` seconds (0: no limit).

        Raises Empty if no job arrives in time.
        """
        popped = yield from self._pop(timeout)
        item = self.core.codec.decode(popped.payload)
        return ClaimedJob(popped.id, item, popped.record.extras().releases)

    @method
    def finish(self, id: str, result: Any = finishing.NO_RESULT) -> Operation[None]:  # noqa: A002
        """Finish a running job, even a job of another client; store a result for get_result.

        An empty result counts as a result. Raises JobDoesNotExist if the job is not running.
        """
        with _refused_as(JobDoesNotExist, id, "running"):
            yield from self._existing(id)
            yield from finishing.finish(self, id, result)

    @method
    def get_result(self, id: str, timeout: Span | None = 0) -> Operation[tuple[Any, Any]]:  # noqa: A002
        """Remove and return a job's item and result; wait up to `timeout` seconds (0: no limit).

        The call also waits while the job is stalled, because the job may be retried. Raises Empty
        if the result does not arrive in time. Also raises Empty if no result can arrive: the job
        was finished without a result, or another client has removed the result or the job.
        """
        if (yield from self._record(id)) is None:
            # `put` generates the ids, so an id that is unknown now will never get a job, and
            # waiting is useless.
            raise Empty(
                f"no result: job {id!r} is not in this feed or was finished without a result"
            )
        try:
            found = yield from jobs.wait_for_result(
                self, id, wait=timeout or None, take=True, through_failures=True
            )
        except (JobNotFound, NoResult) as cause:
            raise Empty(f"no result: {cause}") from cause
        return found.data, found.value

    @method
    def cancel(self, id: str) -> Operation[None]:  # noqa: A002
        """Move a running job to the back of the queue and increase its cancel count.

        The next consumer receives the cancel count. Raises JobNotPending if the job is not running.
        """
        with _refused_as(JobNotPending, id, "running"):
            yield from self._existing(id)
            yield from finishing.release_by_id(self, id, position="back")

    @method
    def stall(self, id: str) -> Operation[None]:  # noqa: A002
        """Stall a running job, so that no consumer gets the job until it is retried.

        Raises JobDoesNotExist if the job is not running.
        """
        with _refused_as(JobDoesNotExist, id, "running"):
            found = yield from self._existing(id)
            if found.state != "running":
                raise WrongState(id, found.state)
            yield from finishing.fail(RunningJob(self.core, id, found.token), STALLED)

    @method
    def retry(self, id: str) -> Operation[None]:  # noqa: A002
        """Put a stalled job at the back of the queue and reset its cancel count.

        Raises JobDoesNotExist if the job is not stalled.
        """
        with _refused_as(JobDoesNotExist, id, "stalled"):
            yield from self._existing(id)
            finishing.sole((yield from jobs.retry(self, id)))

    @method
    def get_claimed(self) -> Operation[dict[str, datetime]]:
        """Return the ids of the running jobs, each with the time when the job was claimed."""
        return {job.id: _popped_at(job) for job in (yield from self._in_state("running"))}

    @method
    def get_running(self) -> Operation[list[str]]:
        """Return the ids of the running jobs."""
        return [job.id for job in (yield from self._in_state("running"))]

    @method
    def get_stalled(self) -> Operation[list[str]]:
        """Return the ids of the stalled jobs, the newest first."""
        return [job.id for job in (yield from self._in_state("failed"))]

    @method
    def get_failure_count(self, id: str) -> Operation[int]:  # noqa: A002
        """Return how often a job was cancelled since it was put or retried."""
        with _refused_as(JobDoesNotExist, id, "there"):
            return (yield from self._existing(id)).extras().releases

    def _all(self) -> Operation[list[Job]]:
        waiting = yield from self._in_state("waiting")
        found = {job.id: job for job in reversed(waiting)}
        for state in ("running", "failed"):
            found |= {job.id: job for job in (yield from self._in_state(state))}
        return list(found.values())


class ThoonkJob(ThoonkJobBase, SyncMethods):
    """A feed of jobs: a consumer gets a job, then finishes, cancels or stalls the job by id."""


class AsyncThoonkJob(ThoonkJobBase, AsyncMethods):
    """The asyncio form of ThoonkJob."""


def _popped_at(job: Job) -> datetime:
    popped = job.history[-1].popped
    return job.put_at if popped is None else popped
