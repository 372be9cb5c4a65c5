"""Leases, sync and async: popped jobs that a worker holds until a deadline."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from headrace.codecs.codec import Codec, bound
from headrace.engine.timestamps import moment
from headrace.operations import finishing
from headrace.operations.core import Core
from headrace.operations.method import AsyncMethods, SyncMethods, method
from headrace.operations.popping import Popped
from headrace.operations.values import Job, read_job


class LeaseBase:
    """A leased job, and the methods that Lease and AsyncLease share."""

    __slots__ = ("__weakref__", "_popped", "core", "id", "payload", "taken", "token")

    complete = method(finishing.complete)
    fail = method(finishing.fail)
    heartbeat = method(finishing.heartbeat)
    log = method(finishing.log)
    progress = method(finishing.progress)
    release = method(finishing.release)

    def __init__(self, core: Core, popped: Popped) -> None:
        self.core = core
        self.id, record, _, self.payload = popped
        self.token = record.token
        self._popped = popped
        self.taken: str | None = None
        # Some queues remove a job when it is popped. Such a job has no lease that could be lost.
        if core.held_leases and record.state == "running":
            for held_leases in tuple(core.held_leases):
                if held_leases.worker == record.worker:
                    held_leases.add(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id!r} of {self.queue!r}, attempt {self.attempt}>"

    @property
    def attempt(self) -> int:
        """The attempt number, starting at 1."""
        return self._popped.record.attempt

    @property
    def queue(self) -> str:
        """The queue that the job was popped from."""
        return self._popped.record.queue

    @property
    def worker(self) -> str:
        """The worker that holds the job."""
        return self._popped.record.worker

    @property
    def data(self) -> Any:
        """The decoded data of the job."""
        return bound(self.core.codec, self.id, self.queue).decode(self.payload)

    @property
    def popped_at(self) -> datetime:
        """The time at which the job was popped, by the server's clock."""
        return moment(self._popped.record.since)

    @property
    def job(self) -> Job:
        """The job as it was when it was popped."""
        return job_of(self.core.codec, self._popped)


def job_of(codec: Codec, popped: Popped) -> Job:
    """Return a job as it was when it was popped."""
    unread: list[Any] = [popped.payload, b"", (None, None, None), [], 0, ([], [])]
    return read_job(codec, [popped.id.encode(), popped.packed, *unread])


class Lease(LeaseBase, SyncMethods):
    """A popped job. Complete, fail or release the lease before its deadline.

    If a watch reports that the lease was lost, `taken` becomes "cancelled" or "lost".

        for lease in queue.pop("worker-1", count=10, wait=5):
            lease.complete(handle(lease.data))
    """

    __slots__ = ()


class AsyncLease(LeaseBase, AsyncMethods):
    """The asyncio form of Lease."""

    __slots__ = ()
