"""The job of the document, the numbers of a day, and moments as seconds."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import msgspec

from headrace.client.lease import LeaseBase
from headrace.compat.qless.dialect import Dialect
from headrace.engine.check import EPOCH, number
from headrace.engine.statistics import Series, Stats
from headrace.errors import InvalidArgument
from headrace.operations.core import Core
from headrace.operations.values import Job as Known
from headrace.operations.values import Stage

# Where qless has another word for a state.
STATES = {"blocked": "depends"}

Document = dict[str, Any]


def seconds(at: datetime | None) -> float | None:
    """A moment as seconds since 1970."""
    return None if at is None else at.timestamp()


def span(now: float, expiration: float) -> float:
    """How long from one moment to the other, both by the caller's clock."""
    left = number("expiration", expiration) - number("now", now)
    if left < 0:
        raise InvalidArgument(f"expiration must not be before now, but is by {-left} seconds")
    return left


def parsed(what: str, blob: str | bytes) -> Any:
    """What a JSON blob says."""
    if not isinstance(blob, str | bytes):
        raise InvalidArgument(f"{what} must be JSON, as text, not {type(blob).__name__}")
    try:
        return msgspec.json.decode(blob)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise InvalidArgument(f"{what} must be JSON: {error}") from error


def blob(value: Any) -> str:
    """A value as a JSON blob."""
    return msgspec.json.encode(value).decode()


def stage(known: Stage) -> list[Any]:
    """A stage: [queue, put, popped, completed, worker]; what has not come is None."""
    completed = known.ended if known.outcome == "completed" else None
    times = (seconds(known.put), seconds(known.popped), seconds(completed))
    return [known.queue, *times, known.worker or None]


class JobFacts:
    """A job as it was when it was read, under the names of the document."""

    def __init__(self, dialect: Dialect, core: Core, known: Known, lease: LeaseBase | None) -> None:
        self.core = core
        self.dialect = dialect
        self.lease = lease
        self.id = known.id
        self.priority = dialect.turned(known.priority)
        self.tags = known.tags
        self.worker = known.worker
        self.expires = seconds(known.expires) or 0
        self.state = STATES.get(known.state, known.state)
        self.queue = known.queue
        self.history = [stage(one) for one in known.history]
        self.retries = known.retries
        self.remaining = known.remaining
        self.dependencies = known.depends_on
        self.dependents = known.dependents
        self.throttles = known.throttles
        self.tracked = known.tracked
        self.spawned_from = known.schedule
        self._known = known

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id!r} of {self.queue!r}, {self.state}>"

    @property
    def data(self) -> Any:
        """The user's data."""
        return self._known.data

    @property
    def failure(self) -> Document | None:
        """Why the job is failed: type, message, when and worker."""
        why = self._known.failure
        if why is None:
            return None
        when = seconds(why.at)
        return {"type": why.type, "message": why.message, "when": when, "worker": why.worker}

    @property
    def log_lines(self) -> list[tuple[float | None, str]]:
        """What was logged of the job, each line with its time."""
        return [(seconds(at), line) for at, line in self._known.log]

    @property
    def taken(self) -> str | None:
        """Why a watch of the client has heard that the job was taken from its holder, if it has."""
        return None if self.lease is None else self.lease.taken

    def structure(self) -> Document:
        """The structure of the document: data and tags are JSON blobs, times are seconds."""
        return {
            "id": self.id,
            "priority": self.priority,
            "data": blob(self.data),
            "tags": blob(self.tags),
            "worker": self.worker,
            "expires": self.expires,
            "state": self.state,
            "queue": self.queue,
            "history": self.history,
        }


def day_of(given: str | date | float | None) -> str | date | None:
    """A day as qless takes it: a date, its text, or any moment of the day; None is today."""
    if isinstance(given, int | float):
        return EPOCH + timedelta(days=number("date", given) // 86_400)
    return given


def series(known: Series) -> Document:
    """One of the two series of a day; count and std are later words."""
    return {
        "total": known.count,
        "count": known.count,
        "mean": known.mean,
        "variance": known.variance,
        "std": known.std,
        "histogram": known.histogram,
        "coarse_histogram": known.coarse_histogram,
    }


def statistics(known: Stats) -> Document:
    """What a queue did on a day."""
    return {
        "wait": series(known.wait),
        "run": series(known.run),
        "failed": known.failed,
        "failures": known.failures,
        "retries": known.retries,
    }
