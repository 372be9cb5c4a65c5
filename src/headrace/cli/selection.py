"""Select the jobs that `retry` and `cancel` change, by id or by what they have in common."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import click

from headrace import Bulk, Client, Job
from headrace.cli.changing import ChangeStopped, InterruptGuard, confirm
from headrace.cli.connecting import existing_queue
from headrace.cli.jobs import PAGE, all_jobs, all_tagged, matches
from headrace.cli.output import counted, progress, to_json, warn
from headrace.errors import HeadraceError


@dataclass(frozen=True, slots=True)
class JobFilter:
    """The failure type, queue, tag and state that selected jobs have in common."""

    failure: str | None = None
    queue: str | None = None
    tag: str | None = None
    state: str | None = None

    def is_set(self) -> bool:
        """Return whether any condition was given."""
        return any((self.failure, self.queue, self.tag, self.state))


def check_selection(ids: Sequence[str], job_filter: JobFilter) -> None:
    """Raise BadParameter unless either ids or a filter were given, not both."""
    if bool(ids) == job_filter.is_set():
        raise click.BadParameter("pass ids or filter options, not both", param_hint="ID")


def selected_ids(client: Client, job_filter: JobFilter, count: int | None) -> list[str]:
    """Return the ids of at most `count` jobs that pass a filter."""
    found = dict.fromkeys(
        job.id
        for job in _candidates(client, job_filter)
        if matches(job, job_filter.queue, job_filter.state, job_filter.tag)
    )
    return list(islice(found, count))


def _candidates(client: Client, job_filter: JobFilter) -> Iterator[Job]:
    if job_filter.queue is not None and job_filter.state is not None:
        queue, state = existing_queue(client, job_filter.queue), job_filter.state
        return all_jobs(lambda offset: queue.jobs(state, offset=offset, count=PAGE))
    return all_tagged(client, job_filter.tag or "")


def change_failed(
    change: Callable[..., Bulk],
    job_filter: JobFilter,
    done: str,
    *,
    question: str,
    yes: bool,
    dry_run: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Retry or cancel the failed jobs that pass a filter, after a confirmation.

    Prints the number of changed jobs. Exits with 1 if the server refused a job.
    """
    options |= {"queue": job_filter.queue, "tag": job_filter.tag}
    plan = change(job_filter.failure, dry_run=True, **options)
    if dry_run:
        sentence = f"{counted(plan.matched, 'job')} would be {done}; nothing was changed"
        click.echo(to_json({"dry_run": True, "matched": plan.matched}) if as_json else sentence)
        return
    confirm(f"{question} {counted(plan.matched, 'job')}?", yes=yes or not plan.matched)
    result = _with_progress(
        lambda notify: change(job_filter.failure, on_progress=notify, **options), plan.matched, done
    )
    if as_json:
        facts = {"matched": result.matched, done: result.done, "refused": result.refused}
        click.echo(to_json(facts))
    else:
        click.echo(f"{counted(result.done, 'job')} {done}")
    if result.refused:
        warn(f"{counted(result.refused, 'job')} refused: {_REASONS[done]}")
        sys.exit(1)


_REASONS = {
    "retried": "another job has the same unique value; wait for it, or cancel one of the two",
    "cancelled": "other jobs depend on them; cancel them by id with --cascade",
}


def _with_progress(change: Callable[[Callable[[Bulk], None]], Bulk], total: int, done: str) -> Bulk:
    matched = changed = 0
    try:
        with InterruptGuard().installed() as guard, progress(done, total) as advance:

            def notify(so_far: Bulk) -> None:
                nonlocal matched, changed
                advance(so_far.matched - matched)
                matched, changed = so_far.matched, so_far.done
                guard.raise_if_interrupted()

            with guard.step():
                return change(notify)
    except KeyboardInterrupt:
        warn(f"interrupted, {done} {changed} of {total}")
        raise
    except HeadraceError as error:
        raise ChangeStopped(f"{done} {changed} of {total}, then: {error}") from error
