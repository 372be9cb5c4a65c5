"""Queues of qless: put, pop and peek, counts, jobs by state and statistics."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Any, ClassVar

from headrace.compat.qless import operations
from headrace.compat.qless.context import AsyncQlessGroup, QlessGroup, QlessLike
from headrace.compat.qless.jobs import UNLIMITED_BACKLOG, AsyncQlessJob, QlessJob, to_backlog
from headrace.compat.qless.values import Document, QlessJobFields, day_of, statistics
from headrace.engine.check import Span, choice, page
from headrace.operations import daily_totals, popping, schedules
from headrace.operations import jobs as job_operations
from headrace.operations import queues as queue_operations
from headrace.operations.ids import new_ids
from headrace.operations.method import method
from headrace.options import UNSET, Unset
from headrace.transport.drive import Operation

LISTED = ("waiting", "running", "stalled", "scheduled", "depends", "failed", "complete")
# The qless states that have another name in Headrace.
HEADRACE_STATES = {"stalled": "running", "depends": "blocked"}


class QlessQueueBase(QlessLike):
    """The methods that QlessQueue and AsyncQlessQueue share."""

    job_class: ClassVar[type[QlessJobFields]]

    delete = method(queue_operations.delete)
    length = method(queue_operations.length)
    pause = method(queue_operations.pause)
    unpause = method(queue_operations.resume)

    def __init__(self, qless: QlessLike, name: str) -> None:
        super().__init__(qless)  # type: ignore[call-arg]  # of QlessGroup or AsyncQlessGroup
        self._name = name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._name!r}>"

    @property
    def name(self) -> str:
        """The name of the queue. Raises InvalidArgument if the name is not valid."""
        return queue_operations.check_name(self.core, self._name)

    @method
    def put(
        self,
        data: Any,
        priority: float | None = None,
        tags: Iterable[str] | None = None,
        delay: Span | None = None,
        *,
        id: str | None = None,
        retries: int | Unset | None = UNSET,
        depends: Iterable[str] | None = None,
        throttles: Iterable[str] | None = None,
    ) -> Operation[str]:
        """Put a job into this queue, or move the job with this id to this queue; return the id.

        A moved job keeps its priority and tags unless a new priority or new tags are passed. With
        `depends`, the job waits until all jobs in `depends` are complete.
        """
        options = {
            "priority": priority,
            "tags": tags,
            "delay": delay,
            "retries": retries,
            "depends_on": depends,
            "throttles": throttles,
        }
        return (yield from operations.put_into(self, self, data, id, options))

    @method
    def pop(self, count: int | None = None, *, worker: str | None = None) -> Operation[Any]:
        """Lock the next job for a worker and return the job, or None if no job is waiting.

        The default of `worker` is the worker name of the client. With a count, return a list of up
        to count jobs.
        """
        name = self.context.worker_name if worker is None else worker
        number = 1 if count is None else count
        found = yield from operations.pop_from(self, self, self.job_class, name, number)
        return found if count is not None else next(iter(found), None)

    @method
    def peek(self, count: int | None = None) -> Operation[Any]:
        """Return the job that pop would return next, or None if no job is waiting.

        With a count, return a list of up to count jobs.
        """
        number = 1 if count is None else count
        found = [self.job_class(self, job) for job in (yield from popping.peek(self, number))]
        return found if count is not None else next(iter(found), None)

    @method
    def recur(
        self,
        data: Any,
        interval: Span,
        offset: Span = 0,
        priority: float | None = None,
        tags: Iterable[str] | None = None,
        retries: int | Unset | None = UNSET,
        *,
        id: str | None = None,
        backlog: int = UNLIMITED_BACKLOG,
    ) -> Operation[str]:
        """Put a job with the id <id>-<n> into the queue every `interval` seconds; return <id>.

        If no client makes a call for several intervals, the jobs of all these intervals are put
        later. With a backlog, the jobs of at most backlog + 1 missed intervals are put.
        """
        [new_id] = new_ids(1)
        options: dict[str, Any] = {} if isinstance(retries, Unset) else {"retries": retries}
        schedule = yield from schedules.schedule_queue(
            self,
            new_id if id is None else id,
            data,
            every=interval,
            delay=offset or None,
            backlog=to_backlog(backlog),
            priority=self.context.flip_priority(priority),
            tags=tags,
            **options,
        )
        return schedule.id

    @method
    def counts(self) -> Operation[Document]:
        """Return how many jobs are in each state, and whether the queue is paused."""
        found = yield from queue_operations.counts(self)
        return (yield from operations.counts_document(self, found))

    @method
    def jobs(self, state: str, offset: int = 0, count: int = 25) -> Operation[list[str]]:
        """Return a page of the ids of jobs in one state.

        The states are waiting, running, stalled, scheduled, depends, recurring, failed and
        complete.
        """
        choice("state", state, (*LISTED, "recurring"))
        offset, count = page(offset, count)
        if state == "recurring":
            found = yield from schedules.schedules(self, self.name, offset=offset, count=count)
            return [schedule.id for schedule in found]
        if state in ("running", "stalled"):
            # The server lists running jobs by their deadline, so the late jobs come first.
            late = (yield from queue_operations.counts(self)).late
            if state == "running":
                offset += late
            elif offset >= late:
                return []
            else:
                count = min(count, late - offset)
        here = HEADRACE_STATES.get(state, state)
        listed = yield from job_operations.queue_jobs(self, here, offset=offset, count=count)
        return [job.id for job in listed.jobs]

    @method
    def stats(self, date: str | date | float | None = None) -> Operation[Document]:
        """Return the wait and run times, failures and retries on a day (default: today)."""
        return statistics((yield from daily_totals.stats(self, day_of(date))))


class QlessQueue(QlessQueueBase, QlessGroup):
    """A queue of qless."""

    job_class = QlessJob

    def __len__(self) -> int:
        return self.length()


class AsyncQlessQueue(QlessQueueBase, AsyncQlessGroup):
    """The asyncio form of QlessQueue."""

    job_class = AsyncQlessJob
