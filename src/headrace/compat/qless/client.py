"""The sync and async Qless clients, and their groups of methods such as `qless.jobs`."""

from __future__ import annotations

import time
from datetime import date
from functools import cached_property
from typing import Any, ClassVar, Generic

from headrace.client.client import AsyncClient, Client
from headrace.codecs.codec import Codec
from headrace.compat import common
from headrace.compat.qless import config, context, operations, values
from headrace.compat.qless.jobs import (
    AsyncQlessJob,
    AsyncRecurringJob,
    QlessJob,
    RecurringJob,
    RecurringJobBase,
)
from headrace.compat.qless.queues import AsyncQlessQueue, QlessQueue
from headrace.engine.check import PAGE, Span, number, text
from headrace.errors import InvalidArgument
from headrace.operations import (
    daily_totals,
    failures,
    noted_workers,
    popping,
    schedules,
    sessions,
    tracking,
)
from headrace.operations import jobs as job_operations
from headrace.operations import tags as tag_operations
from headrace.operations import throttles as throttle_operations
from headrace.operations.method import method
from headrace.operations.paging import all_items
from headrace.operations.queues import QueueRef
from headrace.operations.values import Job
from headrace.options import UNSET
from headrace.transport.drive import Operation

# For each worker: the ids of the jobs with a valid lock, and the ids of the jobs with an expired
# lock.
JobsByWorker = dict[str, tuple[list[str], list[str]]]


class QlessConfigBase:
    """The methods that QlessConfig and AsyncQlessConfig share."""

    get = method(config.get_config)
    set = method(config.set_config)
    __getitem__ = get


class QlessConfig(QlessConfigBase, context.QlessGroup):
    """Read and set qless options, as in `config["heartbeat"] = 30`."""

    def __setitem__(self, option: str, value: config.Number) -> None:
        self.set(option, value)

    def __delitem__(self, option: str) -> None:
        self.set(option)


class AsyncQlessConfig(QlessConfigBase, context.AsyncQlessGroup):
    """Read and set qless options, as in `await config["heartbeat"]`."""


class QlessWorkersBase(context.QlessLike):
    """The methods that QlessWorkers and AsyncQlessWorkers share."""

    @method
    def __getitem__(self, name: str) -> Operation[dict[str, list[str]]]:
        """Return the ids of a worker's jobs.

        `jobs` has the jobs with a valid lock, and `stalled` has the jobs with an expired lock.
        """
        held, late = (yield from _jobs_by_worker(self)).get(name, ([], []))
        return {"jobs": held, "stalled": late}

    @method
    def counts(self) -> Operation[list[values.Document]]:
        """Return the number of jobs of each worker.

        A worker is listed while it has jobs or a session, and for the time `max-worker-age` after
        its last pop or heartbeat. `jobs` counts the jobs with a valid lock, and `stalled` the jobs
        with an expired lock.
        """
        found = yield from _jobs_by_worker(self)
        for worker in (yield from all_items(sessions.workers, self)):
            found.setdefault(worker.name, ([], []))
        for name in (yield from noted_workers.noted_workers(self)):
            found.setdefault(name, ([], []))
        return [
            {"name": name, "jobs": len(held), "stalled": len(late)}
            for name, (held, late) in sorted(found.items())
        ]

    @method
    def deregister(self, *names: str) -> Operation[None]:
        """Remove workers from the list until their next pop or heartbeat; ignore unknown names.

        A worker that has jobs or a session stays listed.
        """
        yield from noted_workers.forget_workers(self, *names)


class QlessWorkers(QlessWorkersBase, context.QlessGroup):
    """Look up the jobs of a worker, as in `workers["host-4925"]`."""


class AsyncQlessWorkers(QlessWorkersBase, context.AsyncQlessGroup):
    """Look up the jobs of a worker, as in `await workers["host-4925"]`."""


def _jobs_by_worker(owner: context.QlessLike) -> Operation[JobsByWorker]:
    found: JobsByWorker = {}
    for queue in (yield from operations.all_counts(owner)):
        if queue["running"] + queue["stalled"]:
            # The server lists running jobs by their deadline, so the late jobs come first.
            running = yield from common.all_jobs(QueueRef(owner.core, queue["name"]), "running")
            for number, job in enumerate(running):
                is_late = number < queue["stalled"]
                found.setdefault(job.worker, ([], []))[int(is_late)].append(job.id)
    return found


class QlessThrottlesBase(context.QlessLike):
    """The methods that QlessThrottles and AsyncQlessThrottles share."""

    delete = method(throttle_operations.delete_throttle)

    @method
    def get(self, name: str) -> Operation[values.Document]:
        """Return a throttle as a dict with the keys id, maximum, ttl, locks and pending.

        A maximum of 0 means no limit. `ttl` is the number of seconds until the limit ends. `locks`
        has the ids of the running jobs. `pending` has the queues with jobs that the throttle
        delays.
        """
        found = yield from throttle_operations.throttle(self, name, count=PAGE)
        return {
            "id": found.name,
            "maximum": found.concurrency or 0,
            "ttl": found.expires_in,
            "locks": found.holders,
            "pending": found.held_up,
        }

    @method
    def set(self, name: str, maximum: int, expiration: Span | None = None) -> Operation[None]:
        """Let at most `maximum` jobs with this throttle run at once.

        If `expiration` is passed, the limit ends after this time.
        """
        limit = None if maximum == 0 else maximum
        yield from throttle_operations.set_throttle(self, name, concurrency=limit, ttl=expiration)


class QlessThrottles(QlessThrottlesBase, context.QlessGroup):
    """Named limits that jobs share."""


class AsyncQlessThrottles(QlessThrottlesBase, context.AsyncQlessGroup):
    """The asyncio form of QlessThrottles."""


class QlessQueues(context.QlessGroup):
    """Look up queues by name, as in `queues["mail"]`."""

    counts = method(operations.all_counts)

    def __getitem__(self, name: str) -> QlessQueue:
        return QlessQueue(self._qless, name)


class AsyncQlessQueues(context.AsyncQlessGroup):
    """The asyncio form of QlessQueues: `queues["mail"]`."""

    counts = method(operations.all_counts)

    def __getitem__(self, name: str) -> AsyncQlessQueue:
        return AsyncQlessQueue(self._qless, name)


class FailedJobs(context.QlessLike):
    """Provides the method `failed` to the clients and to `qless.jobs`."""

    def _present(self, job: Job) -> Any:
        """Convert a job to the type that this class returns."""
        raise NotImplementedError

    @method
    def failed(
        self, type: str | None = None, start: int = 0, limit: int = 25
    ) -> Operation[values.Document]:
        """Return the number of failed jobs by type.

        With a type, return the total and a page of the jobs that failed with this type. The page
        begins with the newest failure.
        """
        if type is None:
            return dict((yield from all_items(failures.failure_counts, self)))
        page = yield from failures.failed_jobs(self, type, offset=start, count=limit)
        return {"total": page.total, "jobs": list(map(self._present, page.jobs))}


class QlessJobsBase(FailedJobs):
    """The methods that QlessJobs and AsyncQlessJobs share."""

    job_class: ClassVar[type[values.QlessJobFields]]
    recurring_class: ClassVar[type[RecurringJobBase]]

    def _present(self, job: Job) -> values.QlessJobFields:
        return self.job_class(self, job)

    @method
    def __getitem__(self, id: str) -> Operation[Any]:
        """Return the job with this id, or None if there is no such job."""
        found = yield from job_operations.job(self, id)
        return None if found is None else self._present(found)

    @method
    def get(self, *ids: str) -> Operation[list[Any]]:
        """Return the jobs with these ids in the same order; skip unknown ids."""
        return list(map(self._present, (yield from job_operations.jobs(self, ids))))

    @method
    def recurring(self, id: str) -> Operation[Any]:
        """Return the recurring job with this id, or None if there is no such job."""
        found = yield from schedules.schedule(self, id)
        return None if found is None else self.recurring_class(self, found)

    @method
    def tracked(self) -> Operation[dict[str, Any]]:
        """Return the tracked jobs.

        `jobs` has the jobs, and `expired` has the ids of tracked jobs that were deleted.
        """
        found = yield from tracking.tracked(self)
        return {"jobs": list(map(self._present, found.jobs)), "expired": found.gone}

    @method
    def tagged(self, tag: str, offset: int = 0, count: int = 25) -> Operation[dict[str, Any]]:
        """Return how many jobs have a tag, and a page of the job ids, first tagged first."""
        page = yield from tag_operations.tagged(self, tag, offset=offset, count=count)
        return {"total": page.total, "jobs": [job.id for job in page.jobs]}


class QlessJobs(QlessJobsBase, context.QlessGroup):
    """Look up jobs by id, failure type or tag, as in `jobs["id"]`."""

    job_class = QlessJob
    recurring_class = RecurringJob


class AsyncQlessJobs(QlessJobsBase, context.AsyncQlessGroup):
    """Look up jobs by id, failure type or tag, as in `await jobs["id"]`."""

    job_class = AsyncQlessJob
    recurring_class = AsyncRecurringJob


class QlessBase(FailedJobs, Generic[common.AnyClient]):
    """The methods that Qless and AsyncQless share.

    Methods in the documentation of qless take their arguments in the documented order. Data and
    tags are JSON text, and jobs are dicts with the documented fields. `now` and `expiration` are
    times on the caller's clock. Only the difference of these times is sent, so the caller's clock
    may be wrong.
    """

    codec: ClassVar[str | Codec] = "json"

    cancel = method(job_operations.cancel)
    depends = method(operations.depends)
    get_config = method(config.get_config)
    pause = method(operations.pause)
    priority = method(operations.change_priority)
    requeue = method(operations.requeue)
    set_config = method(config.set_config)
    tag = method(operations.tag)
    timeout = method(operations.timeout)
    track = method(operations.track)
    unfail = method(operations.unfail)
    unpause = method(operations.unpause)
    unrecur = method(schedules.unschedule)
    untag = method(operations.untag)
    untrack = method(tracking.untrack)

    def __init__(
        self,
        client: common.AnyClient | str,
        worker: str | None = None,
        *,
        namespace: str = "default",
        higher_first: bool = False,
        raises: bool = False,
    ) -> None:
        self.context = context.QlessContext(worker, higher_first=higher_first, raises=raises)
        # The next class in the method resolution order is CompatClient or AsyncCompatClient.
        super().__init__(client, namespace)  # type: ignore[call-arg]

    def _present(self, job: Job) -> values.Document:
        return values.QlessJobFields(self, job).structure()

    @property
    def worker_name(self) -> str:
        """The worker name that `pop` uses by default."""
        return self.context.worker_name

    @method
    def put(
        self,
        queue: str,
        id: str,
        data: str,
        now: float,
        priority: float | None = None,
        tags: str | None = None,
        delay: Span | None = None,
    ) -> Operation[str]:
        """Put a job into a queue, or move the job with this id to the queue; return the id."""
        number("now", now)
        text("id", id, self.core.limits.name)
        given = None if tags is None else common.decode_json("tags", tags)
        if not isinstance(given, list | None):
            raise InvalidArgument(f"tags must be a JSON array, not {tags!r}")
        options = {"priority": priority, "tags": given, "delay": delay}
        value = common.decode_json("data", data)
        target = QueueRef(self.core, queue)
        return (yield from operations.put_into(self, target, value, id, options))

    @method
    def get(self, id: str) -> Operation[values.Document | None]:
        """Return a job as a dict, or None if there is no such job."""
        found = yield from job_operations.job(self, id)
        return None if found is None else self._present(found)

    @method
    def pop(
        self, queue: str, worker: str, count: int, now: float, expiration: float
    ) -> Operation[list[values.Document]]:
        """Lock up to `count` jobs for a worker, for the time from `now` to `expiration`."""
        target = QueueRef(self.core, queue)
        lease = values.lock_duration(now, expiration)
        found = yield from operations.pop_from(
            self, target, values.QlessJobFields, worker, count, lease
        )
        return [job.structure() for job in found]

    @method
    def peek(self, queue: str, count: int, now: float) -> Operation[list[values.Document]]:
        """Return the jobs that pop would return next, without locking the jobs."""
        number("now", now)
        target = QueueRef(self.core, queue)
        return list(map(self._present, (yield from popping.peek(target, count))))

    @method
    def heartbeat(
        self, id: str, worker: str, expiration: float, data: str | None = None
    ) -> Operation[Any]:
        """Renew a worker's lock on a job, and replace the data of the job if `data` is passed.

        Return the new expiry time of the lock, or False if the worker does not hold the job.
        """
        given = UNSET if data is None else common.decode_json("data", data)
        lease_for = values.lock_duration(time.time(), expiration)
        lease = operations.lease_by_id(self, id, worker)
        return (yield from operations.renew(self, lease, lease_for, given))

    @method
    def complete(
        self,
        id: str,
        data: str | None = None,
        queue: str | None = None,
        delay: Span | None = None,
    ) -> Operation[Any]:
        """Complete a job; with `queue`, move the job to that queue in the same step.

        Return the new state, or False if the server refuses the call.
        """
        given = UNSET if data is None else common.decode_json("data", data)
        lease = operations.lease_by_id(self, id)
        return (yield from operations.complete_lease(self, lease, given, queue, delay or 0))

    @method
    def fail(self, id: str, type: str, message: str, now: float) -> Operation[Any]:
        """Fail a job with a type. Return the job id, or False if the server refuses the call."""
        number("now", now)
        lease = operations.lease_by_id(self, id)
        return (yield from operations.fail_lease(self, lease, type, message, UNSET))

    @method
    def retry(
        self,
        id: str,
        queue: str,
        worker: str,
        delay: Span = 0,
        group: str | None = None,
        message: str = "",
    ) -> Operation[Any]:
        """Put a job back into its queue to retry the job after a delay; return the retries left.

        Return -1 if no retry was left; the job then fails with the failure type `group`. Return
        False if the worker does not hold the job.
        """
        lease = operations.lease_by_id(self, id, worker)
        if QueueRef(self.core, queue).name != lease.queue:
            lease = context.NotLeased(self.core, id)
        return (yield from operations.retry_lease(self, lease, delay, group, message))

    @method
    def stats(
        self, queue: str, date: str | date | float | None = None
    ) -> Operation[values.Document]:
        """Return the wait and run times of a queue on a day (default: today)."""
        target = QueueRef(self.core, queue)
        return values.statistics((yield from daily_totals.stats(target, values.day_of(date))))

    @method
    def tags(self, offset: int = 0, count: int = 25) -> Operation[list[str]]:
        """Return the tags that at least two jobs have, the most used first."""
        return list((yield from tag_operations.top_tags(self, offset=offset, count=count)))


class Qless(QlessBase[Client], common.CompatClient):
    """A namespace with the API of qless.

    `client` is a Client or a URL. With a URL, Qless opens its own client. The default worker
    name is <hostname>-<pid>. With `higher_first`, jobs with a higher priority run first, as in
    later versions of qless. With `raises`, a refused call raises QlessException instead of
    returning False.
    """

    config = cached_property(QlessConfig)
    jobs = cached_property(QlessJobs)
    queues = cached_property(QlessQueues)
    throttles = cached_property(QlessThrottles)
    workers = cached_property(QlessWorkers)


class AsyncQless(QlessBase[AsyncClient], common.AsyncCompatClient):
    """The asyncio form of Qless. If `client` is a URL, the first awaited call connects."""

    config = cached_property(AsyncQlessConfig)
    jobs = cached_property(AsyncQlessJobs)
    queues = cached_property(AsyncQlessQueues)
    throttles = cached_property(AsyncQlessThrottles)
    workers = cached_property(AsyncQlessWorkers)
