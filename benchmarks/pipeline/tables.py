"""Hand-written tables of a lake: one loop over all events in one process.

The loop computes the same figures as a rollup: attempts, jobs, daily, failures, workers and
throughput, written to Parquet.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.engine.statistics import bin_name
from headrace.lake.manifest import LakeSnapshot

COLUMNS = (
    "at",
    "kind",
    "job_id",
    "queue",
    "attempt",
    "worker",
    "priority",
    "wait",
    "run",
    "data",
    "tags",
    "failure",
    "message",
)
SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
NEVER = (datetime.min.replace(tzinfo=UTC), 0, "")
NO_TAGS: list[str] = []
ENDS = {"completed", "failed", "retried", "lost", "released"}

Row = dict[str, Any]


@dataclass(slots=True)
class Series:
    """Running count, mean and squares, a histogram, and the values for quantiles."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0
    bins: Counter[str] = field(default_factory=Counter)
    values: list[int] = field(default_factory=list)

    def add(self, milliseconds: int, bin_name: str) -> None:
        self.count += 1
        before = self.mean
        self.mean += (milliseconds - before) / self.count
        self.squares += (milliseconds - self.mean) * (milliseconds - before)
        self.bins[bin_name] += 1
        self.values.append(milliseconds)

    def row(self, name: str) -> Row:
        self.values.sort()
        return {
            f"{name}_count": self.count,
            f"{name}_mean": self.mean / 1000,
            f"{name}_variance": self.squares / max(1, self.count - 1) / 1e6,
            f"{name}_histogram": [{"bin": each, "count": n} for each, n in self.bins.items()],
            **{f"{name}_{part}": self._quantile(share) for part, share in SHARES.items()},
        }

    def _quantile(self, share: float) -> float | None:
        return self.values[int(share * (self.count - 1))] / 1000 if self.values else None


@dataclass(slots=True)
class Day:
    """The figures of a queue on a day: in total, of a worker, or of a tag."""

    counts: Counter[str] = field(default_factory=Counter)
    wait: Series = field(default_factory=Series)
    run: Series = field(default_factory=Series)


@dataclass(slots=True)
class Life:
    """The known facts about a job."""

    queues: list[str]
    put_at: datetime
    priority: float
    data: bytes | None
    tags: list[str]
    state: str = "waiting"
    seen_at: datetime | None = None
    attempts: int = 0
    waited: int = 0
    ran: int = 0
    failure: str | None = None
    message: str | None = None
    popped: tuple[datetime, int, str] = NEVER


@dataclass(slots=True)
class Failed:
    """The failures of jobs, by type."""

    counts: Counter[str] = field(default_factory=Counter)
    jobs: set[str] = field(default_factory=set)
    first: datetime | None = None
    last: datetime | None = None
    example: tuple[str, str | None] = ("", None)


@dataclass(slots=True)
class Busy:
    """The figures of a worker on a day."""

    counts: Counter[str] = field(default_factory=Counter)
    busy: int = 0
    first: datetime | None = None
    last: datetime | None = None
    queues: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Tables:
    """All tables, for the events read so far."""

    lives: dict[str, Life] = field(default_factory=dict)
    attempts: list[tuple[Any, ...]] = field(default_factory=list)
    daily: dict[tuple[date, str, str, str], Day] = field(default_factory=lambda: defaultdict(Day))
    failures: dict[tuple[date, str, str], Failed] = field(
        default_factory=lambda: defaultdict(Failed)
    )
    workers: dict[tuple[date, str], Busy] = field(default_factory=lambda: defaultdict(Busy))
    minutes: dict[tuple[str, datetime], Counter[str]] = field(
        default_factory=lambda: defaultdict(Counter)
    )

    def waits(self, queue: str) -> int:
        """Return the number of waiting times counted in a queue."""
        days = [day for (_, of, by, _), day in self.daily.items() if of == queue and by == "all"]
        return sum(day.wait.count for day in days)


def daily_by_loop(snapshot: LakeSnapshot, lake: Path) -> Tables:
    """Only the table daily: figures by queue and day, in total, by worker and by tag."""
    tables = Tables()
    columns = ("at", "kind", "job_id", "queue", "worker", "wait", "run", "tags")
    tags_of: dict[str, list[str]] = {}
    for batch in _batches([lake / file.path for file in snapshot.files], columns):
        values = [column.to_pylist() for column in batch.columns]
        for at, kind, job_id, queue, worker, wait, run, tags in zip(*values, strict=True):
            if tags:
                tags_of[job_id] = json.loads(tags)
            places = _places(tables, at.date(), queue, worker, tags_of.get(job_id, NO_TAGS))
            _count(places, kind, wait, run)
    for day in tables.daily.values():
        day.wait.row("wait")
        day.run.row("run")
    return tables


def _count(places: list[Day], kind: str, wait: int, run: int) -> None:
    """Add an event to the tables."""
    for place in places:
        place.counts[kind] += 1
    if kind == "popped":
        name = bin_name(wait // 1000)
        for place in places:
            place.wait.add(wait, name)
    elif kind == "completed":
        name = bin_name(run // 1000)
        for place in places:
            place.run.add(run, name)


def by_loop(snapshot: LakeSnapshot, lake: Path, folder: Path) -> Tables:
    """Reads all events once, in their order, and writes the tables."""
    tables = Tables()
    for batch in _batches([lake / file.path for file in snapshot.files], COLUMNS):
        _add(tables, batch)
    _write(tables, folder)
    return tables


def _batches(files: list[Path], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    names = ["queue_name" if name == "queue" else name for name in columns]
    for file in _in_order(files):
        for batch in pq.ParquetFile(file).iter_batches(columns=names):
            yield batch.select(names)


def _in_order(files: list[Path]) -> list[Path]:
    """Return the files by batch, then by part, so that the events of a job are in order."""
    batches = list(dict.fromkeys(file.parts[-4] for file in files))
    return sorted(files, key=lambda file: (batches.index(file.parts[-4]), file.name))


def _add(tables: Tables, batch: pa.RecordBatch) -> None:
    columns = [column.to_pylist() for column in batch.columns]
    for event in zip(*columns, strict=True):
        _add_event(tables, *event)


def _add_event(
    tables: Tables,
    at: datetime,
    kind: str,
    job_id: str,
    queue: str,
    attempt: int,
    worker: str,
    priority: float,
    wait: int,
    run: int,
    data: bytes | None,
    tags: str | None,
    failure: str | None,
    message: str | None,
) -> None:
    day = at.date()
    tables.minutes[queue, at.replace(second=0, microsecond=0)][kind] += 1
    if kind == "put":
        life = Life([queue], at, priority, data, json.loads(tags) if tags else [])
        tables.lives[job_id] = life
    else:
        life = tables.lives[job_id]
    _count(_places(tables, day, queue, worker, life.tags), kind, wait, run)
    life.seen_at = at
    if kind == "popped":
        life.state, life.attempts, life.popped = "running", attempt, (at, wait, worker)
        life.waited += wait
    elif kind in ENDS:
        _end(tables, day, at, kind, job_id, queue, life, run, failure, message)


def _places(tables: Tables, day: date, queue: str, worker: str, tags: list[str]) -> list[Day]:
    """Yield the groups whose figures include an event."""
    places = [tables.daily[day, queue, "all", ""]]
    if worker:
        places.append(tables.daily[day, queue, "worker", worker])
    return places + [tables.daily[day, queue, "tag", tag] for tag in tags]


def _end(
    tables: Tables,
    day: date,
    at: datetime,
    kind: str,
    job_id: str,
    queue: str,
    life: Life,
    run: int,
    failure: str | None,
    message: str | None,
) -> None:
    began, waited, worker = life.popped
    life.state = "complete" if kind == "completed" else kind
    life.ran += run
    attempt = (job_id, queue, life.attempts, worker, began, at, waited / 1000, run / 1000)
    tables.attempts.append((*attempt, kind, failure, message, life.tags, life.priority, day))
    busy = tables.workers[day, worker]
    busy.counts[kind] += 1
    busy.busy += run
    busy.first = min(busy.first or began, began)
    busy.last = max(busy.last or at, at)
    busy.queues.add(queue)
    if failure is not None:
        life.failure, life.message = failure, message
        failed = tables.failures[day, queue, failure]
        failed.counts[kind] += 1
        failed.jobs.add(job_id)
        failed.first = min(failed.first or at, at)
        failed.last = max(failed.last or at, at)
        failed.example = (job_id, message)


def _write(tables: Tables, folder: Path) -> None:
    folder.mkdir()
    names = ("job_id", "queue", "attempt", "worker", "began", "ended", "waited", "ran", "outcome")
    attempts = [*names, "failure", "message", "tags", "priority", "day"]
    columns = dict(zip(attempts, map(list, zip(*tables.attempts, strict=True)), strict=True))
    _save(folder, "attempts", pa.table(columns))
    _save(folder, "jobs", pa.Table.from_pylist([_life(*each) for each in tables.lives.items()]))
    daily = [
        {"day": key[0], "queue": key[1], "by": key[2], "name": key[3], **day.counts}
        | day.wait.row("wait")
        | day.run.row("run")
        for key, day in tables.daily.items()
    ]
    _save(folder, "daily", pa.Table.from_pylist(daily))
    failures = [
        {"day": key[0], "queue": key[1], "failure": key[2], **each.counts}
        | {"jobs": len(each.jobs), "first": each.first, "last": each.last}
        | {"job_id": each.example[0], "message": each.example[1]}
        for key, each in tables.failures.items()
    ]
    _save(folder, "failures", pa.Table.from_pylist(failures))
    workers = [
        {"day": key[0], "worker": key[1], **each.counts, "busy": each.busy / 1000}
        | {"first": each.first, "last": each.last, "queues": sorted(each.queues)}
        for key, each in tables.workers.items()
    ]
    _save(folder, "workers", pa.Table.from_pylist(workers))
    minutes = [
        {"queue": key[0], "minute": key[1], **counts} for key, counts in tables.minutes.items()
    ]
    _save(folder, "throughput", pa.Table.from_pylist(minutes))


def _life(job_id: str, life: Life) -> Row:
    return {
        "job_id": job_id,
        "queue": life.queues[-1],
        "queues": life.queues,
        "state": life.state,
        "put_at": life.put_at,
        "seen_at": life.seen_at,
        "attempts": life.attempts,
        "waited": life.waited / 1000,
        "ran": life.ran / 1000,
        "priority": life.priority,
        "tags": life.tags,
        "failure": life.failure,
        "message": life.message,
        "data": life.data,
    }


def _save(folder: Path, name: str, table: pa.Table) -> None:
    pq.write_table(table, folder / f"{name}.parquet", compression="zstd")
