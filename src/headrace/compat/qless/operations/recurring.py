"""Recurring jobs: a schedule puts a job at every interval."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, TypeVar

from headrace.compat.qless.context import QlessContext, QlessLike, QlessQueueLike
from headrace.engine.check import Span
from headrace.operations import schedules
from headrace.operations.core import Core
from headrace.operations.ids import new_ids
from headrace.operations.schedule_values import Schedule
from headrace.options import UNSET, Unset
from headrace.transport.drive import Operation

# This backlog makes up for every interval that was missed.
UNLIMITED_BACKLOG = 0


class RecurringJobFields:
    """A recurring job as it was when it was read; intervals are seconds."""

    def __init__(self, context: QlessContext, core: Core, schedule: Schedule) -> None:
        self.core = core
        self.context = context
        self.id = schedule.id
        self.queue = schedule.queue
        self.data = schedule.data
        self.interval = schedule.every
        self.priority = context.flip_priority(schedule.options.get("priority", 0))
        self.tags: list[str] = schedule.options.get("tags", [])
        self.retries = schedule.options.get("retries", UNSET)
        self.backlog = UNLIMITED_BACKLOG if schedule.backlog is None else schedule.backlog
        self.count = schedule.counter
        self.next = schedule.next.timestamp()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id!r} of {self.queue!r}, every {self.interval} s>"


R = TypeVar("R", bound=RecurringJobFields)


class RecurringJobLike(QlessLike, Protocol):
    """A recurring job of a Qless client."""

    @property
    def id(self) -> str:
        """The id of the job."""


def recur(
    queue: QlessQueueLike,
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
    """Put a job <id>-<n> into the queue every `interval` seconds; return the id.

    All missed intervals are made up for; with a backlog, at most backlog + 1 of them.
    """
    [new_id] = new_ids(1)
    options: dict[str, Any] = {} if isinstance(retries, Unset) else {"retries": retries}
    schedule = yield from schedules.schedule_queue(
        queue,
        new_id if id is None else id,
        data,
        every=interval,
        delay=offset or None,
        backlog=_backlog(backlog),
        priority=queue.context.flip_priority(priority),
        tags=tags,
        **options,
    )
    return schedule.id


def _backlog(given: int) -> int | None:
    return None if given == UNLIMITED_BACKLOG else given


def recurring(owner: QlessLike, kind: type[R], schedule_id: str) -> Operation[R | None]:
    """Return the recurring job, or None if there is none."""
    found = yield from schedules.schedule(owner, schedule_id)
    return None if found is None else kind(owner.context, owner.core, found)


def update(
    job: RecurringJobLike,
    *,
    data: Any = UNSET,
    interval: Span | Unset = UNSET,
    priority: float | Unset = UNSET,
    tags: Iterable[str] | Unset = UNSET,
    retries: int | Unset | None = UNSET,
    backlog: int | Unset = UNSET,
) -> Operation[bool]:
    """Change the given fields for future jobs. Return False if the job no longer recurs."""
    flipped = priority if isinstance(priority, Unset) else job.context.flip_priority(priority)
    options: dict[str, Any] = {"priority": flipped, "tags": tags, "retries": retries}
    operation = schedules.reschedule(
        job,
        job.id,
        data=data,
        every=interval,
        **{name: value for name, value in options.items() if value is not UNSET},
        backlog=backlog if isinstance(backlog, Unset) else _backlog(backlog),
    )
    return (yield from job.context.unless_refused(operation)) is not False


def tag(job: RecurringJobLike, *tags: str) -> Operation[bool]:
    """Add tags to future jobs. Return False if the job no longer recurs."""
    return (yield from update(job, tags=[*(yield from _tags(job)), *tags]))


def untag(job: RecurringJobLike, *tags: str) -> Operation[bool]:
    """Remove tags from future jobs. Return False if the job no longer recurs."""
    left = [tag for tag in (yield from _tags(job)) if tag not in tags]
    return (yield from update(job, tags=left))


def _tags(job: RecurringJobLike) -> Operation[list[str]]:
    found = yield from schedules.schedule(job, job.id)
    return [] if found is None else found.options.get("tags", [])


def cancel(job: RecurringJobLike) -> Operation[bool]:
    """Stop the recurring job and keep the jobs that it put. Return whether it was recurring."""
    return bool((yield from schedules.unschedule(job, job.id)))


def unrecur(client: QlessLike, *ids: str) -> Operation[list[str]]:
    """Stop these recurring jobs, keep the jobs that they put, return the ids that recurred."""
    return (yield from schedules.unschedule(client, *ids))
