"""A queue, for code that blocks and for code that awaits: the same names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.client.lease import AsyncLease, Lease
from headrace.engine.call import Answer
from headrace.engine.check import Span
from headrace.operations import jobs as job_talks
from headrace.operations import popping, putting, queues, schedules
from headrace.operations.core import Core
from headrace.operations.finishing import complete_and_pop
from headrace.operations.method import awaiting, blocking, named
from headrace.transport.drive import drive, drive_async


class QueueName:
    """What a queue knows without asking the server: its name."""

    def __init__(self, core: Core, name: str) -> None:
        self.core = core
        self.name = queues.check_name(core, name)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} of {self.core.namespace!r}>"


@named
class Queue(QueueName):
    """A queue, for code that blocks."""

    configure = blocking(queues.configure)
    counts = blocking(queues.counts)
    delete = blocking(queues.delete)
    jobs = blocking(job_talks.queue_jobs)
    length = blocking(queues.length)
    pause = blocking(queues.pause)
    peek = blocking(popping.peek)
    put = blocking(putting.put)
    put_many = blocking(putting.put_many)
    resume = blocking(queues.resume)
    schedule = blocking(schedules.schedule_queue)
    settings = blocking(queues.settings)
    stats = blocking(queues.stats)

    def pop(
        self, worker: str, *, count: int = 1, lease: Span | None = None, wait: Span | None = 0
    ) -> list[Lease]:
        """Up to count jobs for a worker, each under a lease; waits for the first as asked."""
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
        """Ends jobs and takes the next ones, in one round trip."""
        operation = complete_and_pop(self, leases, worker, results, count, lease)
        answers, jobs_popped = drive(self.core.transport, operation)
        return answers, [Lease(self.core, popped) for popped in jobs_popped]


@named
class AsyncQueue(QueueName):
    """A queue, for code that awaits."""

    configure = awaiting(queues.configure)
    counts = awaiting(queues.counts)
    delete = awaiting(queues.delete)
    jobs = awaiting(job_talks.queue_jobs)
    length = awaiting(queues.length)
    pause = awaiting(queues.pause)
    peek = awaiting(popping.peek)
    put = awaiting(putting.put)
    put_many = awaiting(putting.put_many)
    resume = awaiting(queues.resume)
    schedule = awaiting(schedules.schedule_queue)
    settings = awaiting(queues.settings)
    stats = awaiting(queues.stats)

    async def pop(
        self, worker: str, *, count: int = 1, lease: Span | None = None, wait: Span | None = 0
    ) -> list[AsyncLease]:
        """Up to count jobs for a worker, each under a lease; waits for the first as asked."""
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
        """Ends jobs and takes the next ones, in one round trip."""
        operation = complete_and_pop(self, leases, worker, results, count, lease)
        answers, jobs_popped = await drive_async(self.core.transport, operation)
        return answers, [AsyncLease(self.core, popped) for popped in jobs_popped]
