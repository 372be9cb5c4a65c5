"""Values in the format of qless: jobs, statistics of a day, and times in seconds."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import msgspec

from headrace.client.lease import LeaseBase
from headrace.compat.qless.context import QlessLike
from headrace.engine.check import EPOCH, number
from headrace.engine.statistics import Series, Stats
from headrace.engine.timestamps import DAY
from headrace.errors import InvalidArgument
from headrace.operations.values import Job, Stage

# The Headrace states that have another name in qless.
STATES = {"blocked": "depends"}

Document = dict[str, Any]


def seconds(at: datetime | None) -> float | None:
    """Return a time as seconds since 1970."""
    return None if at is None else at.timestamp()


def lock_duration(now: float, expiration: float) -> float:
    """Return the seconds from `now` to `expiration`, two times on the caller's clock."""
    left = number("expiration", expiration) - number("now", now)
    if left < 0:
        raise InvalidArgument(f"expiration must not be before now, but is {-left} seconds earlier")
    return left


def history_entry(stage: Stage) -> list[Any]:
    """Return a stage of a job's history as [queue, put, popped, completed, worker].

    Missing values are None.
    """
    completed = stage.ended if stage.outcome == "completed" else None
    times = (seconds(stage.put), seconds(stage.popped), seconds(completed))
    return [stage.queue, *times, stage.worker or None]


class QlessJobFields(QlessLike):
    """A snapshot of a job, with the field names in the documentation of qless."""

    def __init__(self, owner: QlessLike, job: Job, lease: LeaseBase | None = None) -> None:
        self.core = owner.core
        self.context = owner.context
        self.lease = lease
        self.id = job.id
        self.priority = owner.context.flip_priority(job.priority)
        self.tags = job.tags
        self.worker = job.worker
        self.expires = seconds(job.expires) or 0
        self.state = STATES.get(job.state, job.state)
        self.queue = job.queue
        self.history = [history_entry(stage) for stage in job.history]
        self.retries = job.retries
        self.remaining = job.remaining
        self.dependencies = job.depends_on
        self.dependents = job.dependents
        self.throttles = job.throttles
        self.tracked = job.tracked
        self.spawned_from = job.schedule
        self._job = job

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id!r} of {self.queue!r}, {self.state}>"

    @property
    def data(self) -> Any:
        """The data of the job."""
        return self._job.data

    @property
    def failure(self) -> Document | None:
        """The failure of a failed job, with the keys type, message, when and worker."""
        failure = self._job.failure
        if failure is None:
            return None
        return {
            "type": failure.type,
            "message": failure.message,
            "when": seconds(failure.at),
            "worker": failure.worker,
        }

    @property
    def log_lines(self) -> list[tuple[float | None, str]]:
        """The log lines of the job, each with its time."""
        return [(seconds(at), line) for at, line in self._job.log]

    @property
    def taken(self) -> str | None:
        """Why the job was lost, "cancelled" or "lost"; None unless a watch reported a loss."""
        return None if self.lease is None else self.lease.taken

    def structure(self) -> Document:
        """Return the job as a dict in the format of qless.

        Data and tags are JSON text, and times are in seconds.
        """
        return {
            "id": self.id,
            "priority": self.priority,
            "data": msgspec.json.encode(self.data).decode(),
            "tags": msgspec.json.encode(self.tags).decode(),
            "worker": self.worker,
            "expires": self.expires,
            "state": self.state,
            "queue": self.queue,
            "history": self.history,
        }


def day_of(given: str | date | float | None) -> str | date | None:
    """Convert a time in seconds to a date; return a date, a text, or None (today) unchanged."""
    if isinstance(given, int | float):
        return EPOCH + timedelta(days=number("date", given) // DAY)
    return given


def series(found: Series) -> Document:
    """Return the statistics of one day's wait times or run times.

    `count` and `std` are names that later versions of qless use.
    """
    return {
        "total": found.count,
        "count": found.count,
        "mean": found.mean,
        "variance": found.variance,
        "std": found.std,
        "histogram": found.histogram,
        "coarse_histogram": found.coarse_histogram,
    }


def statistics(found: Stats) -> Document:
    """Return the statistics of a queue on one day."""
    return {
        "wait": series(found.wait),
        "run": series(found.run),
        "failed": found.failed,
        "failures": found.failures,
        "retries": found.retries,
    }
