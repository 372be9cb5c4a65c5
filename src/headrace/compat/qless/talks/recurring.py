"""Jobs that come again and again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, TypeVar

from headrace.compat.qless.dialect import Dialect, Face, QueueFace
from headrace.compat.qless.talks.refusing import unless_refused
from headrace.engine.check import Span
from headrace.operations import schedules
from headrace.operations.core import Core
from headrace.operations.ids import new_ids
from headrace.operations.schedules import Schedule
from headrace.options import UNSET, Unset
from headrace.transport.drive import Operation

# How qless says that every interval is made up for.
ALL = 0


class RecurringFacts:
    """A recurring job as it was when it was read; intervals are seconds."""

    def __init__(self, dialect: Dialect, core: Core, known: Schedule) -> None:
        self.core = core
        self.dialect = dialect
        self.id = known.id
        self.queue = known.queue
        self.data = known.data
        self.interval = known.every
        self.priority = dialect.turned(known.options.get("priority", 0))
        self.tags: list[str] = known.options.get("tags", [])
        self.retries = known.options.get("retries", UNSET)
        self.backlog = ALL if known.backlog is None else known.backlog
        self.count = known.counter
        self.next = known.next.timestamp()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id!r} of {self.queue!r}, every {self.interval} s>"


R = TypeVar("R", bound=RecurringFacts)


class RecurringFace(Face, Protocol):
    """A recurring job of the dialect."""

    @property
    def id(self) -> str: ...


def recur(
    queue: QueueFace,
    data: Any,
    interval: Span,
    offset: Span = 0,
    priority: float | None = None,
    tags: Iterable[str] | None = None,
    retries: int | Unset | None = UNSET,
    *,
    id: str | None = None,
    backlog: int = ALL,
) -> Operation[str]:
    """Puts a job <id>-<n> into this queue every so many seconds; returns the id.

    Every interval that nobody was there for is made up for; with a backlog, so many and one.
    """
    [new_id] = new_ids(1)
    given: dict[str, Any] = {} if isinstance(retries, Unset) else {"retries": retries}
    made = yield from schedules.schedule_queue(
        queue,
        new_id if id is None else id,
        data,
        every=interval,
        delay=offset or None,
        backlog=_backlog(backlog),
        priority=queue.dialect.turned(priority),
        tags=tags,
        **given,
    )
    return made.id


def _backlog(given: int) -> int | None:
    return None if given == ALL else given


def recurring(face: Face, kind: type[R], schedule_id: str) -> Operation[R | None]:
    """A recurring job by its id."""
    known = yield from schedules.schedule(face, schedule_id)
    return None if known is None else kind(face.dialect, face.core, known)


def update(
    job: RecurringFace,
    *,
    data: Any = UNSET,
    interval: Span | Unset = UNSET,
    priority: float | Unset = UNSET,
    tags: Iterable[str] | Unset = UNSET,
    retries: int | Unset | None = UNSET,
    backlog: int | Unset = UNSET,
) -> Operation[bool]:
    """Changes what is given, for the jobs to come; False if it recurs no more."""
    turned = priority if isinstance(priority, Unset) else job.dialect.turned(priority)
    given: dict[str, Any] = {"priority": turned, "tags": tags, "retries": retries}
    changing = schedules.reschedule(
        job,
        job.id,
        data=data,
        every=interval,
        backlog=backlog if isinstance(backlog, Unset) else _backlog(backlog),
        **{name: value for name, value in given.items() if value is not UNSET},
    )
    return (yield from unless_refused(job.dialect, changing)) is not False


def tag(job: RecurringFace, *tags: str) -> Operation[bool]:
    """Gives tags to the jobs to come; False if it recurs no more."""
    return (yield from update(job, tags=[*(yield from _tags(job)), *tags]))


def untag(job: RecurringFace, *tags: str) -> Operation[bool]:
    """Takes tags from the jobs to come; False if it recurs no more."""
    left = [tag for tag in (yield from _tags(job)) if tag not in tags]
    return (yield from update(job, tags=left))


def _tags(job: RecurringFace) -> Operation[list[str]]:
    known = yield from schedules.schedule(job, job.id)
    return [] if known is None else known.options.get("tags", [])


def cancel(job: RecurringFace) -> Operation[bool]:
    """Lets it recur no more; the jobs that it made stay. Whether it did."""
    return bool((yield from schedules.unschedule(job, job.id)))


def unrecur(client: Face, *ids: str) -> Operation[list[str]]:
    """Lets these recur no more, and returns the ids of those that did; the jobs they made stay."""
    return (yield from schedules.unschedule(client, *ids))
