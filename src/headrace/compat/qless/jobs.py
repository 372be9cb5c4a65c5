"""Jobs and recurring jobs of qless."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.client.lease import LeaseBase
from headrace.compat.qless import operations
from headrace.compat.qless.context import NotLeased, QlessLike, Refused
from headrace.compat.qless.values import QlessJobFields
from headrace.engine.check import Span
from headrace.operations import finishing, schedules, tracking
from headrace.operations import jobs as job_operations
from headrace.operations.method import AsyncMethods, SyncMethods, method
from headrace.operations.schedules import Schedule
from headrace.options import UNSET, Unset
from headrace.transport.drive import Operation

# With this backlog, a recurring job later puts a job for every interval that was missed.
UNLIMITED_BACKLOG = 0


class QlessJobBase(QlessJobFields):
    """The methods that QlessJob and AsyncQlessJob share."""

    @method
    def cancel(self) -> Operation[bool]:
        """Delete the job unless it is complete. Return whether the job was deleted."""
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
        """Complete the job; with `next`, move the job to that queue in the same step.

        Return the new state, or False if you no longer hold the job.
        """
        return (
            yield from operations.complete_lease(self, self._lease(), data, next, delay, depends)
        )

    @method
    def depend(self, *ids: str) -> Operation[str | Refused]:
        """Add dependencies to the job.

        Return the state of the job, or False if the job has no unfinished dependency.
        """
        return (yield from operations.depends(self, self.id, "on", *ids))

    @method
    def undepend(self, *ids: str, all: bool = False) -> Operation[str | Refused]:
        """Remove these dependencies of the job, or all dependencies.

        Return the state of the job, or False if the job has no unfinished dependency.
        """
        return (yield from operations.depends(self, self.id, "off", *(("all",) if all else ids)))

    @method
    def fail(self, type: str, message: str, *, data: Any = UNSET) -> Operation[str | Refused]:
        """Fail the job with a type. Return the job id, or False if you no longer hold the job.

        If this client did not pop the job, the job fails as if an operator failed it. A job can
        then fail in any state except complete.
        """
        return (yield from operations.fail_lease(self, self._lease(), type, message, data))

    @method
    def heartbeat(self, data: Any = UNSET) -> Operation[float | Refused | None]:
        """Renew the lock for the heartbeat time of the queue; replace the data if `data` is passed.

        Return the new expiry time of the lock, or False if you no longer hold the job.
        """
        return (yield from operations.renew(self, self._lease(), None, data))

    @method
    def log(self, message: str) -> Operation[bool]:
        """Add a line to the log of the job. Return False if you no longer hold the job."""
        operation = finishing.log(self._lease(), message)
        return (yield from self.context.unless_refused(operation)) is not False

    @method
    def move(self, queue: str, delay: Span = 0) -> Operation[str | Refused]:
        """Put the job into a queue like a new job, even if a worker holds the job.

        Return the job id, or False if the job no longer exists.
        """
        return (yield from operations.requeue(self, queue, self.id, delay))

    @method
    def prioritise(self, priority: float) -> Operation[float | Refused]:
        """Change the priority of the job. Return False if the job no longer exists."""
        return (yield from operations.change_priority(self, self.id, priority))

    @method
    def retry(
        self, delay: Span = 0, group: str | None = None, message: str = ""
    ) -> Operation[int | Refused | None]:
        """Use up one retry: put the job back into its queue, to run again after a delay.

        Return the number of retries left, or None if the number is unlimited. Return -1 if no retry
        was left; the job then fails with the failure type `group`. Return False if you no longer
        hold the job.
        """
        return (yield from operations.retry_lease(self, self._lease(), delay, group, message))

    @method
    def tag(self, *tags: str) -> Operation[list[str] | Refused]:
        """Add tags to the job and return all its tags. Return False if the job no longer exists."""
        return (yield from operations.tag(self, self.id, *tags))

    @method
    def timeout(self) -> Operation[bool]:
        """Remove the lock of the job and move the job to the front of its queue.

        Return False if the job is not running.
        """
        return bool((yield from operations.timeout(self, self.id)))

    @method
    def track(self) -> Operation[bool]:
        """Track the job: publish each of its events immediately.

        Return False if the job no longer exists.
        """
        return (yield from operations.track(self, self.id))

    @method
    def untag(self, *tags: str) -> Operation[list[str] | Refused]:
        """Remove tags from the job and return the remaining tags.

        Return False if the job no longer exists.
        """
        return (yield from operations.untag(self, self.id, *tags))

    @method
    def untrack(self) -> Operation[None]:
        """Stop tracking the job."""
        yield from tracking.untrack(self, self.id)

    def _lease(self) -> LeaseBase | NotLeased:
        """Return the lease of this object, or the last lease that this client got for the job."""
        return self.lease or operations.lease_by_id(self, self.id)


class QlessJob(QlessJobBase, SyncMethods):
    """A snapshot of a job at the time when the job was read."""


class AsyncQlessJob(QlessJobBase, AsyncMethods):
    """The asyncio form of QlessJob."""


class RecurringJobBase(QlessLike):
    """The fields and methods of RecurringJob and AsyncRecurringJob; intervals are in seconds."""

    def __init__(self, owner: QlessLike, schedule: Schedule) -> None:
        self.core = owner.core
        self.context = owner.context
        self.id = schedule.id
        self.queue = schedule.queue
        self.data = schedule.data
        self.interval = schedule.every
        self.priority = owner.context.flip_priority(schedule.options.get("priority", 0))
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
        """Change the passed fields for future jobs. Return False if the job no longer recurs."""
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
        """Stop the recurring job but keep the jobs that it has put.

        Return False if the job no longer recurs.
        """
        return bool((yield from schedules.unschedule(self, self.id)))

    def _tags(self) -> Operation[list[str]]:
        found = yield from schedules.schedule(self, self.id)
        return [] if found is None else found.options.get("tags", [])


class RecurringJob(RecurringJobBase, SyncMethods):
    """A snapshot of a recurring job at the time when the job was read."""


class AsyncRecurringJob(RecurringJobBase, AsyncMethods):
    """The asyncio form of RecurringJob."""


def to_backlog(given: int) -> int | None:
    """Convert a qless backlog to the backlog of a Headrace schedule."""
    return None if given == UNLIMITED_BACKLOG else given
