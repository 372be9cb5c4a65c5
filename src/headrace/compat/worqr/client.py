"""The sync and async Worqr clients."""

from __future__ import annotations

from contextlib import suppress
from typing import TypeVar
from uuid import uuid4

from headrace.client.client import AsyncClient, Client
from headrace.compat.common import AsyncCompatClient, CompatClient, ensure_profile
from headrace.compat.worqr.background import Handler, LocalWorker, WorqrBackground
from headrace.compat.worqr.notices import listen, waiting_notice
from headrace.compat.worqr.tasks import WorqrBase
from headrace.engine.check import Limits, number, text
from headrace.errors import InvalidArgument, SessionEnded
from headrace.operations import sessions
from headrace.operations.method import method
from headrace.operations.queues import QueueRef
from headrace.transport.drive import Operation

T = TypeVar("T")

PREFIX = "worqr"
MAX_NAME = Limits().name


def _namespace(client: Client | AsyncClient | str, prefix: str | None) -> str:
    """Return the namespace for a key prefix.

    If `client` is not a URL, the prefix must be None or the namespace of the client.
    """
    if isinstance(client, Client | AsyncClient) and prefix not in (None, client.core.namespace):
        raise InvalidArgument(
            f"the client has namespace {client.core.namespace!r}, not {prefix!r}: omit "
            "redisKeyPrefix or pass a URL"
        )
    return PREFIX if prefix is None else prefix


def _worker_id(given: str | None) -> str:
    return str(uuid4()) if given is None else text("workerId", given, MAX_NAME)


def _positive(name: str, interval: float) -> float:
    if number(name, interval) <= 0:
        raise InvalidArgument(f"{name} must be more than 0 milliseconds, not {interval}")
    return interval


class Worqr(WorqrBase, CompatClient):
    """Queues of tasks, with workers that background threads keep alive.

    `redisKeyPrefix` is the namespace. Intervals are in milliseconds. `workerTimeout` is in seconds;
    a worker with a negative timeout is permanent and ends only when a client calls failWorker.
    """

    def __init__(
        self,
        client: Client | str,
        *,
        redisKeyPrefix: str | None = None,
        workerId: str | None = None,
        workerHeartbeatInterval: float = 1000,
        workerTimeout: float = 3,
        workerCleanupInterval: float = 10_000,
    ) -> None:
        self.workerId = _worker_id(workerId)
        heartbeat = _positive("workerHeartbeatInterval", workerHeartbeatInterval)
        cleanup = _positive("workerCleanupInterval", workerCleanupInterval)
        if number("workerTimeout", workerTimeout) == 0:
            raise InvalidArgument(
                "workerTimeout must not be 0; use a negative value for a permanent worker"
            )
        self.workerHeartbeatInterval = heartbeat
        self.workerTimeout = workerTimeout
        self.workerCleanupInterval = cleanup
        super().__init__(client, _namespace(client, redisKeyPrefix))
        self.background = WorqrBackground(self.core, heartbeat / 1000, cleanup / 1000)

    @method
    def startWorker(self, worker: str | None = None) -> Operation[None]:
        """Register a worker and keep it alive in the background until failWorker is called."""
        name = self._worker_name(worker)
        ttl = None if self.workerTimeout < 0 else self.workerTimeout
        token = yield from sessions.start(self, name, ttl=ttl)
        self.background.add_worker(LocalWorker(self.core, name, token))

    @method
    def keepWorkerAlive(self, worker: str | None = None) -> Operation[None]:
        """Renew the session of a worker. Raises SessionEnded if the session has ended."""
        local = self.background.worker(self._worker_name(worker))
        yield from self._unless_ended(local, sessions.renew(local))

    @method
    def startWork(self, worker: str, queue: str | None = None) -> Operation[None]:
        """Let a worker start tasks of a queue, and call the handlers of the queue from now on.

        startWork(queue) uses the worker of this instance. Raises SessionEnded if the worker is not
        alive.
        """
        local, target = self._worker_and_queue(worker, queue)
        yield from ensure_profile(target, "task")
        yield from self._unless_ended(local, sessions.serve(local, target.name))
        local.queues.add(target.name)
        if target.name in self.background.subscriptions:
            yield from self._request_work(target)
        else:
            self.background.add_subscription(target.name, (yield from listen(target)))

    @method
    def stopWork(self, worker: str, queue: str | None = None) -> Operation[None]:
        """Stop a worker's work on a queue, and return the worker's tasks to the front of the queue.

        stopWork(queue) uses the worker of this instance. Raises SessionEnded if the worker is not
        alive.
        """
        local, target = self._worker_and_queue(worker, queue)
        yield from self._unless_ended(local, sessions.unserve(local, target.name))
        local.queues.discard(target.name)
        self.background.drop_unused_subscriptions()

    @method
    def failWorker(self, worker: str | None = None) -> Operation[None]:
        """End a worker of any client instance; its tasks return to the front of their queues.

        Raises SessionEnded if the worker is not alive.
        """
        name = self._worker_name(worker)
        local = self.background.workers.get(name)
        if local is None:
            yield from sessions.end_by_name(self, name)
            return
        self.background.remove_worker(local)
        yield from sessions.end(local)

    @method
    def requestWork(self, queue: str) -> Operation[None]:
        """Call the handlers of a queue with a work notice if tasks are waiting."""
        yield from self._request_work(QueueRef(self.core, queue))

    def _request_work(self, queue: QueueRef) -> Operation[None]:
        for kind, tasks in (yield from waiting_notice(queue)):
            self.background.notify(queue.name, kind, tasks)

    def _worker_and_queue(self, worker: str, queue: str | None) -> tuple[LocalWorker, QueueRef]:
        name, queue = (self.workerId, worker) if queue is None else (worker, queue)
        return self.background.worker(self._worker_name(name)), QueueRef(self.core, queue)

    def _unless_ended(self, worker: LocalWorker, operation: Operation[T]) -> Operation[T]:
        """Run an operation of a worker; if the session has ended, remove the worker."""
        try:
            return (yield from operation)
        except SessionEnded:
            self.background.remove_worker(worker)
            raise

    def serves(self, worker: str, queue: str) -> bool:
        """Return whether a worker of this instance has started work on a queue."""
        local = self.background.workers.get(worker)
        return local is not None and queue in local.queues

    def on(self, queue: str, handler: Handler) -> None:
        """Call handler(type, message) for every notice of a queue after startWork is called.

        The types are work (the message is the number of tasks), cancel (the task), delete (None)
        and done (a dict of workerId, task and result).
        """
        if not callable(handler):
            raise InvalidArgument(f"handler must be callable, not {type(handler).__name__}")
        self.background.handlers.setdefault(text("queue", queue, MAX_NAME), []).append(handler)

    def removeListener(self, queue: str, handler: Handler) -> None:
        """Stop calling a handler; ignore a handler that was never added."""
        with suppress(ValueError):
            self.background.handlers.get(queue, []).remove(handler)

    def close(self) -> None:
        """Stop the threads, and end the workers of this instance unless they are permanent."""
        self.background.close(end_sessions=self.workerTimeout > 0)
        super().close()


class AsyncWorqr(WorqrBase, AsyncCompatClient):
    """The asyncio form of Worqr, without workers and handlers.

    To start tasks, open a session with `await client.session(worker)` and serve the queue.
    """

    def __init__(
        self,
        client: AsyncClient | str,
        *,
        redisKeyPrefix: str | None = None,
        workerId: str | None = None,
    ) -> None:
        self.workerId = _worker_id(workerId)
        super().__init__(client, _namespace(client, redisKeyPrefix))
