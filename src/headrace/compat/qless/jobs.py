"""Jobs and recurring jobs of qless."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.client.lease import LeaseBase
from headrace.compat.qless import operations
from headrace.compat.qless.context import NotLeased, QlessContext, QlessLike, Refused
from headrace.compat.qless.values import QlessJobFields
from headrace.engine.check import Span
from headrace.operations import finishing, schedules, tracking
from headrace.operations import jobs as job_operations
from headrace.operations.core import Core
from headrace.operations.method import AsyncMethods, SyncMethods, method
from headrace.operations.schedules import Schedule
from headrace.options import UNSET, Unset
from headrace.transport.drive import Operation

# This backlog makes up for every interval that was missed.
UNLIMITED_BACKLOG = 0


class QlessJobBase(QlessJobFields):
    """The methods that QlessJob and AsyncQlessJob share."""

    @method
    def cancel(self) -> Operation[bool]:
        """Delete the job unless it is complete or gone. Return whether it was deleted."""
        return bool((yield from job_operations.cancel(self, self.id)))

    @method
    def complete(
        self,
        next: str | None = None,
        delay: Span = 0,
        depends: Iterable[str] | None = None,
        *,
        data: Any = UNSET,
    ) -> Operation[str | Refused]:
        """Complete the job, or move it to the next queue in the same step.

        Return the new state, or False if you no longer hold the job.
        """
        return (
            yield from operations.complete_lease(self, self._lease(), data, next, delay, depends)
        )

    @method
    def depend(self, *ids: str) -> Operation[str | Refused]:
        """Add dependencies to the job. Return its state, or False if it is running or finished."""
        return (yield from operations.depends(self, self.id, "on", *ids))

    @method
    def undepend(self, *ids: str, all: bool = False) -> Operation[str | Refused]:
        """Remove these dependencies of the job, or all of them. Return its state, or False."""
        return (yield from operations.depends(self, self.id, "off", *(("all",) if all else ids)))

    @method
    def fail(self, type: str, message: str, *, data: Any = UNSET) -> Operation[str | Refused]:
        """Fail the job with a type and return its id, or False if you no longer hold the job.

        A job that this client did not pop is failed as by an operator, in any state but complete.
        """
        return (yield from operations.fail_lease(self, self._lease(), type, message, data))

    @method
    def heartbeat(self, data: Any = UNSET) -> Operation[float | Refused | None]:
        """Renew the lock for the heartbeat of the queue, and replace the data if some is given.

        Return when the lock now expires, or False if you no longer hold the job.
        """
        return (yield from operations.renew(self, self._lease(), None, data))

    @method
    def log(self, message: str) -> Operation[bool]:
        """Add a line to the log of the job. Return False if you no longer hold the job."""
        operation = finishing.log(self._lease(), message)
        return (yield from self.context.unless_refused(operation)) is not False

    @method
    def move(self, queue: str, delay: Span = 0) -> Operation[str | Refused]:
        """Put the job into a queue as if new, even if it is held. Return its id, or False."""
        return (yield from operations.requeue(self, queue, self.id, delay))

    @method
    def prioritise(self, priority: float) -> Operation[float | Refused]:
        """Change the priority of the job. Return False if it is gone."""
        return (yield from operations.change_priority(self, self.id, priority))

    @method
    def retry(
        self, delay: Span = 0, group: str | None = None, message: str = ""
    ) -> Operation[int | Refused | None]:
        """Return the job to its queue, to be retried after a delay; this costs a retry.

        Return how many retries are left, or None without a limit. Return -1 if none was left: then
        the job is failed under the group. Return False if you no longer hold the job.
        """
        return (yield from operations.retry_lease(self, self._lease(), delay, group, message))

    @method
    def tag(self, *tags: str) -> Operation[list[str] | Refused]:
        """Add tags to the job and return all its tags. Return False if the job is gone."""
        return (yield from operations.tag(self, self.id, *tags))

    @method
    def timeout(self) -> Operation[bool]:
        """Take the lock of the job away; it waits at the front. Return False if not running."""
        return bool((yield from operations.timeout(self, self.id)))

    @method
    def track(self) -> Operation[bool]:
        """Publish every event of the job at once. Return False if the job is gone."""
        return (yield from operations.track(self, self.id))

    @method
    def untag(self, *tags: str) -> Operation[list[str] | Refused]:
        """Remove tags from the job and return the remaining ones. Return False if it is gone."""
        return (yield from operations.untag(self, self.id, *tags))

    @method
    def untrack(self) -> Operation[None]:
        """Stop tracking the job."""
        yield from tracking.untrack(self, self.id)

    def _lease(self) -> LeaseBase | NotLeased:
        """Return the lease that came with this object, or the last one of this client."""
        return self.lease or operations.lease_by_id(self, self.id)


class QlessJob(QlessJobBase, SyncMethods):
    """A job as it was when it was read."""


class AsyncQlessJob(QlessJobBase, AsyncMethods):
    """The asyncio form of QlessJob."""


class RecurringJobBase(QlessLike):
    """The fields and methods of RecurringJob and AsyncRecurringJob; intervals are seconds."""

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

    @method
    def update(
        self,
        *,
        data: Any = UNSET,
        interval: Span | Unset = UNSET,
        priority: float | Unset = UNSET,
        tags: Iterable[str] | Unset = UNSET,
        retries: int | Unset | None = UNSET,
        backlog: int | Unset = UNSET,
    ) -> Operation[bool]:
        """Change the given fields for future jobs. Return False if the job no longer recurs."""
        flipped = priority if isinstance(priority, Unset) else self.context.flip_priority(priority)
        options: dict[str, Any] = {"priority": flipped, "tags": tags, "retries": retries}
        return (
            yield from self._reschedule(
                data=data,
                every=interval,
                **{name: value for name, value in options.items() if value is not UNSET},
                backlog=backlog if isinstance(backlog, Unset) else to_backlog(backlog),
            )
        )

    def _reschedule(self, **changes: Any) -> Operation[bool]:
        operation = schedules.reschedule(self, self.id, **changes)
        return (yield from self.context.unless_refused(operation)) is not False

    @method
    def tag(self, *tags: str) -> Operation[bool]:
        """Add tags to future jobs. Return False if the job no longer recurs."""
        return (yield from self._reschedule(tags=[*(yield from self._tags()), *tags]))

    @method
    def untag(self, *tags: str) -> Operation[bool]:
        """Remove tags from future jobs. Return False if the job no longer recurs."""
        left = [tag for tag in (yield from self._tags()) if tag not in tags]
        return (yield from self._reschedule(tags=left))

    @method
    def cancel(self) -> Operation[bool]:
        """Stop the recurring job and keep the jobs that it put. Return whether it was recurring."""
        return bool((yield from schedules.unschedule(self, self.id)))

    def _tags(self) -> Operation[list[str]]:
        found = yield from schedules.schedule(self, self.id)
        return [] if found is None else found.options.get("tags", [])


class RecurringJob(RecurringJobBase, SyncMethods):
    """A recurring job as it was when it was read."""


class AsyncRecurringJob(RecurringJobBase, AsyncMethods):
    """The asyncio form of RecurringJob."""


def to_backlog(given: int) -> int | None:
    """Return the backlog of the schedule."""
    return None if given == UNLIMITED_BACKLOG else given
