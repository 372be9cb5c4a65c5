"""The Worqr client, sync and async."""

from __future__ import annotations

from contextlib import suppress
from uuid import uuid4

from headrace.client.client import AsyncClient, Client
from headrace.compat.opening import AsyncCompatClient, CompatClient
from headrace.compat.worqr import tasks, workers
from headrace.compat.worqr.background import Handler, WorqrBackground
from headrace.engine.check import Limits, number, text
from headrace.errors import InvalidArgument
from headrace.operations.method import method

PREFIX = "worqr"
MAX_NAME = Limits().name


class WorqrBase:
    """The methods that Worqr and AsyncWorqr share."""

    cancelTasks = method(tasks.cancelTasks)
    countTasks = method(tasks.countTasks)
    deleteQueue = method(tasks.deleteQueue)
    dequeue = method(tasks.startTask)
    enqueue = method(tasks.enqueue)
    finishTask = method(tasks.finishTask)
    getMatchingProcesses = method(tasks.getMatchingProcesses)
    getProcesses = method(tasks.getProcesses)
    getQueues = method(tasks.getQueues)
    getTasks = method(tasks.getTasks)
    getWorkers = method(tasks.getWorkers)
    peekTask = method(tasks.peekTask)
    startTask = method(tasks.startTask)
    stopTask = method(tasks.stopTask)

    workerId: str

    def serves(self, worker: str, queue: str) -> bool:  # noqa: ARG002 - see Worqr
        """Return whether a worker of this instance has started work on a queue."""
        return False


def _namespace(client: Client | AsyncClient | str, prefix: str | None) -> str:
    """Return the namespace of a key prefix; a client that is passed in has one already."""
    if isinstance(client, Client | AsyncClient) and prefix not in (None, client.core.namespace):
        raise InvalidArgument(
            f"the client has namespace {client.core.namespace!r}, not {prefix!r}: omit "
            "redisKeyPrefix or pass a URL"
        )
    return PREFIX if prefix is None else prefix


def _worker_id(given: str | None) -> str:
    return str(uuid4()) if given is None else text("workerId", given, MAX_NAME)


class Worqr(WorqrBase, CompatClient):
    """Queues of tasks, with workers that background threads keep alive.

    `redisKeyPrefix` is the namespace. Intervals are milliseconds. `workerTimeout` is seconds; a
    negative one makes a permanent worker, which ends only when a client fails it.
    """

    failWorker = method(workers.failWorker)
    keepWorkerAlive = method(workers.keepWorkerAlive)
    requestWork = method(workers.requestWork)
    startWork = method(workers.startWork)
    startWorker = method(workers.startWorker)
    stopWork = method(workers.stopWork)

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
        for name, interval in (
            ("workerHeartbeatInterval", workerHeartbeatInterval),
            ("workerCleanupInterval", workerCleanupInterval),
        ):
            if number(name, interval) <= 0:
                raise InvalidArgument(f"{name} must be more than 0 milliseconds, not {interval}")
        if number("workerTimeout", workerTimeout) == 0:
            raise InvalidArgument("workerTimeout must not be 0; negative is a permanent worker")
        self.workerHeartbeatInterval = workerHeartbeatInterval
        self.workerTimeout = workerTimeout
        self.workerCleanupInterval = workerCleanupInterval
        super().__init__(client, _namespace(client, redisKeyPrefix))
        self.background = WorqrBackground(
            self.core, workerHeartbeatInterval / 1000, workerCleanupInterval / 1000
        )

    def serves(self, worker: str, queue: str) -> bool:
        """Return whether a worker of this instance has started work on a queue."""
        local = self.background.workers.get(worker)
        return local is not None and queue in local.queues

    def on(self, queue: str, handler: Handler) -> None:
        """Call handler(type, message) at every notice of a queue, from startWork on.

        The types are work (with the number of tasks), cancel (with the task), delete, and done
        (with a dict of workerId, task and result).
        """
        if not callable(handler):
            raise InvalidArgument(f"handler must be callable, not {type(handler).__name__}")
        self.background.handlers.setdefault(text("queue", queue, MAX_NAME), []).append(handler)

    def removeListener(self, queue: str, handler: Handler) -> None:
        """Stop calling a handler; ignore one that was never added."""
        with suppress(ValueError):
            self.background.handlers.get(queue, []).remove(handler)

    def close(self) -> None:
        """Fail the workers of this instance, except permanent ones, and stop its threads."""
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
