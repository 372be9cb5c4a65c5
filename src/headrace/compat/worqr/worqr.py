"""Worqr, for code that blocks and for code that awaits."""

from __future__ import annotations

from headrace.client.client import AsyncClient, Client
from headrace.compat.opening import AsyncOpened, Opened, awaiting
from headrace.compat.worqr import listing, tasks, workers
from headrace.compat.worqr.background import Tasks, Threads, tended, tended_async
from headrace.compat.worqr.instance import Instance, namespace_of
from headrace.operations.method import blocking, named


@named
class Worqr(Instance, Opened):
    """Queues of tasks for workers that stay alive, for code that blocks.

    The key prefix is the namespace; intervals are milliseconds, and the timeout of a worker is
    seconds: less than 0 is a permanent worker, which ends only when somebody fails it.
    """

    crew: Threads

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
        self._choose(workerId, workerHeartbeatInterval, workerTimeout, workerCleanupInterval)
        self.crew = Threads()
        Opened.__init__(self, client, namespace_of(client, redisKeyPrefix))

    cancelTasks = blocking(tasks.cancelTasks)
    countTasks = blocking(listing.countTasks)
    deleteQueue = blocking(tasks.deleteQueue)
    dequeue = blocking(tasks.startTask)
    enqueue = blocking(tasks.enqueue)
    failWorker = tended(workers.failWorker)
    finishTask = blocking(tasks.finishTask)
    getMatchingProcesses = blocking(listing.getMatchingProcesses)
    getProcesses = blocking(listing.getProcesses)
    getQueues = blocking(listing.getQueues)
    getTasks = blocking(listing.getTasks)
    getWorkers = blocking(listing.getWorkers)
    keepWorkerAlive = tended(workers.keepWorkerAlive)
    peekTask = blocking(listing.peekTask)
    requestWork = blocking(workers.requestWork)
    startTask = blocking(tasks.startTask)
    startWork = tended(workers.startWork)
    startWorker = tended(workers.startWorker)
    stopTask = blocking(tasks.stopTask)
    stopWork = tended(workers.stopWork)

    def close(self) -> None:
        """Fails the workers of this instance, but for permanent ones, and ends what it runs."""
        self.crew.end(self)
        Opened.close(self)


@named
class AsyncWorqr(Instance, AsyncOpened):
    """The same for code that awaits; a handler may be a coroutine function."""

    crew: Tasks

    def __init__(
        self,
        client: AsyncClient | str,
        *,
        redisKeyPrefix: str | None = None,
        workerId: str | None = None,
        workerHeartbeatInterval: float = 1000,
        workerTimeout: float = 3,
        workerCleanupInterval: float = 10_000,
    ) -> None:
        self._choose(workerId, workerHeartbeatInterval, workerTimeout, workerCleanupInterval)
        self.crew = Tasks()
        AsyncOpened.__init__(self, client, namespace_of(client, redisKeyPrefix))

    cancelTasks = awaiting(tasks.cancelTasks)
    countTasks = awaiting(listing.countTasks)
    deleteQueue = awaiting(tasks.deleteQueue)
    dequeue = awaiting(tasks.startTask)
    enqueue = awaiting(tasks.enqueue)
    failWorker = tended_async(workers.failWorker)
    finishTask = awaiting(tasks.finishTask)
    getMatchingProcesses = awaiting(listing.getMatchingProcesses)
    getProcesses = awaiting(listing.getProcesses)
    getQueues = awaiting(listing.getQueues)
    getTasks = awaiting(listing.getTasks)
    getWorkers = awaiting(listing.getWorkers)
    keepWorkerAlive = tended_async(workers.keepWorkerAlive)
    peekTask = awaiting(listing.peekTask)
    requestWork = awaiting(workers.requestWork)
    startTask = awaiting(tasks.startTask)
    startWork = tended_async(workers.startWork)
    startWorker = tended_async(workers.startWorker)
    stopTask = awaiting(tasks.stopTask)
    stopWork = tended_async(workers.stopWork)

    async def close(self) -> None:
        """Fails the workers of this instance, but for permanent ones, and ends what it runs."""
        await self.crew.end(self)
        await AsyncOpened.close(self)
