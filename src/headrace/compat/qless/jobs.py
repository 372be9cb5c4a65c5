"""A job of either colour, and how jobs are found."""

from __future__ import annotations

from typing import Any

from headrace.compat import opening
from headrace.compat.qless.part import AsyncPart, Part
from headrace.compat.qless.talks import finding, holding, recurring, steering
from headrace.compat.qless.values import JobFacts
from headrace.operations.method import awaiting, blocking, named


@named
class Job(JobFacts):
    """A job, for code that blocks."""

    cancel = blocking(steering.cancel_job)
    complete = blocking(holding.complete)
    depend = blocking(steering.depend)
    fail = blocking(holding.fail)
    heartbeat = blocking(holding.heartbeat)
    log = blocking(holding.log)
    move = blocking(steering.move)
    prioritise = blocking(steering.prioritise)
    retry = blocking(holding.retry)
    tag = blocking(steering.tag_job)
    timeout = blocking(steering.timeout_job)
    track = blocking(steering.track_job)
    undepend = blocking(steering.undepend)
    untag = blocking(steering.untag_job)
    untrack = blocking(steering.untrack_job)


@named
class AsyncJob(JobFacts):
    """A job, for code that awaits."""

    cancel = awaiting(steering.cancel_job)
    complete = awaiting(holding.complete)
    depend = awaiting(steering.depend)
    fail = awaiting(holding.fail)
    heartbeat = awaiting(holding.heartbeat)
    log = awaiting(holding.log)
    move = awaiting(steering.move)
    prioritise = awaiting(steering.prioritise)
    retry = awaiting(holding.retry)
    tag = awaiting(steering.tag_job)
    timeout = awaiting(steering.timeout_job)
    track = awaiting(steering.track_job)
    undepend = awaiting(steering.undepend)
    untag = awaiting(steering.untag_job)
    untrack = awaiting(steering.untrack_job)


@named
class RecurringJob(recurring.RecurringFacts):
    """A recurring job, for code that blocks."""

    cancel = blocking(recurring.cancel)
    tag = blocking(recurring.tag)
    untag = blocking(recurring.untag)
    update = blocking(recurring.update)


@named
class AsyncRecurringJob(recurring.RecurringFacts):
    """A recurring job, for code that awaits."""

    cancel = awaiting(recurring.cancel)
    tag = awaiting(recurring.tag)
    untag = awaiting(recurring.untag)
    update = awaiting(recurring.update)


@named
class Jobs(Part):
    """Jobs by id, by failure and by tag, for code that blocks."""

    tagged = blocking(finding.tagged)

    def __getitem__(self, id: str) -> Job | None:
        """The job of this id, or None."""
        return self._driven(finding.job(self, Job, id))

    def get(self, *ids: str) -> list[Job]:
        """The jobs of these ids, in this order; unknown ones are left out."""
        return self._driven(finding.jobs(self, Job, ids))

    def failed(self, type: str | None = None, start: int = 0, limit: int = 25) -> dict[str, Any]:
        """How many jobs each type has; of one type the total, and a page of its jobs."""
        return self._driven(finding.failed(self, Job, type, start, limit))

    def recurring(self, id: str) -> RecurringJob | None:
        """The recurring job of this id, or None."""
        return self._driven(recurring.recurring(self, RecurringJob, id))

    def tracked(self) -> dict[str, Any]:
        """The tracked jobs, and as expired the ids of those that are gone."""
        return self._driven(finding.tracked(self, Job))


@named
class AsyncJobs(AsyncPart):
    """Jobs by id, by failure and by tag, for code that awaits: await jobs["id"]."""

    tagged = opening.awaiting(finding.tagged)

    async def __getitem__(self, id: str) -> AsyncJob | None:
        """The job of this id, or None."""
        return await self._driven(finding.job(self, AsyncJob, id))

    async def get(self, *ids: str) -> list[AsyncJob]:
        """The jobs of these ids, in this order; unknown ones are left out."""
        return await self._driven(finding.jobs(self, AsyncJob, ids))

    async def failed(
        self, type: str | None = None, start: int = 0, limit: int = 25
    ) -> dict[str, Any]:
        """How many jobs each type has; of one type the total, and a page of its jobs."""
        operation = finding.failed(self, AsyncJob, type, start, limit)
        return await self._driven(operation)

    async def recurring(self, id: str) -> AsyncRecurringJob | None:
        """The recurring job of this id, or None."""
        return await self._driven(recurring.recurring(self, AsyncRecurringJob, id))

    async def tracked(self) -> dict[str, Any]:
        """The tracked jobs, and as expired the ids of those that are gone."""
        return await self._driven(finding.tracked(self, AsyncJob))
