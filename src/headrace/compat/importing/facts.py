"""What is compared of a thing at its source and here: all that came, and nothing that did not."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from math import isclose
from typing import Any

from headrace.compat.importing.adopting import Adopted
from headrace.compat.importing.found import FoundDay, FoundItem, FoundJob, FoundSchedule, Thing
from headrace.engine.statistics import Series, Stats
from headrace.operations.schedules import Schedule
from headrace.operations.values import Job

SHORT_MESSAGE = 1024
SMALLEST = 1e-6


def facts_of(thing: Thing) -> Any:
    """The facts of a thing at its source."""
    if isinstance(thing, FoundJob):
        return facts_of_job(thing.job, len(thing.job.history))
    if isinstance(thing, FoundItem):
        return [thing.id, thing.item]
    if isinstance(thing, FoundSchedule):
        return facts_of_schedule(thing)
    return facts_of_day(thing)


def facts_of_job(job: Adopted, kept: int) -> dict[str, Any]:
    """The facts of a job that keeps so many past stages; what it does not say is left out."""
    known = {
        "badge": job.badge,
        "queue": job.queue,
        "state": job.state,
        "data": job.data,
        "priority": float(job.priority),
        "tags": sorted(job.tags),
        "attempt": job.attempt,
        "releases": job.releases or 0,
        "put_at": job.put_at,
        "due": job.since if job.state == "scheduled" else None,
        "popped": job.since if job.state == "complete" else None,
        "ended": job.ended,
        "failure": list(job.failure) if job.failure else None,
        "history": _past(job, kept),
        "result": job.result,
        "depends_on": sorted(job.depends_on),
        "tracked": job.tracked or None,
    }
    return {name: value for name, value in known.items() if value is not None}


def _past(job: Adopted, kept: int) -> list[list[Any]]:
    """The first stage and the newest ones, as the server keeps them."""
    stages = [[*stage[:-1], cut(stage[-1])] for stage in job.history]
    while len(stages) > kept:
        del stages[min(1, len(stages) - 1)]
    return stages


def cut(message: str) -> str:
    """The beginning of a message."""
    return message.encode()[:SHORT_MESSAGE].decode(errors="ignore")


def facts_here(job: Job, result: bytes | None, like: Adopted) -> dict[str, Any]:
    """The facts of a job and its result here."""
    last = job.history[-1] if job.history else None
    is_complete = job.state == "complete"
    past = job.history if job.state == "failed" else job.history[:-1]
    known = {
        "badge": like.badge,
        "queue": last.queue if is_complete and last else job.queue,
        "state": job.state,
        "data": job.payload,
        "priority": float(job.priority),
        "tags": sorted(job.tags),
        "attempt": job.attempt,
        "releases": job.releases,
        "put_at": _ms(job.put_at),
        "due": _ms(job.due),
        "popped": _ms(last.popped) if is_complete and last else None,
        "ended": _ms(last.ended) if is_complete and last else None,
        "failure": _failure(job, like),
        "history": [
            [
                stage.queue,
                _ms(stage.put),
                _ms(stage.popped) or False,
                _ms(stage.ended),
                stage.worker,
                stage.outcome,
                stage.failure,
                cut(stage.message),
            ]
            for stage in past
        ],
        "result": result,
        "depends_on": _parents(job, like),
        "tracked": job.tracked,
    }
    return {name: value for name, value in known.items() if value is not None}


def _parents(job: Job, like: Adopted) -> list[str]:
    """What it waits for; some of that may be done by now, or did not come."""
    here = set(job.depends_on)
    return sorted(like.depends_on if here.issubset(like.depends_on) else here)


def _failure(job: Job, like: Adopted) -> list[Any] | None:
    if job.failure is None:
        return None
    # When it failed may not be known.
    at = like.failure[2] if like.failure and not like.failure[2] else _ms(job.failure.at)
    return [job.failure.type, job.failure.message, at, job.failure.worker]


def facts_of_schedule(found: FoundSchedule) -> dict[str, Any]:
    """The facts of a recurring job."""
    return {
        "id": found.id,
        "queue": found.queue,
        "data": found.data,
        "interval": float(found.every),
        "next turn": found.due,
        "backlog": found.backlog,
        "priority": float(found.priority),
        "tags": sorted(found.tags),
        "retries": found.retries,
    }


def schedule_here(here: Schedule, like: FoundSchedule) -> dict[str, Any]:
    """The same facts of a schedule here; a turn that was over when it came has been made up for."""
    turn = _ms(here.next)
    has_begun = here.made or here.skipped or (turn or 0) > like.due
    return {
        "id": here.id,
        "queue": here.queue,
        "data": here.payload,
        "interval": here.every,
        "next turn": like.due if has_begun else turn,
        "backlog": here.backlog,
        "priority": float(here.options.get("priority") or 0),
        "tags": sorted(here.options.get("tags") or ()),
        "retries": here.options.get("retries"),
    }


def facts_of_day(day: FoundDay) -> list[Any]:
    """The facts of a day of statistics."""
    series = [_series(day.wait), _series(day.run)]
    return [day.day, *series, day.failures, day.retries]


def day_here(here: Stats, like: FoundDay, *, has_histogram: bool) -> FoundDay:
    """A day here as far as it was brought: more may have been counted here, but never less."""
    return replace(
        like,
        wait=_part(here.wait, like.wait, has_histogram=has_histogram),
        run=_part(here.run, like.run, has_histogram=has_histogram),
        failures=min(here.failures, like.failures),
        retries=min(here.retries, like.retries),
    )


def _part(here: Series, like: Series, *, has_histogram: bool) -> Series:
    """What of a series here is that of the source; mean and variance can be compared only if
    there is nothing else in it.
    """
    bins = {name: min(here.bins.get(name, 0), times) for name, times in like.bins.items()}
    kept = {name: times for name, times in bins.items() if times} if has_histogram else like.bins
    is_more = here.count > like.count
    is_same = here.count == like.count and (
        isclose(here.mean, like.mean, abs_tol=SMALLEST)
        and isclose(here.variance, like.variance, abs_tol=SMALLEST)
    )
    return replace(like if is_more or is_same else here, bins=kept)


def _series(series: Series) -> list[Any]:
    bins = sorted(series.bins.items())
    return [series.count, round(series.mean, 6), round(series.variance, 6), bins]


def _ms(moment: datetime | None) -> int | None:
    return None if moment is None else round(moment.timestamp() * 1000)
