"""A queue, sync and async."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.client.lease import AsyncLease, Lease
from headrace.engine.call import Answer
from headrace.engine.check import Span
from headrace.operations import jobs as job_operations
from headrace.operations import matching, popping, putting, queues, schedules
from headrace.operations.finishing import complete_and_pop
from headrace.operations.method import AsyncMethods, SyncMethods, method
from headrace.transport.drive import drive, drive_async


class QueueBase(queues.QueueRef):
    """The methods that Queue and AsyncQueue share."""

    cancel_matching = method(matching.cancel_matching)
    configure = method(queues.configure)
    counts = method(queues.counts)
    delete = method(queues.delete)
    jobs = method(job_operations.queue_jobs)
    length = method(queues.length)
    matching = method(matching.matching)
    pause = method(queues.pause)
    peek = method(popping.peek)
    put = method(putting.put)
    put_many = method(putting.put_many)
    resume = method(queues.resume)
    schedule = method(schedules.schedule_queue)
    settings = method(queues.settings)
    stats = method(queues.stats)


class Queue(QueueBase, SyncMethods):
    """A queue of a namespace. The first put creates it on the server."""

    def pop(
        self, worker: str, *, count: int = 1, lease: Span | None = None, wait: Span | None = 0
    ) -> list[Lease]:
        """Lease up to count jobs to a worker, in the order of the queue.

        If the queue is empty, wait up to `wait` seconds for the first job; None waits without a
        limit. `lease` is the time after which an unfinished job goes back to the queue; math.inf
        ties it to the session of the worker. The default is the setting of the queue.

        Raises SessionEnded if `lease` is math.inf and the worker has no session.

            [lease] = queue.pop("worker-1", wait=10)
            send(lease.data)
            lease.complete()
        """
        operation = popping.pop(self, worker, count=count, lease=lease, wait=wait)
        return [Lease(self.core, popped) for popped in drive(self.core.transport, operation)]

    def complete_and_pop(
        self,
        leases: Iterable[Lease],
        worker: str,
        *,
        results: Iterable[Any] | None = None,
        count: int = 1,
        lease: Span | None = None,
    ) -> tuple[list[Answer], list[Lease]]:
        """Complete jobs and lease the next ones in one round trip.

        Return an answer for each completed job (None, or the error that refused it) and the new
        leases. It does not wait for jobs.
        """
        operation = complete_and_pop(self, leases, worker, results, count, lease)
        answers, jobs_popped = drive(self.core.transport, operation)
        return answers, [Lease(self.core, popped) for popped in jobs_popped]


class AsyncQueue(QueueBase, AsyncMethods):
    """The asyncio form of Queue."""

    async def pop(
        self, worker: str, *, count: int = 1, lease: Span | None = None, wait: Span | None = 0
    ) -> list[AsyncLease]:
        """Lease up to count jobs to a worker; see Queue.pop."""
        operation = popping.pop(self, worker, count=count, lease=lease, wait=wait)
        return [
            AsyncLease(self.core, popped)
            for popped in await drive_async(self.core.transport, operation)
        ]

    async def complete_and_pop(
        self,
        leases: Iterable[AsyncLease],
        worker: str,
        *,
        results: Iterable[Any] | None = None,
        count: int = 1,
        lease: Span | None = None,
    ) -> tuple[list[Answer], list[AsyncLease]]:
        """Complete jobs and lease the next ones in one round trip; see Queue.complete_and_pop."""
        operation = complete_and_pop(self, leases, worker, results, count, lease)
        answers, jobs_popped = await drive_async(self.core.transport, operation)
        return answers, [AsyncLease(self.core, popped) for popped in jobs_popped]
