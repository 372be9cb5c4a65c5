"""A queue, sync and async."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.client.lease import AsyncLease, Lease
from headrace.engine.call import Answer
from headrace.engine.check import Span
from headrace.operations import daily_totals, jobs_by_data, popping, putting, queues, schedules
from headrace.operations import jobs as job_operations
from headrace.operations.complete_and_pop import complete_and_pop
from headrace.operations.method import AsyncMethods, SyncMethods, method
from headrace.transport.drive import drive, drive_async


class QueueBase(queues.QueueRef):
    """The methods that Queue and AsyncQueue share."""

    cancel_matching = method(jobs_by_data.cancel_matching)
    configure = method(queues.configure)
    counts = method(queues.counts)
    delete = method(queues.delete)
    jobs = method(job_operations.queue_jobs)
    length = method(queues.length)
    matching = method(jobs_by_data.matching)
    pause = method(queues.pause)
    peek = method(popping.peek)
    put = method(putting.put)
    put_many = method(putting.put_many)
    resume = method(queues.resume)
    schedule = method(schedules.schedule_queue)
    settings = method(queues.settings)
    stats = method(daily_totals.stats)


class Queue(QueueBase, SyncMethods):
    """A queue of a namespace. The first put creates the queue on the server."""

    def pop(
        self, worker: str, *, count: int = 1, lease: Span | None = None, wait: Span | None = 0
    ) -> list[Lease]:
        """Lease up to `count` jobs to a worker, in the order of the queue.

        If the queue is empty, wait up to `wait` seconds for the first job; None means no limit. An
        unfinished job returns to the queue after `lease` seconds; the default is the queue's
        setting `lease`. With math.inf, the lease lasts as long as the session of the worker. The
        call returns fewer than `count` jobs if their payloads are large or limits apply to them.

        Raises SessionRequired if `lease` is math.inf and the worker has no session. On a queue with
        session="none", pop does not raise this error. If the queue has session="required", every
        pop needs a session that serves the queue.

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
        """Complete jobs and lease the next jobs in one round trip.

        Returns one answer for each lease (the job's new state, or an error), and the new leases.
        The call does not wait for jobs.

        Raises InvalidArgument if a shard has more leases than Limits.batch, or if the numbers of
        results and leases differ. Raises SessionRequired in the same cases as Queue.pop. Raises
        NotDurable if the server does not confirm the completions; `result` of the error has the
        answers and the new leases.

            answers, leases = queue.complete_and_pop(leases, "worker-1", count=10)
        """
        operation = complete_and_pop(self, leases, worker, results, count, lease, Lease)
        return drive(self.core.transport, operation)


class AsyncQueue(QueueBase, AsyncMethods):
    """The asyncio form of Queue."""

    async def pop(
        self, worker: str, *, count: int = 1, lease: Span | None = None, wait: Span | None = 0
    ) -> list[AsyncLease]:
        """Lease up to `count` jobs to a worker; see Queue.pop."""
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
        """Complete jobs and lease the next jobs in one round trip; see Queue.complete_and_pop."""
        operation = complete_and_pop(self, leases, worker, results, count, lease, AsyncLease)
        return await drive_async(self.core.transport, operation)
