"""Values of qless: the job structure of its document, statistics of a day, times in seconds."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import msgspec

from headrace.client.lease import LeaseBase
from headrace.compat.qless.context import QlessContext, QlessLike
from headrace.engine.check import EPOCH, number
from headrace.engine.statistics import Series, Stats
from headrace.errors import InvalidArgument
from headrace.operations.core import Core
from headrace.operations.values import Job, Stage

# States that have another name in qless.
STATES = {"blocked": "depends"}

Document = dict[str, Any]


def seconds(at: datetime | None) -> float | None:
    """Return a time as seconds since 1970."""
    return None if at is None else at.timestamp()


def lock_duration(now: float, expiration: float) -> float:
    """Return the seconds from now to expiration, two times of the caller's clock."""
    left = number("expiration", expiration) - number("now", now)
    if left < 0:
        raise InvalidArgument(f"expiration must not be before now; it is {-left} seconds before")
    return left


def decode_json(name: str, blob: str | bytes) -> Any:
    """Return the value of a JSON argument. Raises InvalidArgument if it is not JSON."""
    if not isinstance(blob, str | bytes):
        raise InvalidArgument(f"{name} must be JSON text, not {type(blob).__name__}")
    try:
        return msgspec.json.decode(blob)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise InvalidArgument(f"{name} must be JSON: {error}") from error


def encode_json(value: Any) -> str:
    """Return a value as JSON text."""
    return msgspec.json.encode(value).decode()


def history_entry(stage: Stage) -> list[Any]:
    """Return a stage as [queue, put, popped, completed, worker], with None for what is missing."""
    completed = stage.ended if stage.outcome == "completed" else None
    times = (seconds(stage.put), seconds(stage.popped), seconds(completed))
    return [stage.queue, *times, stage.worker or None]


class QlessJobFields(QlessLike):
    """A job as it was when it was read, with the field names of the qless document."""

    def __init__(
        self, context: QlessContext, core: Core, job: Job, lease: LeaseBase | None
    ) -> None:
        self.core = core
        self.context = context
        self.lease = lease
        self.id = job.id
        self.priority = context.flip_priority(job.priority)
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
        """The failure of a failed job: type, message, when and worker."""
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
        """Why the job was taken from its holder, if a watch of the client was notified of it."""
        return None if self.lease is None else self.lease.taken

    def structure(self) -> Document:
        """Return the job structure of the document: data and tags as JSON, times in seconds."""
        return {
            "id": self.id,
            "priority": self.priority,
            "data": encode_json(self.data),
            "tags": encode_json(self.tags),
            "worker": self.worker,
            "expires": self.expires,
            "state": self.state,
            "queue": self.queue,
            "history": self.history,
        }


def day_of(given: str | date | float | None) -> str | date | None:
    """Return the day of a date, its text, or any time of that day in seconds; None is today."""
    if isinstance(given, int | float):
        return EPOCH + timedelta(days=number("date", given) // 86_400)
    return given


def series(found: Series) -> Document:
    """Return one series of a day; `count` and `std` are names of later versions."""
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
