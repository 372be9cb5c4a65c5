"""Counts of queues, jobs by state, workers and statistics."""

from __future__ import annotations

from datetime import date

from headrace.compat.qless.context import QlessLike, QlessQueueLike
from headrace.compat.qless.values import Document, day_of, statistics
from headrace.engine.check import PAGE, choice, page
from headrace.operations import jobs as job_operations
from headrace.operations import queues as queue_operations
from headrace.operations import schedules, sessions
from headrace.operations.paging import ids_of_page
from headrace.operations.protocols import QueueLike
from headrace.operations.queues import QueueRef
from headrace.operations.values import Counts
from headrace.transport.drive import Operation

# The states of qless and those of Headrace.
LISTED = {
    "waiting": "waiting",
    "running": "running",
    "stalled": "running",
    "scheduled": "scheduled",
    "depends": "blocked",
    "failed": "failed",
    "complete": "complete",
}

# By worker: the ids of the jobs whose lock is valid, and of those whose lock has expired.
JobsByWorker = dict[str, tuple[list[str], list[str]]]


def stats(queue: QlessQueueLike, date: str | date | float | None = None) -> Operation[Document]:
    """Return the wait and run times, failures and retries of a day (default: today)."""
    return statistics((yield from queue_operations.stats(queue, day_of(date))))


def counts(queue: QlessQueueLike) -> Operation[Document]:
    """Return how many jobs are in each state, and whether the queue is paused."""
    found = yield from queue_operations.counts(queue)
    return (yield from _counts_document(queue, found))


def all_counts(owner: QlessLike) -> Operation[list[Document]]:
    """Return the counts of every queue, in the order of their first use."""
    documents: list[Document] = []
    while True:
        found = yield from queue_operations.queues(owner, offset=len(documents), count=PAGE)
        for name, each in found.items():
            documents.append((yield from _counts_document(QueueRef(owner.core, name), each)))
        if len(found) < PAGE:
            return documents


def _counts_document(queue: QueueLike, found: Counts) -> Operation[Document]:
    recurring, _ = yield from ids_of_page(
        queue.core, "schedules", queue.name, 0, 1, newest_first=False
    )
    return {
        "name": queue.name,
        "waiting": found.waiting,
        "running": found.running - found.late,
        "stalled": found.late,
        "scheduled": found.scheduled,
        "depends": found.blocked,
        "recurring": recurring,
        "paused": found.paused,
    }


def jobs(
    queue: QlessQueueLike, state: str, offset: int = 0, count: int = 25
) -> Operation[list[str]]:
    """Return the ids of a page of jobs in a state.

    The states are waiting, running, stalled, scheduled, depends, recurring, failed and complete.
    """
    choice("state", state, (*LISTED, "recurring"))
    offset, count = page(offset, count)
    if state == "recurring":
        found = yield from schedules.schedules(queue, queue.name, offset=offset, count=count)
        return [schedule.id for schedule in found]
    if state in ("running", "stalled"):
        # The server lists running jobs by their deadline, so the late ones come first.
        late = (yield from queue_operations.counts(queue)).late
        if state == "running":
            offset += late
        elif offset >= late:
            return []
        else:
            count = min(count, late - offset)
    listed = yield from job_operations.queue_jobs(queue, LISTED[state], offset=offset, count=count)
    return [job.id for job in listed.jobs]


def worker_counts(owner: QlessLike) -> Operation[list[Document]]:
    """Return every worker that holds jobs or has a session, with its held and stalled jobs."""
    found = yield from _jobs_by_worker(owner)
    seen = 0
    while workers := (yield from sessions.workers(owner, offset=seen, count=PAGE)):
        seen += len(workers)
        for worker in workers:
            found.setdefault(worker.name, ([], []))
    return [
        {"name": name, "jobs": len(held), "stalled": len(late)}
        for name, (held, late) in sorted(found.items())
    ]


def worker(owner: QlessLike, name: str) -> Operation[dict[str, list[str]]]:
    """Return the ids of the jobs that a worker holds, and of its stalled jobs."""
    held, late = (yield from _jobs_by_worker(owner)).get(name, ([], []))
    return {"jobs": held, "stalled": late}


def _jobs_by_worker(owner: QlessLike) -> Operation[JobsByWorker]:
    found: JobsByWorker = {}
    for queue in (yield from all_counts(owner)):
        if queue["running"] + queue["stalled"]:
            yield from _add_running(QueueRef(owner.core, queue["name"]), queue["stalled"], found)
    return found


def _add_running(queue: QueueLike, late: int, found: JobsByWorker) -> Operation[None]:
    seen = 0
    while True:
        listed = yield from job_operations.queue_jobs(queue, "running", offset=seen, count=PAGE)
        for job in listed.jobs:
            seen += 1
            found.setdefault(job.worker, ([], []))[int(seen <= late)].append(job.id)
        if len(listed.jobs) < PAGE:
            return
