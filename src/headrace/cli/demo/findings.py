"""What the event log says of a demo: recoveries, failures, times, how many at once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from headrace import Event

ENDS = ("completed", "failed", "retried", "released", "lost", "cancelled")


@dataclass(frozen=True, slots=True)
class Recovery:
    """A job whose worker died, and who ran it next; seconds count from the death."""

    job_id: str
    queue: str
    lost_after: float
    again_after: float
    by: str
    attempt: int


@dataclass(slots=True)
class Kind:
    """Attempts that failed in one way: so many were tried again, so many jobs set aside."""

    retried: int = 0
    failed: int = 0


@dataclass(slots=True)
class Times:
    """Milliseconds that the jobs of a queue waited and ran, each time they were handed out."""

    waits: list[int] = field(default_factory=list)
    runs: list[int] = field(default_factory=list)


def recoveries(events: Iterable[Event], held: Iterable[str], died_at: datetime) -> list[Recovery]:
    """When each of the jobs that a dead worker held was taken from it, and ran again."""
    waiting, lost = set(held), dict[str, Event]()
    found = []
    for event in events:
        if event.job_id not in waiting:
            continue
        if event.kind == "lost" and event.at >= died_at:
            lost[event.job_id] = event
        elif event.kind == "popped" and event.job_id in lost:
            waiting.discard(event.job_id)
            found.append(
                Recovery(
                    event.job_id,
                    event.queue,
                    (lost[event.job_id].at - died_at).total_seconds(),
                    (event.at - died_at).total_seconds(),
                    event.worker,
                    event.attempt,
                )
            )
    return found


def failures(events: Iterable[Event]) -> dict[str, Kind]:
    """How often an attempt failed in which way, the most frequent first."""
    kinds: dict[str, Kind] = defaultdict(Kind)
    for event in events:
        if event.kind == "retried":
            kinds[event.failure or ""].retried += 1
        elif event.kind == "failed":
            kinds[event.failure or ""].failed += 1
    return dict(sorted(kinds.items(), key=lambda item: -item[1].retried - item[1].failed))


def times(events: Iterable[Event]) -> dict[str, Times]:
    """How long jobs waited and ran, by queue."""
    found: dict[str, Times] = defaultdict(Times)
    for event in events:
        if event.kind == "popped" and event.wait is not None:
            found[event.queue].waits.append(event.wait)
        elif event.kind in ("completed", "failed", "retried") and event.run is not None:
            found[event.queue].runs.append(event.run)
    return dict(found)


def share(values: Sequence[int], part: float) -> float:
    """So large a part of the values is at most this, in seconds."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))] / 1000 if ordered else 0.0


def most_at_once(events: Iterable[Event], owners: Mapping[str, str]) -> dict[str, int]:
    """How many jobs of each owner ran at the same time, at most."""
    running: dict[str, set[str]] = defaultdict(set)
    most: Counter[str] = Counter()
    for event in events:
        owner = owners.get(event.job_id)
        if owner is None:
            continue
        if event.kind == "popped":
            running[owner].add(event.job_id)
            most[owner] = max(most[owner], len(running[owner]))
        elif event.kind in ENDS:
            running[owner].discard(event.job_id)
    return dict(most)


def seconds_of_work(events: Sequence[Event]) -> float:
    """From the first job that was handed out to the last that was over."""
    begun = [event.at for event in events if event.kind == "popped"]
    over = [event.at for event in events if event.kind in ("completed", "failed")]
    return (max(over) - min(begun)).total_seconds() if begun and over else 0.0
