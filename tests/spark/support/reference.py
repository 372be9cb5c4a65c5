"""The reference: the tables in plain Python, for comparison with the tables of Spark."""

from __future__ import annotations

import json
import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from headrace.engine.events import Event

JobRow = dict[str, Any]

JOB_KINDS = {
    *("put", "due", "blocked", "unlocked", "popped", "completed", "failed", "retried", "released"),
    *("updated", "lost", "unfailed", "prioritised", "tagged", "cancelled", "expired"),
}


def naive(moment: datetime | None) -> datetime | None:
    """Return a timestamp as Spark returns it."""
    return moment and moment.replace(tzinfo=None)


def by_job(events: Iterable[Event]) -> Iterator[list[Event]]:
    jobs: dict[tuple[int, str], list[Event]] = defaultdict(list)
    for event in sorted(events, key=lambda event: (event.shard, event.number)):
        if event.kind in JOB_KINDS:
            jobs[event.shard, event.job_id].append(event)
    yield from jobs.values()


def ends(event: Event) -> bool:
    if event.kind in ("failed", "cancelled"):
        return event.run is not None
    if event.kind == "put":
        return event.was == "running"
    return event.kind in ("completed", "retried", "released", "lost") and not imported(event)


def imported(event: Event) -> bool:
    return event.reason == "imported"


def tags_after(event: Event, tags: list[str]) -> list[str]:
    if event.kind in ("put", "tagged"):
        return json.loads(event.tags) if event.tags else []
    return tags


def attempts(events: Iterable[Event]) -> list[JobRow]:
    rows: list[JobRow] = []
    for story in by_job(events):
        pop: Event | None = None
        tags: list[str] = []
        for event in story:
            tags = tags_after(event, tags)
            if event.kind == "popped":
                pop = event
                pop_tags = tags
            elif ends(event):
                rows.append(_ended(event, pop, tags))
                pop = None
        if pop:
            rows.append(_running(pop, pop_tags))
    return rows


def _ended(event: Event, pop: Event | None, tags: list[str]) -> JobRow:
    taken = event.kind == "put"
    assert pop is not None or event.run is not None
    began = pop.at if pop else event.at - timedelta(milliseconds=event.run or 0)
    ran = event.run if event.run is not None else _ms(event.at - began)
    return {
        "job_id": event.job_id,
        "queue": event.from_queue if taken else event.queue,
        "shard": event.shard,
        "attempt": event.attempt,
        "worker": event.worker or (pop.worker if pop else None),
        "began": naive(began),
        "ended": naive(event.at),
        "waited": pop and max(0, pop.wait or 0) / 1000,
        "ran": max(0, ran) / 1000,
        "outcome": "taken" if taken else event.kind,
        "reason": event.reason,
        "failure": event.failure,
        "message": event.message,
        "next_queue": event.queue if taken else event.next_queue,
        "tags": tags,
        "priority": event.priority,
        "number": event.number,
        "day": event.at.date(),
    }


def _running(pop: Event, tags: list[str]) -> JobRow:
    nothing = ("ended", "ran", "reason", "failure", "message", "next_queue")
    return dict.fromkeys(nothing) | {
        "job_id": pop.job_id,
        "queue": pop.queue,
        "shard": pop.shard,
        "attempt": pop.attempt,
        "worker": pop.worker,
        "began": naive(pop.at),
        "waited": max(0, pop.wait or 0) / 1000,
        "outcome": "running",
        "tags": tags,
        "priority": pop.priority,
        "number": pop.number,
        "day": pop.at.date(),
    }


def _ms(span: timedelta) -> int:
    return round(span.total_seconds() * 1000)


def jobs(events: Iterable[Event]) -> list[JobRow]:
    rows: list[JobRow] = []
    for story in by_job(events):
        lives: list[list[Event]] = []
        for event in story:
            if not lives or (event.kind == "put" and event.was is None):
                lives.append([])
            lives[-1].append(event)
        rows += [_life(life) for life in lives]
    return rows


def _life(life: list[Event]) -> JobRow:
    first = life[0]
    row: JobRow = {
        "job_id": first.job_id,
        "shard": first.shard,
        "put_at": naive(first.at),
        "ended_at": None,
        "seen_at": naive(max(event.at for event in life)),
        "attempts": max(event.attempt for event in life),
        "priority": life[-1].priority,
        "schedule": first.schedule,
        "origin": first.origin,
        "failure": None,
        "message": None,
        "state": None,
        "data": None,
        "day": first.at.date(),
    }
    queues: list[str] = []
    tags: list[str] = []
    size = None
    for event in life:
        tags = tags_after(event, tags)
        if event.kind == "put":
            queues += [] if event.was == "replaced" else [event.queue]
        elif event.next_queue:
            queues.append(event.next_queue)
        if event.data is not None:
            row["data"], size = event.data, len(event.data)
        elif event.left_out is not None and (event.kind != "put" or event.left_out != size):
            row["data"] = None
        if event.kind in ("failed", "retried"):
            row |= {"failure": event.failure, "message": event.message}
        state = _state(event)
        if state:
            over = state in ("complete", "cancelled", "expired", "failed")
            row |= {"state": state, "ended_at": naive(event.at) if over else None}
    deliveries = attempts(life)
    waits = [event.wait or 0 for event in life if event.kind == "popped"]
    return row | {
        "queue": queues[-1],
        "queues": queues,
        "tags": tags,
        "waited": sum(max(0, wait) for wait in waits) / 1000,
        "ran": sum(delivery["ran"] or 0 for delivery in deliveries),
    }


def _state(event: Event) -> str | None:
    line = "scheduled" if event.delay else "waiting"
    if event.kind == "put":
        return None if event.was == "replaced" and not event.delay else line
    if event.kind == "completed":
        return line if event.next_queue else "complete"
    return {
        "due": "waiting",
        "unlocked": line,
        "unfailed": line,
        "retried": line,
        "released": "waiting",
        "lost": "waiting",
        "popped": "running",
        "blocked": "blocked",
        "failed": "failed",
        "cancelled": "cancelled",
        "expired": "expired",
    }.get(event.kind)


COUNTS = (
    *("put", "completed", "moved", "taken", "failed", "failures", "retries", "lost"),
    *("cancelled", "expired"),
)


@dataclass
class Day:
    """The figures of a queue and day."""

    counts: Counter[str] = field(default_factory=Counter)
    wait: list[int] = field(default_factory=list)
    run: list[int] = field(default_factory=list)


def daily(events: Iterable[Event]) -> dict[tuple[Any, ...], JobRow]:
    days: dict[tuple[Any, ...], Day] = defaultdict(Day)
    for story in by_job(events):
        tags: list[str] = []
        for event in story:
            tags = tags_after(event, tags)
            groups = [("all", None), *(("tag", tag) for tag in tags)]
            for group in groups:
                _count_elsewhere(days, event, group)
            if event.worker:
                groups.append(("worker", event.worker))
            for group in groups:
                counts = _counts(event)
                if counts is not None:
                    _count(days[event.at.date(), event.queue, *group], event, counts)
    return {key: _day(day) for key, day in days.items()}


def _count_elsewhere(days: dict[Any, Day], event: Event, group: tuple[str, str | None]) -> None:
    if event.kind == "completed" and event.next_queue:
        days[event.at.date(), event.next_queue, *group].counts["put"] += 1
    if event.kind == "put" and event.was not in (None, "replaced", "complete"):
        days[event.at.date(), event.from_queue, *group].counts["taken"] += 1


def _counts(event: Event) -> list[str] | None:
    costly = event.reason in ("lease expired", "session ended")
    if event.kind == "put":
        return ["put"] if event.was != "replaced" else None
    if event.kind == "completed":
        return ["completed", "moved"] if event.next_queue else ["completed"]
    if event.kind == "failed":
        if imported(event):
            return None
        return ["failures"] + ["failed"] * (event.run is not None) + ["retries"] * costly
    if event.kind == "lost":
        return ["lost"] + ["retries"] * costly
    return {"popped": [], "retried": ["retries"], "cancelled": ["cancelled"]}.get(
        event.kind, ["expired"] if event.kind == "expired" else None
    )


def _count(day: Day, event: Event, counts: list[str]) -> None:
    day.counts.update(counts)
    if event.kind == "popped":
        day.wait.append(max(0, event.wait or 0))
    if event.kind == "completed" and event.run is not None:
        day.run.append(max(0, event.run))


def _day(day: Day) -> JobRow:
    row: JobRow = {name: day.counts[name] for name in COUNTS}
    for name, values in (("wait", day.wait), ("run", day.run)):
        row |= {
            f"{name}_count": len(values),
            f"{name}_mean": statistics.fmean(values) / 1000 if values else None,
            f"{name}_variance": statistics.variance(values) / 1e6 if len(values) > 1 else None,
            f"{name}_histogram": dict(Counter(map(bin_of, values))) or None,
        }
        for quantile, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
            place = math.ceil(share * len(values)) - 1
            row[f"{name}_{quantile}"] = sorted(values)[place] / 1000 if values else None
    return row


def bin_of(milliseconds: int) -> str:
    seconds = milliseconds // 1000
    for below, width, unit in (
        (60, 1, "s"),
        (3600, 60, "m"),
        (86400, 900, "q"),
        (259200, 3600, "h"),
    ):
        if seconds < below:
            return f"{unit}{seconds // width}"
    return f"d{min(366, seconds // 86400)}"


def failures(events: Iterable[Event]) -> dict[tuple[Any, ...], JobRow]:
    found: dict[tuple[Any, ...], list[Event]] = defaultdict(list)
    for event in events:
        if event.kind in ("failed", "retried") and not imported(event):
            found[event.at.date(), event.queue, event.failure].append(event)
    return {key: _failure(of_type) for key, of_type in found.items()}


def _failure(of_type: list[Event]) -> JobRow:
    of_type.sort(key=lambda event: (event.at, event.shard, event.number))
    kinds = Counter(event.kind for event in of_type)
    return {
        "failed": kinds["failed"],
        "retried": kinds["retried"],
        "jobs": len({event.job_id for event in of_type}),
        "first": naive(of_type[0].at),
        "last": naive(of_type[-1].at),
        "job_id": of_type[-1].job_id,
        "message": of_type[-1].message,
    }


def workers(events: Iterable[Event]) -> dict[tuple[Any, ...], JobRow]:
    found: dict[tuple[Any, ...], list[JobRow]] = defaultdict(list)
    for row in attempts(events):
        if row["ended"]:
            found[row["day"], row["worker"]].append(row)
    return {key: _worker(rows) for key, rows in found.items()}


def _worker(rows: list[JobRow]) -> JobRow:
    first, last = min(row["began"] for row in rows), max(row["ended"] for row in rows)
    busy = sum(row["ran"] for row in rows)
    seen = (last - first).total_seconds()
    outcomes = Counter(row["outcome"] for row in rows)
    return {
        "attempts": len(rows),
        "completed": outcomes["completed"],
        "failed": outcomes["failed"],
        "busy": busy,
        "first": first,
        "last": last,
        "utilisation": busy / seen if seen else None,
        "queues": sorted({row["queue"] for row in rows}),
    }


def throughput(events: Iterable[Event]) -> dict[tuple[Any, ...], JobRow]:
    found: dict[tuple[Any, ...], Counter[str]] = defaultdict(Counter)
    for event in events:
        if event.kind in ("put", "popped", "completed", "failed"):
            minute = event.at.replace(second=0, microsecond=0)
            found[event.at.date(), event.queue, naive(minute)][event.kind] += 1
    kinds = ("put", "popped", "completed", "failed")
    return {key: {kind: counts[kind] for kind in kinds} for key, counts in found.items()}
