"""What is said of tasks and processes in the words of worqr."""

from __future__ import annotations

from typing import Any, NamedTuple

from headrace.compat.opening import chosen, made
from headrace.compat.worqr.crew import Face, named_worker
from headrace.compat.worqr.notices import tell_done
from headrace.compat.worqr.values import Process, delivery, process_id
from headrace.engine.call import Call, build
from headrace.engine.check import text
from headrace.engine.record import Record, decode_record
from headrace.errors import JobNotFound, LeaseLost, SessionRequired
from headrace.operations import finishing, matching, popping, putting, queues
from headrace.operations.core import Core
from headrace.operations.queues import QueueRef
from headrace.operations.requests import ask_one
from headrace.operations.values import payload_of
from headrace.transport.drive import Operation


class Held(NamedTuple):
    """A process, with what shows that it is the present one of its task."""

    core: Core
    id: str
    token: str
    record: Record
    payload: bytes


def enqueue(face: Face, task: Any, queue: str, *, unique: bool = False) -> Operation[None]:
    """Adds a task, or a list of tasks in their order, at the back; who works there hears of it.

    A unique task is refused with JobExists while another one like it waits or is worked on.
    """
    target = QueueRef(face.core, queue)
    yield from made(target, "task")
    if isinstance(task, list | tuple):
        yield from putting.put_many(target, task, unique=unique)
    else:
        yield from putting.put(target, task, unique=unique)


def startTask(face: Face, queue: str, worker: str | None = None) -> Operation[Process | None]:
    """Moves the next task to a process of the worker; None if there is none.

    The worker must have been started, and have started work on the queue.
    """
    target = QueueRef(face.core, queue)
    name = named_worker(face, worker)
    member = face.crew.members.get(name)
    if (member is None or queue not in member.queues) and not (yield from chosen(target)):
        raise SessionRequired(name, queue)
    popped = yield from popping.pop(target, name)
    if not popped:
        return None
    [(job_id, record, _, payload)] = popped
    return Process(process_id(job_id, record.attempt), face.core.codec.decode(payload))


def stopTask(face: Face, process: str) -> Operation[None]:
    """Returns the task of a process to the front of its queue."""
    held = yield from _held(face, process)
    yield from finishing.release(held)


def finishTask(face: Face, process: str, result: Any = None) -> Operation[None]:
    """Ends a process and its task for good; who works on the queue hears of it, with the result."""
    held = yield from _held(face, process)
    yield from finishing.complete(held, finishing.NO_RESULT if result is None else result)
    queue = QueueRef(face.core, held.record.queue)
    told = None if result is None else face.core.codec.encode(result)
    yield from tell_done(queue, held.record.worker, held.payload, told)


def _held(face: Face, process: str) -> Operation[Held]:
    core = face.core
    job_id, attempt = delivery(process)
    text("process", job_id, core.limits.name)
    call: Call[list[Any]] = build("get", list, [(job_id,)])
    found = yield from ask_one(core, core.shard_of(job_id), call)
    if not found:
        raise JobNotFound(job_id)
    _, packed, apart, *_ = found[0]
    record = decode_record(packed)
    if record.state != "running" or record.attempt != attempt:
        raise LeaseLost(job_id, record.state, record.worker if record.state == "running" else "")
    return Held(core, job_id, record.token, record, payload_of(record, apart))


def cancelTasks(face: Face, queue: str, task: Any) -> Operation[None]:
    """Removes every task of a queue that is like this one, also those that are worked on."""
    yield from matching.cancel_matching(QueueRef(face.core, queue), task)


def deleteQueue(face: Face, queue: str) -> Operation[None]:
    """Deletes a queue with its tasks and processes; who works there hears of it."""
    yield from queues.delete(QueueRef(face.core, queue))
