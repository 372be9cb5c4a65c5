"""The nouns of the model: a job, the rules of a queue, a session, a day of statistics, an event."""

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
    """What holds for a queue; spans are milliseconds, None is "without limit"."""

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
    """The five profiles of the design."""
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
    """One job. `moment` is when its lease ends, it is due, it failed or it was completed."""

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

    def get_data(self, data: str | None) -> None:
        """Data that are given; the next event tells them."""
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
    """The session of a worker; `ends` is infinite for one that never lapses."""

    token: str
    ttl: int
    ends: float
    serves: set[str] = field(default_factory=set)


class Event(NamedTuple):
    """What the log says of one thing that happened."""

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
    """What a queue did on a day: the plain values, from which everything else follows."""

    wait: list[int] = field(default_factory=list)
    run: list[int] = field(default_factory=list)
    failures: int = 0
    retries: int = 0
    detailed: bool = True

    def summary(self, name: str) -> tuple[int, float, float, dict[str, int]]:
        """Count, mean and variance in seconds, and the histogram of a series."""
        seconds = [ms / 1000 for ms in getattr(self, name)]
        mean = fmean(seconds) if seconds else 0.0
        spread = variance(seconds) if len(seconds) > 1 else 0.0
        bins = Counter(map(bin_of, seconds)) if self.detailed else {}
        return len(seconds), mean, spread, dict(bins)


def bin_of(seconds: float) -> str:
    """By second, minute, quarter hour, hour, day."""
    for unit, size, below in (("s", 1, 60), ("m", 60, 3600), ("q", 900, DAY // 1000)):
        if seconds < below:
            return f"{unit}{int(seconds // size)}"
    hours = int(seconds // 3600)
    return f"h{hours}" if hours < 72 else f"d{min(366, hours // 24)}"


def in_order(state: str, jobs: Iterable[Job]) -> list[Job]:
    """Jobs of one state as they are served, come due, lapse, or as long as they have been there."""
    if state == "waiting":
        return sorted(jobs, key=lambda job: (job.priority, job.seq))
    return sorted(jobs, key=lambda job: (job.moment, job.id))


def finite(moment: float | None) -> float | None:
    """A moment, or None for never."""
    return None if moment in (inf, None) else moment
