"""The data types of the model: job, rules of a queue, session, day of statistics, event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import inf
from statistics import fmean, variance
from typing import NamedTuple

DAY = 86_400_000


@dataclass
class Rules:
    """The rules of a queue; durations are milliseconds, None means no limit."""

    lease: int | None = 60_000
    session: str = "optional"
    returns: str = "front"
    removes: bool = False
    history: int = 100
    keep_count: int = 50_000
    keep_age: int = 7 * DAY
    stats: bool = True
    retries: int | None = 5
    result_ttl: int = DAY
    on_exists: str = "move"
    paused: bool = False
    ingress: str = "data"
    log_has_data: bool = True


def rules_of(profile: str) -> Rules:
    """Return the rules of the five profiles."""
    if profile == "job":
        return Rules()
    plain = Rules(lease=None, history=0, keep_count=0, stats=False, retries=None)
    plain.on_exists = "reject" if profile == "ring" else "duplicate"
    plain.session = "required" if profile == "task" else "none"
    plain.log_has_data = profile != "task"
    plain.returns = "back" if profile == "manual" else "front"
    plain.removes = profile == "fifo"
    if profile == "ring":
        plain.lease = 30_000
        plain.ingress = "id"
    return plain


@dataclass
class Job:
    """A job. `moment` is when its lease ends, or when the job is due, failed or completed."""

    id: str
    queue: str
    retries: int | None
    state: str = ""
    data: str = ""
    news: str | None = None
    priority: float = 0
    tags: tuple[str, ...] = ()
    seq: int = 0
    put_at: int = 0
    since: int = 0
    moment: float = 0
    attempt: int = 0
    releases: int = 0
    remaining: int | None = None
    worker: str = ""
    token: str = ""
    tied: bool = False
    start_by: int | None = None
    result_ttl: int | None = None
    result: str | None = None
    failure: tuple[str, str] | None = None
    past: list[str] = field(default_factory=list)
    kept: bool = True
    ended_by: str = ""
    unique: str | None = None
    tracked: bool = False
    first: float | None = None

    def get_data(self, data: str | None) -> None:
        """Set new data; the next event contains them."""
        if data is not None:
            self.data = self.news = data

    @property
    def exhausted(self) -> bool:
        return self.remaining is not None and self.remaining <= 0

    @property
    def waits(self) -> bool:
        return self.state in ("waiting", "scheduled")


@dataclass
class Session:
    """The session of a worker; `ends` is infinite if it never expires."""

    token: str
    ttl: int
    ends: float
    serves: set[str] = field(default_factory=set)


class Event(NamedTuple):
    """One event of the log."""

    kind: str
    job_id: str
    queue: str
    attempt: int
    worker: str
    priority: float
    wait: int | None
    run: int | None
    at: int
    data: str | None


@dataclass
class Day:
    """The measured values of a queue on one day, from which the statistics are computed."""

    wait: list[int] = field(default_factory=list)
    run: list[int] = field(default_factory=list)
    failures: int = 0
    retries: int = 0
    detailed: bool = True

    def summary(self, name: str) -> tuple[int, float, float, dict[str, int]]:
        """Return count, mean and variance in seconds, and the histogram of a series."""
        seconds = [ms / 1000 for ms in getattr(self, name)]
        mean = fmean(seconds) if seconds else 0.0
        spread = variance(seconds) if len(seconds) > 1 else 0.0
        bins = Counter(map(bin_of, seconds)) if self.detailed else {}
        return len(seconds), mean, spread, dict(bins)


def bin_of(seconds: float) -> str:
    """Return the bin: a second, minute, quarter hour, hour or day."""
    for unit, size, below in (("s", 1, 60), ("m", 60, 3600), ("q", 900, DAY // 1000)):
        if seconds < below:
            return f"{unit}{int(seconds // size)}"
    hours = int(seconds // 3600)
    return f"h{hours}" if hours < 72 else f"d{min(366, hours // 24)}"


def in_order(state: str, jobs: Iterable[Job]) -> list[Job]:
    """Return the sort key of a job among the jobs of its state."""
    if state == "waiting":
        return sorted(jobs, key=place)
    return sorted(jobs, key=lambda job: (job.moment, job.id))


def place(job: Job) -> tuple[float, float, int]:
    """Return the sort key of a waiting job."""
    if job.first is not None:
        return -inf, -job.first, job.seq
    return job.priority, 0, job.seq


def finite(moment: float | None) -> float | None:
    """Return a timestamp, or None for never."""
    return None if moment in (inf, None) else moment
