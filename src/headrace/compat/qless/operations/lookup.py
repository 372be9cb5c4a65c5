"""Find jobs: by id, by failure type, by tag, or because they are tracked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from headrace.compat.qless.context import QlessLike
from headrace.compat.qless.values import Document, QlessJobFields
from headrace.engine.check import PAGE
from headrace.operations import jobs as job_operations
from headrace.operations import tags as tag_operations
from headrace.operations import tracking
from headrace.transport.drive import Operation

J = TypeVar("J", bound=QlessJobFields)


class QlessJobsLike(QlessLike, Protocol):
    """The group `jobs` of a Qless client."""

    @property
    def job_class(self) -> type[QlessJobFields]:
        """The class of the jobs that the group returns."""


def job(owner: QlessLike, kind: type[J], job_id: str) -> Operation[J | None]:
    """Return the job, or None if there is none."""
    found = yield from job_operations.job(owner, job_id)
    return None if found is None else kind(owner.context, owner.core, found, None)


def jobs(owner: QlessLike, kind: type[J], ids: Sequence[str]) -> Operation[list[J]]:
    """Return the jobs with these ids, in this order, without the unknown ones."""
    found = yield from job_operations.jobs(owner, ids)
    return [kind(owner.context, owner.core, each, None) for each in found]


def failed_jobs(
    owner: QlessJobsLike, type: str | None = None, start: int = 0, limit: int = 25
) -> Operation[dict[str, Any]]:
    """Return the number of failed jobs by type; or the total and a page of jobs of one type.

    The page begins with the newest failure.
    """
    return (yield from _failed(owner, owner.job_class, type, start, limit))


def failed_documents(
    client: QlessLike, type: str | None = None, start: int = 0, limit: int = 25
) -> Operation[Document]:
    """Return the number of failed jobs by type; or the total and a page of jobs of one type."""
    found = yield from _failed(client, QlessJobFields, type, start, limit)
    if type is not None:
        found["jobs"] = [each.structure() for each in found["jobs"]]
    return found


def _failed(
    owner: QlessLike, kind: type[QlessJobFields], failure: str | None, start: int, limit: int
) -> Operation[dict[str, Any]]:
    if failure is None:
        return (yield from _counts_by_type(owner))
    page = yield from job_operations.failed(owner, failure, offset=start, count=limit)
    found = [kind(owner.context, owner.core, job, None) for job in page.jobs]
    return {"total": page.total, "jobs": found}


def _counts_by_type(owner: QlessLike) -> Operation[dict[str, Any]]:
    found: dict[str, Any] = {}
    while len(found) % PAGE == 0:
        more = yield from job_operations.failures(owner, offset=len(found), count=PAGE)
        if not more:
            break
        found |= more
    return found


def tracked(owner: QlessJobsLike) -> Operation[dict[str, Any]]:
    """Return the tracked jobs and, as `expired`, the ids of tracked jobs that are gone."""
    found = yield from tracking.tracked(owner)
    jobs = [owner.job_class(owner.context, owner.core, each, None) for each in found.jobs]
    return {"jobs": jobs, "expired": found.gone}


def tagged(
    owner: QlessLike, tag: str, offset: int = 0, count: int = 25
) -> Operation[dict[str, Any]]:
    """Return how many jobs have a tag and a page of their ids, in the order of tagging."""
    page = yield from tag_operations.tagged(owner, tag, offset=offset, count=count)
    return {"total": page.total, "jobs": [job.id for job in page.jobs]}


def tags(owner: QlessLike, offset: int = 0, count: int = 25) -> Operation[list[str]]:
    """Return the tags that at least two jobs have, the most used first."""
    return list((yield from tag_operations.top_tags(owner, offset=offset, count=count)))
