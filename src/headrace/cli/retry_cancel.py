"""`retry` and `cancel`: change jobs that are selected by id or by a filter."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import Any

import click

from headrace import Bulk, Client
from headrace.cli import bulk_changes, options
from headrace.cli.connecting import ServerOptions, existing_queue, open_client
from headrace.cli.jobs import JobFilter, all_jobs, all_tagged
from headrace.cli.output import counted, show, warn
from headrace.errors import HasDependents, HeadraceError, JobNotFound
from headrace.operations.jobs import cancel_in_state
from headrace.transport.drive import drive


def check_selection(ids: Sequence[str], job_filter: JobFilter) -> None:
    """Raise BadParameter unless the user passed either ids or a filter."""
    has_filter = job_filter != JobFilter()
    if not ids and not has_filter:
        text = "missing: pass ids of jobs, or filter options such as --failure"
        raise click.BadParameter(text, param_hint="ID")
    if ids and has_filter:
        raise click.BadParameter("pass ids or filter options, not both", param_hint="ID")


def selected_ids(client: Client, job_filter: JobFilter, count: int | None) -> list[str]:
    """Return the ids of at most `count` jobs that pass a filter."""
    if job_filter.queue is not None and job_filter.state is not None:
        queue = existing_queue(client, job_filter.queue)
        jobs = all_jobs(partial(queue.jobs, job_filter.state))
    else:
        jobs = all_tagged(client, job_filter.tag or "")
    found = dict.fromkeys(job.id for job in jobs if job_filter.accepts(job))
    return list(islice(found, count))


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
    bulk_changes.confirm(f"{question} {counted(plan.matched, 'job')}?", yes=yes or not plan.matched)
    with (
        bulk_changes.counted_changes(done, plan.matched) as count,
        bulk_changes.interrupts_delayed() as raise_if_interrupted,
    ):
        matched = 0

        def notify(so_far: Bulk) -> None:
            nonlocal matched
            count.advance(so_far.matched - matched)
            matched, count.changed = so_far.matched, so_far.done
            raise_if_interrupted()

        result = change(job_filter.failure, on_progress=notify, **options)
    facts = {"matched": result.matched, done: result.done, "refused": result.refused}
    show(facts, f"{counted(result.done, 'job')} {done}")
    if result.refused:
        warn(f"{counted(result.refused, 'job')} refused: {_REASONS[done]}")
        sys.exit(1)


_REASONS = {
    "retried": "another job has the same unique value; wait for that job, or cancel one of the two",
    "cancelled": "other jobs depend on these jobs; cancel these jobs by id with --cascade",
}


@options.command("retry --failure smtp --queue mail --all")
@options.job_ids
@options.of_failure
@options.in_queue
@options.with_tag
@options.number("--count", default=25, help="Retry at most this many jobs, oldest first.")
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
    """Retry failed jobs by id, failure type, queue or tag.

    The oldest jobs are retried first. With --pace, the jobs become due one after the other at the
    given rate.
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
        elif dry_run:
            bulk_changes.report_dry_run("retried", ids)
        else:
            bulk_changes.change_jobs(
                ids, lambda part: client.retry(*part, delay=delay or 0), "retried"
            )


@options.command("cancel --queue mail --state waiting --dry-run")
@options.job_ids
@options.of_failure
@options.in_queue
@options.in_state
@options.with_tag
@click.option("--matching", metavar="DATA", help="With --queue: only jobs with exactly this data.")
@options.number("--count", help="Cancel at most this many jobs.")
@click.option("--cascade", is_flag=True, help="Also cancel the dependents of these jobs.")
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
    """Delete jobs by id, failure type, queue, state, tag or data.

    If a job is running, its worker loses the lease. A complete job cannot be cancelled. A cancelled
    job is deleted and cannot be restored.
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
            bulk_changes.report_dry_run("cancelled", found)
            return
        bulk_changes.confirm(
            f"Cancel {counted(len(found), 'job')}?", yes=yes or bool(ids) or not found
        )
        answers = cancel_all(client, found, job_filter.state, cascade=cascade)
    bulk_changes.report("cancelled", found, answers)


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
    """Cancel the jobs that are in `state`, dependents before their dependencies.

    A `state` of None accepts every job. Returns for each job its former state, or an error if the
    server refused to cancel the job.
    """
    known = {job.id for job in client.jobs(ids)} if cascade else set()
    answers: dict[str, object] = {}

    def cancel_part(part: Sequence[str]) -> Sequence[object]:
        operation = cancel_in_state(client, part, state=state, cascade=cascade)
        return drive(client.core.transport, operation)

    # Dependents are usually put after their dependencies, so the reverse order cancels dependents
    # first.
    left = list(reversed(ids))
    while True:
        answers |= zip(left, bulk_changes.in_steps(left, cancel_part, "cancelled"), strict=True)
        refused = [one for one in left if isinstance(answers[one], HasDependents)]
        if not refused or len(refused) == len(left):
            break
        left = refused
    dependents = {job.id: job.dependents for job in client.jobs(refused)}
    return [
        _outcome(one, answers[one], dependents.get(one, []), existed=one in known) for one in ids
    ]


def _outcome(job_id: str, answer: object, dependents: Sequence[str], *, existed: bool) -> object:
    if isinstance(answer, JobNotFound) and existed:
        # With --cascade, the server has already cancelled this job as a dependent of another job.
        return "cancelled"
    if isinstance(answer, HasDependents):
        names = ", ".join(map(repr, dependents))
        return HeadraceError(
            f"job {job_id!r} has dependents ({names}): cancel these jobs too, or pass --cascade"
        )
    return answer
