"""Operations on queues, tasks and processes. A process is one delivery of a task."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from headrace.compat.common import (
    RunningJob,
    all_jobs,
    ensure_profile,
    is_configured,
    read_record,
)
from headrace.compat.worqr.notices import publish_done
from headrace.engine.check import text
from headrace.engine.record import Record
from headrace.errors import InvalidArgument, JobNotFound, LeaseLost, SessionRequired
from headrace.operations import finishing, jobs, jobs_by_data, popping, putting, queues, sessions
from headrace.operations.core import Core
from headrace.operations.method import method
from headrace.operations.paging import all_items
from headrace.operations.queues import QueueRef, all_queues
from headrace.operations.values import Job
from headrace.options import JobOptions
from headrace.transport.drive import Operation

ATTEMPT = re.compile("[0-9]{1,16}")


class WorqrProcess(NamedTuple):
    """A task that a worker is working on."""

    id: str
    task: Any


class WorqrBase:
    """The methods that Worqr and AsyncWorqr share."""

    core: Core
    workerId: str

    def serves(self, worker: str, queue: str) -> bool:  # noqa: ARG002 - see Worqr
        """Return whether a worker of this instance has started work on a queue."""
        return False

    def _worker_name(self, worker: str | None) -> str:
        """Return the name of a worker; the default is the worker of this instance."""
        return self.workerId if worker is None else text("worker", worker, self.core.limits.name)

    @method
    def enqueue(self, task: Any, queue: str, *, unique: bool = False) -> Operation[None]:
        """Add a task, or a list of tasks in order, to the back of a queue; notify the workers.

        Raises JobExists for a unique task while an equal task is waiting or running.
        """
        target = QueueRef(self.core, queue)
        yield from ensure_profile(target, "task")
        # A put without any option takes the short path.
        options: JobOptions = {"unique": True} if unique else {}
        if isinstance(task, list | tuple):
            yield from putting.put_many(target, task, **options)
        else:
            yield from putting.put(target, task, **options)

    @method
    def startTask(self, queue: str, worker: str | None = None) -> Operation[WorqrProcess | None]:
        """Start the next task as a new process of the worker; return None if no task is waiting.

        Raises SessionRequired unless the worker is started and has started work on the queue.
        """
        target = QueueRef(self.core, queue)
        name = self._worker_name(worker)
        if not self.serves(name, queue) and not (yield from is_configured(target)):
            raise SessionRequired(name, queue)
        popped = yield from popping.pop(target, name)
        if not popped:
            return None
        [(job_id, record, _, payload)] = popped
        return WorqrProcess(_process_id(job_id, record.attempt), self.core.codec.decode(payload))

    @method
    def stopTask(self, process: str) -> Operation[None]:
        """Return the task of a process to the front of the task's queue.

        Raises LeaseLost if the process has ended, and JobNotFound if the task does not exist.
        """
        running, _, _ = yield from _running(self.core, process)
        yield from finishing.release(running)

    @method
    def finishTask(self, process: str, result: Any = None) -> Operation[None]:
        """Finish a process and its task, and send the result to the workers of the queue.

        Raises LeaseLost if the process has ended, and JobNotFound if the task does not exist.
        """
        running, record, payload = yield from _running(self.core, process)
        yield from finishing.complete(running, finishing.NO_RESULT if result is None else result)
        queue = QueueRef(self.core, record.queue)
        encoded = None if result is None else self.core.codec.encode(result)
        yield from publish_done(queue, record.worker, payload, encoded)

    @method
    def cancelTasks(self, queue: str, task: Any) -> Operation[None]:
        """Remove all waiting and running tasks that equal `task` from a queue."""
        yield from jobs_by_data.cancel_matching(QueueRef(self.core, queue), task)

    @method
    def deleteQueue(self, queue: str) -> Operation[None]:
        """Delete a queue with its tasks and processes, and notify its workers.

        Raises QueueNotFound if there is no such queue.
        """
        yield from queues.delete(QueueRef(self.core, queue))

    @method
    def getQueues(self) -> Operation[list[str]]:
        """Return the names of the queues in the order of their first use."""
        return (yield from all_queues(self.core))

    @method
    def countTasks(self, queue: str) -> Operation[int]:
        """Return how many tasks are waiting in a queue."""
        return (yield from queues.counts(QueueRef(self.core, queue))).waiting

    @method
    def peekTask(self, queue: str) -> Operation[Any]:
        """Return the next task of a queue without removing it, or None if no task is waiting."""
        found = yield from popping.peek(QueueRef(self.core, queue))
        return found[0].data if found else None

    @method
    def getTasks(self, queue: str) -> Operation[list[Any]]:
        """Return the waiting tasks of a queue, the next task first."""
        return [job.data for job in (yield from all_jobs(QueueRef(self.core, queue), "waiting"))]

    @method
    def getWorkers(self) -> Operation[list[str]]:
        """Return the names of the workers that are alive."""
        # A worker that is dead stays listed with 0 seconds until another call returns its tasks.
        workers = yield from all_items(sessions.workers, self)
        return [worker.name for worker in workers if worker.expires_in != 0]

    @method
    def getProcesses(self) -> Operation[list[str]]:
        """Return the process ids of all queues."""
        found: list[str] = []
        for queue in (yield from all_queues(self.core)):
            found += _process_ids((yield from all_jobs(QueueRef(self.core, queue), "running")))
        return found

    @method
    def getMatchingProcesses(self, task: Any) -> Operation[list[str]]:
        """Return the ids of all processes, in all queues, whose task equals `task`."""
        ids: list[str] = []
        for queue in (yield from all_queues(self.core)):
            ids += yield from jobs_by_data.matching(QueueRef(self.core, queue), task)
        return _process_ids((yield from jobs.jobs(self, ids)))

    dequeue = startTask


def _running(core: Core, process: str) -> Operation[tuple[RunningJob, Record, bytes]]:
    """Return the running job of a process, with the record and the payload of the job."""
    job_id, attempt = _delivery(process)
    found = yield from read_record(core, job_id)
    if found is None:
        raise JobNotFound(job_id)
    record, payload = found
    if record.state != "running" or record.attempt != attempt:
        raise LeaseLost(job_id, record.state, record.worker if record.state == "running" else "")
    return RunningJob(core, job_id, record.token), record, payload


def _process_id(job_id: str, attempt: int) -> str:
    return f"{attempt}_{job_id}"


def _delivery(process: str) -> tuple[str, int]:
    """Return the job id and the attempt number of a process."""
    if not isinstance(process, str):
        raise InvalidArgument(f"process must be a str, not {type(process).__name__}")
    attempt, _, job_id = process.partition("_")
    if not ATTEMPT.fullmatch(attempt) or not job_id:
        raise InvalidArgument(
            f"{process!r} is not a process id: pass the id that startTask returned"
        )
    return job_id, int(attempt)


def _process_ids(found: list[Job]) -> list[str]:
    return [_process_id(job.id, job.attempt) for job in found if job.state == "running"]
