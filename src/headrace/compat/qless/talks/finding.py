"""Jobs that are looked for: by id, by failure, by tag, or because they are tracked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from headrace.compat.qless.dialect import Face
from headrace.compat.qless.values import Document, JobFacts
from headrace.engine.check import PAGE
from headrace.operations import jobs as job_talks
from headrace.operations import tags as tagging
from headrace.operations import tracking
from headrace.transport.drive import Operation

J = TypeVar("J", bound=JobFacts)


def job(face: Face, kind: type[J], job_id: str) -> Operation[J | None]:
    """A job by its id."""
    known = yield from job_talks.job(face, job_id)
    return None if known is None else kind(face.dialect, face.core, known, None)


def jobs(face: Face, kind: type[J], ids: Sequence[str]) -> Operation[list[J]]:
    """Jobs by their ids."""
    known = yield from job_talks.jobs(face, ids)
    return [kind(face.dialect, face.core, each, None) for each in known]


def failed(
    face: Face, kind: type[J], failure: str | None, start: int, limit: int
) -> Operation[dict[str, Any]]:
    """Types and how many jobs each has; or the jobs of one type, the newest failure first."""
    if failure is None:
        return (yield from _types(face))
    page = yield from job_talks.failed(face, failure, offset=start, count=limit)
    found = [kind(face.dialect, face.core, known, None) for known in page.jobs]
    return {"total": page.total, "jobs": found}


def _types(face: Face) -> Operation[dict[str, Any]]:
    found: dict[str, Any] = {}
    while len(found) % PAGE == 0:
        more = yield from job_talks.failures(face, offset=len(found), count=PAGE)
        if not more:
            break
        found |= more
    return found


def failed_documents(
    client: Face, type: str | None = None, start: int = 0, limit: int = 25
) -> Operation[Document]:
    """How many jobs each type has; of one type the total, and a page of its jobs."""
    found = yield from failed(client, JobFacts, type, start, limit)
    if type is not None:
        found["jobs"] = [each.structure() for each in found["jobs"]]
    return found


def tracked(face: Face, kind: type[J]) -> Operation[dict[str, Any]]:
    """The tracked jobs, and the ids of those that are gone."""
    known = yield from tracking.tracked(face)
    found = [kind(face.dialect, face.core, each, None) for each in known.jobs]
    return {"jobs": found, "expired": known.gone}


def tagged(face: Face, tag: str, offset: int = 0, count: int = 25) -> Operation[dict[str, Any]]:
    """How many jobs have a tag, and the ids of a page of them, by when they got it."""
    page = yield from tagging.tagged(face, tag, offset=offset, count=count)
    return {"total": page.total, "jobs": [known.id for known in page.jobs]}


def tags(face: Face, offset: int = 0, count: int = 25) -> Operation[list[str]]:
    """The tags that at least two jobs have, the most used first."""
    return list((yield from tagging.top_tags(face, offset=offset, count=count)))
