"""What is said of workers in the words of worqr, and what they do in the background."""

from __future__ import annotations

import time
from typing import TypeVar

from headrace.compat.opening import made
from headrace.compat.worqr.crew import Face, Member, Post, named_worker
from headrace.compat.worqr.notices import listen, waiting
from headrace.errors import HeadraceError, SessionEnded
from headrace.operations import sessions
from headrace.operations.held_leases import log
from headrace.operations.housekeeping import sweep
from headrace.operations.queues import QueueRef
from headrace.transport.drive import Operation, Receive

T = TypeVar("T")


def startWorker(face: Face, worker: str | None = None) -> Operation[None]:
    """Registers a worker, and keeps it alive in the background until failWorker."""
    name = named_worker(face, worker)
    ttl = None if face.workerTimeout < 0 else face.workerTimeout
    token = yield from sessions.start(face, name, ttl=ttl)
    face.crew.hire(Member(face.core, name, token, face.crew.new_bell()))


def keepWorkerAlive(face: Face, worker: str | None = None) -> Operation[None]:
    """Gives a worker its full time again. SessionEnded if it comes too late: it must restart."""
    member = face.crew.member(named_worker(face, worker))
    yield from _as(face, member, sessions.renew(member))


def startWork(face: Face, worker: str, queue: str | None = None) -> Operation[None]:
    """A worker starts work on a queue: it may start tasks, and handlers hear of the queue.

    startWork(queue) is said of the worker of this instance.
    """
    member, target = _who(face, worker, queue)
    yield from made(target, "task")
    yield from _as(face, member, sessions.serve(member, target.name))
    member.queues.add(target.name)
    if target.name in face.crew.posts:
        yield from requestWork(face, target.name)
    else:
        face.crew.take(Post(target.name, (yield from listen(target))))


def stopWork(face: Face, worker: str, queue: str | None = None) -> Operation[None]:
    """A worker stops work on a queue; what it was at there returns to the front of the queue.

    stopWork(queue) is said of the worker of this instance.
    """
    member, target = _who(face, worker, queue)
    yield from _as(face, member, sessions.unserve(member, target.name))
    member.queues.discard(target.name)


def _who(face: Face, worker: str, queue: str | None) -> tuple[Member, QueueRef]:
    name, queue = (face.workerId, worker) if queue is None else (worker, queue)
    return face.crew.member(named_worker(face, name)), QueueRef(face.core, queue)


def _as(face: Face, member: Member, operation: Operation[T]) -> Operation[T]:
    """What a worker says; if its time was up it works here no more."""
    try:
        return (yield from operation)
    except SessionEnded:
        face.crew.dismiss(member)
        raise


def failWorker(face: Face, worker: str | None = None) -> Operation[None]:
    """Ends a worker, this one or any other: all it was at returns to the front of its queues."""
    name = named_worker(face, worker)
    member = face.crew.members.get(name)
    if member is None:
        yield from sessions.end_by_name(face, name)
        return
    face.crew.dismiss(member)
    yield from sessions.end(member)


def requestWork(face: Face, queue: str) -> Operation[None]:
    """Handlers hear of work, if there is some."""
    for kind, tasks in (yield from waiting(QueueRef(face.core, queue))):
        face.crew.tell(queue, kind, tasks)


def keeping(face: Face, member: Member) -> Operation[None]:
    """Keeps a worker alive and looks after dead peers, until it ends."""
    cleanup = face.workerCleanupInterval / 1000
    pause = min(face.workerHeartbeatInterval / 1000, cleanup)
    swept = time.monotonic()
    while not member.ended:
        yield Receive(member.bell, pause)
        if member.ended:
            return
        if face.core.transport.closings:
            log.warning("worker %r is not kept alive: its client is closed", member.worker)
            face.crew.dismiss(member)
            return
        try:
            yield from sessions.renew(member)
            if time.monotonic() >= swept + cleanup:
                swept = time.monotonic()
                yield from sweep(face)
        except SessionEnded:
            log.warning("worker %r was not kept alive in time, it must restart", member.worker)
            face.crew.dismiss(member)
        except HeadraceError as error:
            log.warning("worker %r is not kept alive: %s", member.worker, error)
