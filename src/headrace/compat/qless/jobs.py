"""Jobs and recurring jobs of qless, and the group `qless.jobs` that finds them."""

from __future__ import annotations

from headrace.compat.qless.groups import AsyncQlessGroup, QlessGroup
from headrace.compat.qless.operations import admin, leased, lookup, recurring
from headrace.compat.qless.values import QlessJobFields
from headrace.operations.method import AsyncMethods, SyncMethods, method


class QlessJobBase(QlessJobFields):
    """The methods that QlessJob and AsyncQlessJob share."""

    cancel = method(admin.cancel_job)
    complete = method(leased.complete)
    depend = method(admin.depend)
    fail = method(leased.fail)
    heartbeat = method(leased.heartbeat)
    log = method(leased.log)
    move = method(admin.move)
    prioritise = method(admin.prioritise)
    retry = method(leased.retry)
    tag = method(admin.tag_job)
    timeout = method(admin.timeout_job)
    track = method(admin.track_job)
    undepend = method(admin.undepend)
    untag = method(admin.untag_job)
    untrack = method(admin.untrack_job)


class QlessJob(QlessJobBase, SyncMethods):
    """A job as it was when it was read."""


class AsyncQlessJob(QlessJobBase, AsyncMethods):
    """The asyncio form of QlessJob."""


class RecurringJobBase(recurring.RecurringJobFields):
    """The methods that RecurringJob and AsyncRecurringJob share."""

    cancel = method(recurring.cancel)
    tag = method(recurring.tag)
    untag = method(recurring.untag)
    update = method(recurring.update)


class RecurringJob(RecurringJobBase, SyncMethods):
    """A recurring job as it was when it was read."""


class AsyncRecurringJob(RecurringJobBase, AsyncMethods):
    """The asyncio form of RecurringJob."""


class QlessJobsBase:
    """The methods that QlessJobs and AsyncQlessJobs share."""

    job_class: type[QlessJobBase]

    failed = method(lookup.failed_jobs)
    tagged = method(lookup.tagged)
    tracked = method(lookup.tracked)


class QlessJobs(QlessJobsBase, QlessGroup):
    """Jobs by id, by failure type and by tag: `jobs["id"]`."""

    job_class = QlessJob

    def __getitem__(self, id: str) -> QlessJob | None:
        """Return the job, or None if there is none."""
        return self._drive(lookup.job(self, QlessJob, id))

    def get(self, *ids: str) -> list[QlessJob]:
        """Return the jobs with these ids, in this order, without the unknown ones."""
        return self._drive(lookup.jobs(self, QlessJob, ids))

    def recurring(self, id: str) -> RecurringJob | None:
        """Return the recurring job, or None if there is none."""
        return self._drive(recurring.recurring(self, RecurringJob, id))


class AsyncQlessJobs(QlessJobsBase, AsyncQlessGroup):
    """Jobs by id, by failure type and by tag: `await jobs["id"]`."""

    job_class = AsyncQlessJob

    async def __getitem__(self, id: str) -> AsyncQlessJob | None:
        """Return the job, or None if there is none."""
        return await self._drive(lookup.job(self, AsyncQlessJob, id))

    async def get(self, *ids: str) -> list[AsyncQlessJob]:
        """Return the jobs with these ids, in this order, without the unknown ones."""
        return await self._drive(lookup.jobs(self, AsyncQlessJob, ids))

    async def recurring(self, id: str) -> AsyncRecurringJob | None:
        """Return the recurring job, or None if there is none."""
        return await self._drive(recurring.recurring(self, AsyncRecurringJob, id))
