"""The immutable values that operations return, such as jobs, pages, counts and workers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import msgspec

from headrace.codecs.codec import Codec, bound
from headrace.engine.check import Span
from headrace.engine.record import Record, decode_record
from headrace.engine.timestamps import moment, moment_or_none
from headrace.operations.ids import GROUP_MARK
from headrace.options import UNSET


@dataclass(frozen=True, slots=True)
class WriteStatus:
    """The status of a committed write from Spark: how many of its rows became jobs.

    `published_at` is None while the rows are being published. `made` counts rows that created a
    job. `moved` and `replaced` count rows that changed an existing job. `skipped` counts rows that
    a put would refuse, for example because the job already exists. `lost` maps a shard to the
    number of rows that the shard lost after the commit; these rows did not become jobs.
    """

    id: str
    batch: int | None
    queue: str
    rows: int
    committed_at: datetime
    published_at: datetime | None
    made: int
    moved: int
    replaced: int
    skipped: int
    lost: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Failure:
    """The failure of a failed job."""

    type: str
    message: str
    at: datetime
    worker: str
    traceback: str = ""


@dataclass(frozen=True, slots=True)
class Fail:
    """An item to pass to `client.leases.fail`: a lease and the arguments of Lease.fail."""

    lease: Any
    failure: str
    message: str = ""
    traceback: str | None = None
    retry_in: Span | None = None
    data: Any = UNSET


@dataclass(frozen=True, slots=True)
class Stage:
    """One attempt of a job, or the time that a job spent in one queue.

    `outcome` is None for the current stage. The newest failure has its complete message and its
    traceback. For older failures, only the first 1,024 bytes of the message are stored.
    """

    queue: str
    put: datetime
    popped: datetime | None
    ended: datetime | None
    worker: str
    outcome: str | None
    failure: str = ""
    message: str = ""
    traceback: str = ""


@dataclass(frozen=True, slots=True)
class Job:
    """A snapshot of a job."""

    id: str
    state: str
    queue: str | None
    priority: float
    tags: list[str]
    unique: str | None
    worker: str
    expires: datetime | None
    due: datetime | None
    attempt: int
    releases: int
    retries: int | None
    remaining: int | None
    put_at: datetime
    failure: Failure | None
    history: list[Stage]
    payload: bytes
    progress: float | None
    note: str
    log: list[tuple[datetime, str]]
    has_result: bool
    key: str | None
    throttles: list[str]
    schedule: str | None
    group: str | None
    depends_on: list[str]
    depends_on_groups: list[str]
    dependents: list[str]
    tracked: bool
    origin: str | None
    _codec: Codec = field(repr=False, compare=False)

    @property
    def data(self) -> Any:
        """The decoded data of the job."""
        return self._codec.decode(self.payload)


def read_job(codec: Codec, described: list[Any]) -> Job:
    """Read a job from the reply of the Lua function `describe_job`."""
    job_id, packed, separate, score, notes, lines, has_result, links = described
    record = decode_record(packed)
    newest = _newest_failure(notes[2])
    depends, dependents = ([name.decode() for name in names] for names in links)
    running = record.state == "running"
    return Job(
        id=job_id.decode(),
        state=record.state,
        queue=None if record.state == "complete" else record.queue,
        priority=record.priority,
        tags=list(record.extras().tags),
        unique=record.extras().unique,
        worker=record.worker if running else "",
        expires=moment_or_none(score) if running else None,
        due=moment_or_none(score) if record.state == "scheduled" else None,
        attempt=record.attempt,
        releases=record.extras().releases,
        retries=_none_if_unlimited(record.retries),
        remaining=_none_if_unlimited(record.remaining),
        put_at=moment(record.put_at),
        failure=_failure(record, newest),
        history=_history(record, newest),
        payload=payload_of(record, separate),
        progress=float(notes[0]) if notes[0] is not None else None,
        note=(notes[1] or b"").decode(),
        log=[_log_line(line) for line in lines],
        has_result=bool(has_result),
        schedule=record.extras().schedule,
        key=record.extras().key or None,
        throttles=list(record.extras().throttles),
        group=record.extras().group or None,
        depends_on=[name for name in depends if not name.startswith(GROUP_MARK)],
        depends_on_groups=[name[1:] for name in depends if name.startswith(GROUP_MARK)],
        dependents=dependents,
        tracked=record.extras().tracked,
        origin=record.extras().origin,
        _codec=bound(codec, job_id.decode(), record.queue),
    )


def payload_of(record: Record, separate: bytes) -> bytes:
    """Return the payload of a job from its record, or `separate` if the record has no payload."""
    inline = record.inline_data()
    return separate if inline is None else inline


def _log_line(packed: bytes) -> tuple[datetime, str]:
    at, line, *_ = msgspec.msgpack.decode(packed)
    return moment(at), line


def _none_if_unlimited(value: int) -> int | None:
    return None if value is False else int(value)


# The time, the complete message and the traceback of the newest failure of a job.
_NewestFailure = tuple[datetime | None, str, str]


def _newest_failure(packed: bytes | None) -> _NewestFailure:
    if packed is None:
        return None, "", ""
    at, message, traceback = msgspec.msgpack.decode(packed)
    return moment(at), message, traceback


def _failure(record: Record, newest: _NewestFailure) -> Failure | None:
    listed = record.extras().failure
    if listed is None:
        return None
    kind, message, at, worker = listed
    found = Failure(kind, message, moment(at), worker)
    newest_at, message, traceback = newest
    if found.at != newest_at:
        return found
    return replace(found, message=message, traceback=traceback)


def _history(record: Record, newest: _NewestFailure) -> list[Stage]:
    newest_at, message, traceback = newest
    past = record.history if isinstance(record.history, list) else []
    stages = [
        Stage(queue, moment(put), moment_or_none(popped), moment(ended), *rest)
        for queue, put, popped, ended, *rest in past
    ]
    for at in range(len(stages) - 1, -1, -1):
        if stages[at].failure:
            if stages[at].ended == newest_at:
                stages[at] = replace(stages[at], message=message, traceback=traceback)
            break
    if record.state != "failed":
        stages.append(_present_stage(record))
    return stages


def _present_stage(record: Record) -> Stage:
    ran = record.state in ("running", "complete")
    return Stage(
        queue=record.queue,
        put=moment(record.put_at),
        popped=moment(record.since) if ran else None,
        ended=moment_or_none(record.ended),
        worker=record.worker if ran else "",
        outcome="completed" if record.state == "complete" else None,
    )


@dataclass(frozen=True, slots=True)
class Page:
    """A page of jobs, and the total number of jobs on all pages."""

    total: int
    jobs: list[Job]


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """A failure type: the number of jobs that failed with this type, and the newest failure."""

    type: str
    count: int
    at: datetime
    message: str
    queue: str
    job_id: str


@dataclass(frozen=True, slots=True)
class Bulk:
    """The report of `failures.retry` or `failures.cancel`.

    `matched` is the number of jobs that the call found. `done` is the number of jobs that were
    retried or cancelled. `refused` is the number of jobs that the server refused to retry or
    cancel. The server refuses a retry if another job has the same unique value, and a cancellation
    if the job has dependents. Jobs that changed during the call count only as matched.
    """

    matched: int = 0
    done: int = 0
    refused: int = 0


@dataclass(frozen=True, slots=True)
class Tracked:
    """The tracked jobs, and the ids of deleted jobs that are still on the list of tracked jobs."""

    jobs: list[Job]
    gone: list[str]


@dataclass(frozen=True, slots=True)
class Counts:
    """The number of jobs of a queue in each state.

    `late` counts running jobs whose lease has expired. `due` counts scheduled jobs whose time has
    come.
    """

    waiting: int
    scheduled: int
    blocked: int
    running: int
    failed: int
    complete: int
    late: int
    due: int
    paused: bool

    @property
    def length(self) -> int:
        """The number of jobs that are waiting, scheduled, blocked or running."""
        return self.waiting + self.scheduled + self.blocked + self.running


@dataclass(frozen=True, slots=True)
class Result:
    """The result and the data of a job."""

    value: Any
    data: Any


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker that has a session; `expires_in` is None if the session never lapses."""

    name: str
    expires_in: float | None
    started: datetime | None
    about: str
    queues: list[str]
    jobs: int


@dataclass(frozen=True, slots=True)
class Throttle:
    """A named limit, with the running jobs (holders) and the queues with delayed jobs (held_up)."""

    name: str
    concurrency: int | None
    rate: str | None
    expires_in: float | None
    running: int
    holders: list[str]
    held_up: list[str]


@dataclass(frozen=True, slots=True)
class Audit:
    """The report of an audit; `problems` is empty if the audit found no differences."""

    queues: int
    jobs: int
    problems: list[str]

    @property
    def balanced(self) -> bool:
        """Whether the audit found no problems."""
        return not self.problems
