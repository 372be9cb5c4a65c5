"""Short helpers for tests of jobs and queues."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from headrace import Client, Job, Lease, Queue
from headrace.testing import Clock


class Named(Protocol):
    """A job or a lease."""

    @property
    def id(self) -> str: ...


def found(hr: Client, job_id: str) -> Job:
    """Return the job of this id, which must exist."""
    job = hr.job(job_id)
    assert job is not None, f"there is no job {job_id!r}"
    return job


def ids(jobs: Iterable[Named]) -> list[str]:
    """Return the ids of jobs or leases."""
    return [job.id for job in jobs]


def pop_one(queue: Queue, worker: str = "w1", lease: float | None = None) -> Lease:
    """Pop one job; a job must be available."""
    [popped] = queue.pop(worker, lease=lease)
    return popped


def drain(queue: Queue, worker: str = "w1") -> list[str]:
    """Pop all jobs; return their ids in order."""
    served: list[str] = []
    while leases := queue.pop(worker):
        served += ids(leases)
    return served


def serve(queue: Queue, worker: str = "w1") -> list[str]:
    """Pop and complete all jobs; return their ids in order."""
    served: list[str] = []
    while leases := queue.pop(worker):
        served += ids(leases)
        for lease in leases:
            lease.complete()
    return served


def wait(clock: Clock, seconds: float) -> object:
    """Move the clock; unlike clock.tick, this call can be an element of a typed list."""
    return clock.tick(seconds)  # type: ignore[func-returns-value]
