"""`retry`, `cancel`: change jobs that are selected by id or by what they have in common."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import click

from headrace import Bulk, Client, Job
from headrace.cli import options
from headrace.cli.changing import confirm, guarded, in_steps, report, report_dry_run
from headrace.cli.connecting import ServerOptions, existing_queue, open_client
from headrace.cli.jobs import PAGE, all_jobs, all_tagged, matches
from headrace.cli.output import counted, show, warn
from headrace.errors import HasDependents, HeadraceError, JobNotFound
from headrace.operations.failures import cancel_chosen
from headrace.transport.drive import drive


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
    **options: Any,
) -> None:
    """Retry or cancel the failed jobs that pass a filter, after a confirmation.

    Prints the number of changed jobs. Exits with 1 if the server refused a job.
    """
    options |= {"queue": job_filter.queue, "tag": job_filter.tag}
    plan = change(job_filter.failure, dry_run=True, **options)
    if dry_run:
        sentence = f"{counted(plan.matched, 'job')} would be {done}; nothing was changed"
        show({"dry_run": True, "matched": plan.matched}, sentence)
        return
    confirm(f"{question} {counted(plan.matched, 'job')}?", yes=yes or not plan.matched)
    with guarded(done, plan.matched) as (guard, advance):
        matched = 0

        def notify(so_far: Bulk) -> None:
            nonlocal matched
            advance(so_far.matched - matched)
            matched, guard.changed = so_far.matched, so_far.done
            guard.raise_if_interrupted()

        with guard.step():
            result = change(job_filter.failure, on_progress=notify, **options)
    facts = {"matched": result.matched, done: result.done, "refused": result.refused}
    show(facts, f"{counted(result.done, 'job')} {done}")
    if result.refused:
        warn(f"{counted(result.refused, 'job')} refused: {_REASONS[done]}")
        sys.exit(1)


_REASONS = {
    "retried": "another job has the same unique value; wait for it, or cancel one of the two",
    "cancelled": "other jobs depend on them; cancel them by id with --cascade",
}


@options.command("retry --failure smtp --queue mail --all")
@options.job_ids
@options.of_failure
@options.in_queue
@options.with_tag
@options.number("--count", default=25, help="Retry at most this many, oldest first; default: 25.")
@click.option("--all", "every", is_flag=True, help="Retry all matching jobs; ignore --count.")
@options.delay
@click.option("--pace", metavar="RATE", help="Spread the retries over time: 100/s, 5/m.")
@options.yes
@options.dry_run
def retry(
    ids: Sequence[str],
    count: int,
    every: bool,
    delay: float | None,
    pace: str | None,
    yes: bool,
    dry_run: bool,
    server: ServerOptions,
    **chosen: str | None,
) -> None:
    """Retry failed jobs, by id or by failure type, queue and tag.

    The oldest jobs are retried first. With --pace the jobs become due one after the other.
    """
    job_filter = JobFilter(**chosen)
    check_selection(ids, job_filter)
    if ids and pace:
        raise click.BadParameter("cannot be combined with ids", param_hint="--pace")
    with open_client(server) as client:
        if not ids:
            change_failed(
                client.failures.retry, job_filter, "retried", question="Retry", yes=yes,
                dry_run=dry_run, count=None if every else count,
                delay=delay or 0, pace=pace,
            )  # fmt: skip
            return
        unique = list(dict.fromkeys(ids))
        if dry_run:
            report_dry_run("retried", unique)
            return
        answers = in_steps(unique, lambda part: client.retry(*part, delay=delay or 0), "retried")
    report("retried", unique, answers)


@options.command("cancel --queue mail --state waiting --dry-run")
@options.job_ids
@options.of_failure
@options.in_queue
@options.in_state
@options.with_tag
@click.option("--matching", metavar="DATA", help="With --queue: only jobs with exactly this data.")
@options.number("--count", help="At most this many jobs.")
@click.option("--cascade", is_flag=True, help="Also cancel all jobs that depend on them.")
@options.yes
@options.dry_run
def cancel(
    ids: Sequence[str],
    matching: str | None,
    count: int | None,
    cascade: bool,
    yes: bool,
    dry_run: bool,
    server: ServerOptions,
    **chosen: str | None,
) -> None:
    """Delete jobs, by id or by failure type, queue, state, tag and data.

    A running job is taken from its worker. A complete job cannot be cancelled. Cancelled jobs are
    deleted and cannot be restored.
    """
    job_filter = JobFilter(**chosen)
    _check(job_filter, matching, cascade=cascade)
    check_selection(ids, job_filter)
    data = None if matching is None else options.json_value(matching)
    with open_client(server) as client:
        if job_filter.failure is not None:
            change_failed(
                client.failures.cancel, job_filter, "cancelled", question="Cancel", count=count,
                yes=yes, dry_run=dry_run
            )  # fmt: skip
            return
        if matching is not None:
            found = list(existing_queue(client, job_filter.queue or "").matching(data))[:count]
        else:
            found = list(dict.fromkeys(ids)) or selected_ids(client, job_filter, count)
        if dry_run:
            report_dry_run("cancelled", found)
            return
        confirm(f"Cancel {counted(len(found), 'job')}?", yes=yes or bool(ids) or not found)
        answers = cancel_all(client, found, job_filter.state, cascade=cascade)
    report("cancelled", found, answers)


def _check(job_filter: JobFilter, matching: str | None, *, cascade: bool) -> None:
    if matching is not None and job_filter != JobFilter(queue=job_filter.queue or ""):
        raise click.BadParameter("requires --queue and no other filter", param_hint="--matching")
    if job_filter.queue and matching is None and job_filter == JobFilter(queue=job_filter.queue):
        raise click.BadParameter(
            "also pass --state, --tag, --failure or --matching", param_hint="--queue"
        )
    if job_filter.state and not job_filter.queue and not job_filter.tag:
        raise click.BadParameter("also pass --queue or --tag", param_hint="--state")
    if job_filter.failure and (job_filter.state or cascade):
        raise click.BadParameter(
            "cannot be combined with --state or --cascade", param_hint="--failure"
        )


def cancel_all(
    client: Client, ids: Sequence[str], state: str | None, *, cascade: bool
) -> list[object]:
    """Cancel jobs that are still in a state, dependents before the jobs they depend on.

    Returns for each job its former state, or the error that refused it.
    """
    known = {job.id for job in client.jobs(ids)} if cascade else set()
    answers: dict[str, object] = {}
    # A dependent is usually put after the job that it depends on.
    left = list(reversed(ids))
    while True:
        answers |= zip(left, _cancelled(client, left, state, cascade=cascade), strict=True)
        refused = [one for one in left if isinstance(answers[one], HasDependents)]
        if not refused or len(refused) == len(left):
            break
        left = refused
    dependents = {job.id: job.dependents for job in client.jobs(refused)}
    return [
        _outcome(one, answers[one], dependents.get(one, []), existed=one in known) for one in ids
    ]


def _cancelled(
    client: Client, ids: Sequence[str], state: str | None, *, cascade: bool
) -> list[object]:
    def act(part: Sequence[str]) -> Sequence[object]:
        transport = client.core.transport
        return drive(transport, cancel_chosen(client, part, state=state, cascade=cascade))

    return in_steps(ids, act, "cancelled")


def _outcome(job_id: str, answer: object, dependents: Sequence[str], *, existed: bool) -> object:
    if isinstance(answer, JobNotFound) and existed:
        # The cascade of another job has already cancelled it.
        return "cancelled"
    if isinstance(answer, HasDependents):
        names = ", ".join(map(repr, dependents))
        return HeadraceError(
            f"job {job_id!r} has dependents ({names}): cancel them too, or pass --cascade"
        )
    return answer
