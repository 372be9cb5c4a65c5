"""The Qless client, sync and async, and its groups such as `qless.jobs`."""

from __future__ import annotations

import time
from datetime import date
from functools import cached_property
from typing import Any, ClassVar, Generic

from headrace.client.client import AsyncClient, Client
from headrace.codecs.codec import Codec
from headrace.compat.opening import AnyClient, AsyncCompatClient, CompatClient, all_jobs, all_pages
from headrace.compat.qless import config, operations
from headrace.compat.qless.context import (
    AsyncQlessGroup,
    NotLeased,
    QlessContext,
    QlessGroup,
    QlessLike,
)
from headrace.compat.qless.jobs import (
    AsyncQlessJob,
    AsyncRecurringJob,
    QlessJob,
    RecurringJob,
    RecurringJobBase,
)
from headrace.compat.qless.queues import AsyncQlessQueue, QlessQueue
from headrace.compat.qless.values import (
    Document,
    QlessJobFields,
    day_of,
    decode_json,
    lock_duration,
    statistics,
)
from headrace.engine.check import PAGE, Span, number, text
from headrace.errors import InvalidArgument
from headrace.operations import jobs as job_operations
from headrace.operations import queues as queue_operations
from headrace.operations import schedules, sessions, tracking
from headrace.operations import tags as tag_operations
from headrace.operations import throttles as throttle_operations
from headrace.operations.method import method
from headrace.operations.queues import QueueRef
from headrace.options import UNSET
from headrace.transport.drive import Operation

# By worker: the ids of the jobs whose lock is valid, and of those whose lock has expired.
JobsByWorker = dict[str, tuple[list[str], list[str]]]


class QlessConfigBase:
    """The methods that QlessConfig and AsyncQlessConfig share."""

    get = method(config.get_config)
    set = method(config.set_config)
    __getitem__ = get


class QlessConfig(QlessConfigBase, QlessGroup):
    """The options of qless: `config["heartbeat"] = 30`."""

    def __setitem__(self, option: str, value: config.Number) -> None:
        self.set(option, value)

    def __delitem__(self, option: str) -> None:
        self.set(option)


class AsyncQlessConfig(QlessConfigBase, AsyncQlessGroup):
    """The options of qless: `await config["heartbeat"]`."""


class QlessWorkersBase(QlessLike):
    """The methods that QlessWorkers and AsyncQlessWorkers share."""

    @method
    def __getitem__(self, name: str) -> Operation[dict[str, list[str]]]:
        """Return the ids of the jobs that a worker holds, and of its stalled jobs."""
        held, late = (yield from _jobs_by_worker(self)).get(name, ([], []))
        return {"jobs": held, "stalled": late}

    @method
    def counts(self) -> Operation[list[Document]]:
        """Return every worker that holds jobs or has a session, with its held and stalled jobs."""
        found = yield from _jobs_by_worker(self)
        for workers in (yield from all_pages(sessions.workers, self)):
            for worker in workers:
                found.setdefault(worker.name, ([], []))
        return [
            {"name": name, "jobs": len(held), "stalled": len(late)}
            for name, (held, late) in sorted(found.items())
        ]


class QlessWorkers(QlessWorkersBase, QlessGroup):
    """The workers: `workers["host-4925"]`."""


class AsyncQlessWorkers(QlessWorkersBase, AsyncQlessGroup):
    """The workers: `await workers["host-4925"]`."""


def _jobs_by_worker(owner: QlessLike) -> Operation[JobsByWorker]:
    found: JobsByWorker = {}
    for queue in (yield from operations.all_counts(owner)):
        if queue["running"] + queue["stalled"]:
            # The server lists running jobs by their deadline, so the late ones come first.
            running = yield from all_jobs(QueueRef(owner.core, queue["name"]), "running")
            for number, job in enumerate(running):
                is_late = number < queue["stalled"]
                found.setdefault(job.worker, ([], []))[int(is_late)].append(job.id)
    return found


class QlessThrottlesBase(QlessLike):
    """The methods that QlessThrottles and AsyncQlessThrottles share."""

    delete = method(throttle_operations.delete_throttle)

    @method
    def get(self, name: str) -> Operation[Document]:
        """Return a throttle: maximum, seconds left, ids of running jobs, queues that it holds up.

        A maximum of 0 means no limit.
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
        """Let at most `maximum` jobs with this throttle run at once, for `expiration` if given."""
        limit = None if maximum == 0 else maximum
        yield from throttle_operations.set_throttle(self, name, concurrency=limit, ttl=expiration)


class QlessThrottles(QlessThrottlesBase, QlessGroup):
    """Named limits that jobs share."""


class AsyncQlessThrottles(QlessThrottlesBase, AsyncQlessGroup):
    """The asyncio form of QlessThrottles."""


class QlessQueues(QlessGroup):
    """The queues: `queues["mail"]`."""

    counts = method(operations.all_counts)

    def __getitem__(self, name: str) -> QlessQueue:
        return QlessQueue(self._qless, name)


class AsyncQlessQueues(AsyncQlessGroup):
    """The asyncio form of QlessQueues: `queues["mail"]`."""

    counts = method(operations.all_counts)

    def __getitem__(self, name: str) -> AsyncQlessQueue:
        return AsyncQlessQueue(self._qless, name)


class QlessJobsBase(QlessLike):
    """The methods that QlessJobs and AsyncQlessJobs share."""

    job_class: ClassVar[type[QlessJobFields]]
    recurring_class: ClassVar[type[RecurringJobBase]]

    @method
    def __getitem__(self, id: str) -> Operation[Any]:
        """Return the job, or None if there is none."""
        found = yield from job_operations.job(self, id)
        return None if found is None else self.job_class(self.context, self.core, found, None)

    @method
    def get(self, *ids: str) -> Operation[list[Any]]:
        """Return the jobs with these ids, in this order, without the unknown ones."""
        found = yield from job_operations.jobs(self, ids)
        return [self.job_class(self.context, self.core, each, None) for each in found]

    @method
    def recurring(self, id: str) -> Operation[Any]:
        """Return the recurring job, or None if there is none."""
        found = yield from schedules.schedule(self, id)
        return None if found is None else self.recurring_class(self.context, self.core, found)

    @method
    def failed(
        self, type: str | None = None, start: int = 0, limit: int = 25
    ) -> Operation[dict[str, Any]]:
        """Return the number of failed jobs by type; or the total and a page of jobs of one type.

        The page begins with the newest failure.
        """
        return (yield from _failed(self, self.job_class, type, start, limit))

    @method
    def tracked(self) -> Operation[dict[str, Any]]:
        """Return the tracked jobs and, as `expired`, the ids of tracked jobs that are gone."""
        found = yield from tracking.tracked(self)
        jobs = [self.job_class(self.context, self.core, each, None) for each in found.jobs]
        return {"jobs": jobs, "expired": found.gone}

    @method
    def tagged(self, tag: str, offset: int = 0, count: int = 25) -> Operation[dict[str, Any]]:
        """Return how many jobs have a tag and a page of their ids, in the order of tagging."""
        page = yield from tag_operations.tagged(self, tag, offset=offset, count=count)
        return {"total": page.total, "jobs": [job.id for job in page.jobs]}


class QlessJobs(QlessJobsBase, QlessGroup):
    """Jobs by id, by failure type and by tag: `jobs["id"]`."""

    job_class = QlessJob
    recurring_class = RecurringJob


class AsyncQlessJobs(QlessJobsBase, AsyncQlessGroup):
    """Jobs by id, by failure type and by tag: `await jobs["id"]`."""

    job_class = AsyncQlessJob
    recurring_class = AsyncRecurringJob


def _failed(
    owner: QlessLike, kind: type[QlessJobFields], failure: str | None, start: int, limit: int
) -> Operation[dict[str, Any]]:
    if failure is None:
        return (yield from _counts_by_type(owner))
    page = yield from job_operations.failed(owner, failure, offset=start, count=limit)
    found = [kind(owner.context, owner.core, job, None) for job in page.jobs]
    return {"total": page.total, "jobs": found}


def _counts_by_type(owner: QlessLike) -> Operation[dict[str, Any]]:
    pages = yield from all_pages(job_operations.failures, owner)
    return {failure: count for page in pages for failure, count in page.items()}


class QlessBase(QlessLike, Generic[AnyClient]):
    """The methods that Qless and AsyncQless share.

    The calls of the qless document have its arguments in its order. Data and tags are JSON text,
    and jobs are the structures of the document. `now` and `expiration` are times of the caller's
    clock: only the difference is sent, so that clock may be wrong.
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
    untrack = method(operations.untrack)

    def __init__(
        self,
        client: AnyClient | str,
        worker: str | None = None,
        *,
        namespace: str = "default",
        higher_first: bool = False,
        raises: bool = False,
    ) -> None:
        self.context = QlessContext(worker, higher_first=higher_first, raises=raises)
        # The next class is CompatClient or AsyncCompatClient.
        super().__init__(client, namespace)  # type: ignore[call-arg]

    @property
    def worker_name(self) -> str:
        """The worker that pops when a call names no other."""
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
        """Put a job into a queue, or move the job with this id there; return the id."""
        number("now", now)
        text("id", id, self.core.limits.name)
        target = QueueRef(self.core, queue)
        given = None if tags is None else decode_json("tags", tags)
        if not isinstance(given, list | None):
            raise InvalidArgument(f"tags must be a JSON array, not {tags!r}")
        options = {"priority": priority, "tags": given, "delay": delay}
        value = decode_json("data", data)
        return (yield from operations.put_into(self.context, target, value, id, options))

    @method
    def get(self, id: str) -> Operation[Document | None]:
        """Return the structure of a job, or None if there is none."""
        found = yield from job_operations.job(self, id)
        if found is None:
            return None
        return QlessJobFields(self.context, self.core, found, None).structure()

    @method
    def pop(
        self, queue: str, worker: str, count: int, now: float, expiration: float
    ) -> Operation[list[Document]]:
        """Lock up to count jobs for a worker, for the time from now to expiration."""
        target = QueueRef(self.core, queue)
        lease = lock_duration(now, expiration)
        found = yield from operations.pop_from(
            self.context, target, QlessJobFields, worker, count, lease
        )
        return [job.structure() for job in found]

    @method
    def peek(self, queue: str, count: int, now: float) -> Operation[list[Document]]:
        """Return the jobs that pop would return next, without a lock."""
        number("now", now)
        target = QueueRef(self.core, queue)
        found = yield from operations.peek_at(self.context, target, QlessJobFields, count)
        return [job.structure() for job in found]

    @method
    def heartbeat(
        self, id: str, worker: str, expiration: float, data: str | None = None
    ) -> Operation[Any]:
        """Renew the lock of a worker, and replace the data if some is given.

        Return when the lock now expires, or False if the worker does not hold the job.
        """
        given = UNSET if data is None else decode_json("data", data)
        lease_for = lock_duration(time.time(), expiration)
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
        """Complete a job, or move it to another queue. Return the new state, or False."""
        given = UNSET if data is None else decode_json("data", data)
        lease = operations.lease_by_id(self, id)
        return (yield from operations.complete_lease(self, lease, given, queue, delay or 0))

    @method
    def fail(self, id: str, type: str, message: str, now: float) -> Operation[Any]:
        """Fail a job with a type. Return its id, or False."""
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
        """Return a job to its queue, to be retried after a delay; return how many retries are left.

        Return -1 if none was left: then the job is failed under the group. Return False if the
        worker does not hold the job.
        """
        lease = operations.lease_by_id(self, id, worker)
        if QueueRef(self.core, queue).name != lease.queue:
            lease = NotLeased(self.core, id)
        return (yield from operations.retry_lease(self, lease, delay, group, message))

    @method
    def stats(self, queue: str, date: str | date | float | None = None) -> Operation[Document]:
        """Return the wait and run times of a queue on a day (default: today)."""
        target = QueueRef(self.core, queue)
        return statistics((yield from queue_operations.stats(target, day_of(date))))

    @method
    def failed(
        self, type: str | None = None, start: int = 0, limit: int = 25
    ) -> Operation[Document]:
        """Return the number of failed jobs by type; or the total and a page of jobs of one type."""
        found = yield from _failed(self, QlessJobFields, type, start, limit)
        if type is not None:
            found["jobs"] = [each.structure() for each in found["jobs"]]
        return found

    @method
    def tags(self, offset: int = 0, count: int = 25) -> Operation[list[str]]:
        """Return the tags that at least two jobs have, the most used first."""
        return list((yield from tag_operations.top_tags(self, offset=offset, count=count)))


class Qless(QlessBase[Client], CompatClient):
    """A namespace with the API of qless.

    `client` is a Client, or a URL: then Qless opens a client of its own. The default worker name
    is <hostname>-<pid>. With `higher_first`, a higher priority runs first, as in later versions
    of qless. With `raises`, a refused call raises instead of returning False.
    """

    config = cached_property(QlessConfig)
    jobs = cached_property(QlessJobs)
    queues = cached_property(QlessQueues)
    throttles = cached_property(QlessThrottles)
    workers = cached_property(QlessWorkers)


class AsyncQless(QlessBase[AsyncClient], AsyncCompatClient):
    """The asyncio form of Qless. With a URL, the first awaited call connects."""

    config = cached_property(AsyncQlessConfig)
    jobs = cached_property(AsyncQlessJobs)
    queues = cached_property(AsyncQlessQueues)
    throttles = cached_property(AsyncQlessThrottles)
    workers = cached_property(AsyncQlessWorkers)
