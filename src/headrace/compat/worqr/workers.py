"""Operations on the workers of a Worqr."""

from __future__ import annotations

from typing import Protocol, TypeVar

from headrace.compat.opening import ensure_profile
from headrace.compat.worqr.background import LocalWorker, WorqrBackground
from headrace.compat.worqr.notices import listen, waiting_notice
from headrace.compat.worqr.tasks import WorqrLike, worker_name
from headrace.errors import SessionEnded
from headrace.operations import sessions
from headrace.operations.queues import QueueRef
from headrace.transport.drive import Operation

T = TypeVar("T")


class WorqrWithWorkers(WorqrLike, Protocol):
    """A Worqr."""

    @property
    def background(self) -> WorqrBackground:
        """The threads of the instance."""

    @property
    def workerTimeout(self) -> float:
        """Seconds without a heartbeat after which a worker ends."""


def startWorker(client: WorqrWithWorkers, worker: str | None = None) -> Operation[None]:
    """Register a worker and keep it alive in the background until failWorker."""
    name = worker_name(client, worker)
    ttl = None if client.workerTimeout < 0 else client.workerTimeout
    token = yield from sessions.start(client, name, ttl=ttl)
    client.background.add_worker(LocalWorker(client.core, name, token))


def keepWorkerAlive(client: WorqrWithWorkers, worker: str | None = None) -> Operation[None]:
    """Renew the session of a worker. Raises SessionEnded if it is too late: restart the worker."""
    local = client.background.worker(worker_name(client, worker))
    yield from _unless_ended(client, local, sessions.renew(local))


def startWork(client: WorqrWithWorkers, worker: str, queue: str | None = None) -> Operation[None]:
    """Let a worker start tasks of a queue, and call the handlers of the queue from now on.

    startWork(queue) uses the worker of this instance. Raises SessionEnded if it is not alive.
    """
    local, target = _worker_and_queue(client, worker, queue)
    yield from ensure_profile(target, "task")
    yield from _unless_ended(client, local, sessions.serve(local, target.name))
    local.queues.add(target.name)
    if target.name in client.background.subscriptions:
        yield from requestWork(client, target.name)
    else:
        client.background.add_subscription(target.name, (yield from listen(target)))


def stopWork(client: WorqrWithWorkers, worker: str, queue: str | None = None) -> Operation[None]:
    """Let a worker stop working on a queue and return its tasks to the front of the queue.

    stopWork(queue) uses the worker of this instance. Raises SessionEnded if it is not alive.
    """
    local, target = _worker_and_queue(client, worker, queue)
    yield from _unless_ended(client, local, sessions.unserve(local, target.name))
    local.queues.discard(target.name)
    client.background.drop_unused_subscriptions()


def _worker_and_queue(
    client: WorqrWithWorkers, worker: str, queue: str | None
) -> tuple[LocalWorker, QueueRef]:
    name, queue = (client.workerId, worker) if queue is None else (worker, queue)
    return client.background.worker(worker_name(client, name)), QueueRef(client.core, queue)


def _unless_ended(
    client: WorqrWithWorkers, worker: LocalWorker, operation: Operation[T]
) -> Operation[T]:
    """Run an operation of a worker; if its session has ended, forget the worker."""
    try:
        return (yield from operation)
    except SessionEnded:
        client.background.remove_worker(worker)
        raise


def failWorker(client: WorqrWithWorkers, worker: str | None = None) -> Operation[None]:
    """End a worker of this or another instance; its tasks return to the front of their queues.

    Raises SessionEnded if the worker is not alive.
    """
    name = worker_name(client, worker)
    local = client.background.workers.get(name)
    if local is None:
        yield from sessions.end_by_name(client, name)
        return
    client.background.remove_worker(local)
    yield from sessions.end(local)


def requestWork(client: WorqrWithWorkers, queue: str) -> Operation[None]:
    """Call the handlers of a queue with a work notice if tasks are waiting."""
    for kind, tasks in (yield from waiting_notice(QueueRef(client.core, queue))):
        client.background.notify(queue, kind, tasks)
