"""How it goes: what is in the queues, who works, how long it takes."""

from __future__ import annotations

from datetime import date

from headrace.compat.qless.dialect import Face, QueueFace
from headrace.compat.qless.values import Document, day_of, statistics
from headrace.engine.check import PAGE, choice, page
from headrace.operations import jobs as job_talks
from headrace.operations import queues as queue_talks
from headrace.operations import schedules, sessions
from headrace.operations.paging import ids_of_page
from headrace.operations.protocols import QueueLike as KnownQueue
from headrace.operations.queues import QueueRef
from headrace.operations.values import Counts
from headrace.transport.drive import Operation

# States of qless, and ours.
LISTED = {
    "waiting": "waiting",
    "running": "running",
    "stalled": "running",
    "scheduled": "scheduled",
    "depends": "blocked",
    "failed": "failed",
    "complete": "complete",
}


def stats(queue: QueueFace, date: str | date | float | None = None) -> Operation[Document]:
    """Waiting and running times of a day (default: today), failures and retries."""
    return statistics((yield from queue_talks.stats(queue, day_of(date))))


# what is in a queue


def counts(queue: QueueFace) -> Operation[Document]:
    """How many jobs are in which state, and whether the queue is paused."""
    known = yield from queue_talks.counts(queue)
    return (yield from _counted(queue, known))


def all_counts(face: Face) -> Operation[list[Document]]:
    """The counts of every queue, in the order of their first use."""
    found: list[Document] = []
    while True:
        known = yield from queue_talks.queues(face, offset=len(found), count=PAGE)
        for name, each in known.items():
            found.append((yield from _counted(QueueRef(face.core, name), each)))
        if len(known) < PAGE:
            return found


def _counted(queue: KnownQueue, known: Counts) -> Operation[Document]:
    recurring, _ = yield from ids_of_page(
        queue.core, "schedules", queue.name, 0, 1, newest_first=False
    )
    return {
        "name": queue.name,
        "waiting": known.waiting,
        "running": known.running - known.late,
        "stalled": known.late,
        "scheduled": known.scheduled,
        "depends": known.blocked,
        "recurring": recurring,
        "paused": known.paused,
    }


def jobs(queue: QueueFace, state: str, offset: int = 0, count: int = 25) -> Operation[list[str]]:
    """The ids of a page of jobs in a state.

    The states are waiting, running, stalled, scheduled, depends, recurring, failed and complete.
    """
    choice("state", state, (*LISTED, "recurring"))
    offset, count = page(offset, count)
    if state == "recurring":
        found = yield from schedules.schedules(queue, queue.name, offset=offset, count=count)
        return [schedule.id for schedule in found]
    if state in ("running", "stalled"):
        # They are listed by their deadlines, so the late ones come first.
        late = (yield from queue_talks.counts(queue)).late
        if state == "running":
            offset += late
        elif offset >= late:
            return []
        else:
            count = min(count, late - offset)
    known = yield from job_talks.queue_jobs(queue, LISTED[state], offset=offset, count=count)
    return [job.id for job in known.jobs]


# who works


def worker_counts(face: Face) -> Operation[list[Document]]:
    """The workers that hold jobs or have a session, each with how many it holds and how many of
    them are stalled.
    """
    found = yield from _holders(face)
    seen = 0
    while known := (yield from sessions.workers(face, offset=seen, count=PAGE)):
        seen += len(known)
        for worker in known:
            found.setdefault(worker.name, ([], []))
    return [
        {"name": name, "jobs": len(held), "stalled": len(late)}
        for name, (held, late) in sorted(found.items())
    ]


def worker(face: Face, name: str) -> Operation[dict[str, list[str]]]:
    """The ids of the jobs that a worker holds, and of those among them that are stalled."""
    held, late = (yield from _holders(face)).get(name, ([], []))
    return {"jobs": held, "stalled": late}


Held = dict[str, tuple[list[str], list[str]]]


def _holders(face: Face) -> Operation[Held]:
    found: Held = {}
    for queue in (yield from all_counts(face)):
        if queue["running"] + queue["stalled"]:
            yield from _holders_in(QueueRef(face.core, queue["name"]), queue["stalled"], found)
    return found


def _holders_in(queue: KnownQueue, late: int, found: Held) -> Operation[None]:
    seen = 0
    while True:
        known = yield from job_talks.queue_jobs(queue, "running", offset=seen, count=PAGE)
        for job in known.jobs:
            seen += 1
            found.setdefault(job.worker, ([], []))[int(seen <= late)].append(job.id)
        if len(known.jobs) < PAGE:
            return
