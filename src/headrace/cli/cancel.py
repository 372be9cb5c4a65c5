"""`cancel`: delete jobs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click

from headrace import Client
from headrace.cli import options
from headrace.cli.changing import confirm, in_steps, report, report_dry_run
from headrace.cli.connecting import ServerOptions, existing_queue, open_client
from headrace.cli.output import counted
from headrace.cli.selection import JobFilter, change_failed, check_selection, selected_ids
from headrace.errors import HasDependents, HeadraceError, JobNotFound
from headrace.operations.failures import cancel_chosen
from headrace.transport.drive import drive


def parse_json(text: str) -> Any:
    """Parse an argument as JSON. Raises BadParameter."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise click.BadParameter(
            f"this is not JSON ({error}); a string needs quotes of its own: '\"hello\"'"
        ) from None


@click.command(epilog="Example: headrace cancel --queue mail --state waiting --dry-run")
@options.job_ids
@options.of_failure
@options.in_queue
@options.in_state
@options.with_tag
@click.option("--matching", metavar="DATA", help="With --queue: only jobs with exactly this data.")
@click.option("--count", type=click.IntRange(1), metavar="NUMBER", help="At most this many jobs.")
@click.option("--cascade", is_flag=True, help="Also cancel all jobs that depend on them.")
@options.yes
@options.dry_run
@options.server
@options.as_json
def cancel(
    ids: Sequence[str],
    failure: str | None,
    queue: str | None,
    state: str | None,
    tag: str | None,
    matching: str | None,
    count: int | None,
    cascade: bool,
    yes: bool,
    dry_run: bool,
    server: ServerOptions,
    as_json: bool,
) -> None:
    """Delete jobs, by id or by failure type, queue, state, tag and data.

    A running job is taken from its worker. A complete job cannot be cancelled. Cancelled jobs are
    deleted and cannot be restored.
    """
    job_filter = JobFilter(failure=failure, queue=queue, tag=tag, state=state)
    _check(job_filter, matching, cascade=cascade)
    check_selection(ids, job_filter)
    data = None if matching is None else parse_json(matching)
    with open_client(server) as client:
        if failure is not None:
            change_failed(
                client.failures.cancel, job_filter, "cancelled", question="Cancel", count=count,
                yes=yes, dry_run=dry_run, as_json=as_json,
            )  # fmt: skip
            return
        if matching is not None:
            found = list(client.queue(existing_queue(client, queue or "").name).matching(data))[
                :count
            ]
        else:
            found = list(dict.fromkeys(ids)) or selected_ids(client, job_filter, count)
        if dry_run:
            report_dry_run("cancelled", found, as_json=as_json)
            return
        confirm(f"Cancel {counted(len(found), 'job')}?", yes=yes or bool(ids) or not found)
        answers = cancel_all(client, found, state, cascade=cascade)
    report("cancelled", found, answers, as_json=as_json)


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
