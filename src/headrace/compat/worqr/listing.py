"""What can be asked in the words of worqr; nothing is changed by it."""

from __future__ import annotations

from typing import Any

from headrace.compat.worqr.crew import Face
from headrace.compat.worqr.values import process_id
from headrace.engine.check import PAGE
from headrace.operations import jobs, matching, popping, queues, sessions
from headrace.operations.queues import QueueRef, all_queues
from headrace.operations.values import Job
from headrace.transport.drive import Operation


def getQueues(face: Face) -> Operation[list[str]]:
    """The queues, in the order of their first use."""
    return (yield from all_queues(face.core))


def countTasks(face: Face, queue: str) -> Operation[int]:
    """How many tasks wait in a queue."""
    return (yield from queues.counts(QueueRef(face.core, queue))).waiting


def peekTask(face: Face, queue: str) -> Operation[Any]:
    """The next task of a queue, which stays there; None if there is none."""
    found = yield from popping.peek(QueueRef(face.core, queue))
    return found[0].data if found else None


def getTasks(face: Face, queue: str) -> Operation[list[Any]]:
    """The tasks that wait in a queue, the next one first."""
    return [job.data for job in (yield from _jobs(face, queue, "waiting"))]


def getWorkers(face: Face) -> Operation[list[str]]:
    """The workers that are alive."""
    names: list[str] = []
    while True:
        found = yield from sessions.workers(face, offset=len(names), count=PAGE)
        names += [worker.name for worker in found]
        if len(found) < PAGE:
            return names


def getProcesses(face: Face) -> Operation[list[str]]:
    """The processes of all queues."""
    found: list[str] = []
    for queue in (yield from all_queues(face.core)):
        found += _ids((yield from _jobs(face, queue, "running")))
    return found


def getMatchingProcesses(face: Face, task: Any) -> Operation[list[str]]:
    """The processes of all queues that work on tasks like this one."""
    ids: list[str] = []
    for queue in (yield from all_queues(face.core)):
        ids += yield from matching.matching(QueueRef(face.core, queue), task)
    return _ids((yield from jobs.jobs(face, ids)))


def _ids(found: list[Job]) -> list[str]:
    return [process_id(job.id, job.attempt) for job in found if job.state == "running"]


def _jobs(face: Face, queue: str, state: str) -> Operation[list[Job]]:
    target = QueueRef(face.core, queue)
    every: list[Job] = []
    while True:
        page = yield from jobs.queue_jobs(target, state, offset=len(every), count=PAGE)
        every += page.jobs
        if len(page.jobs) < PAGE:
            return every
