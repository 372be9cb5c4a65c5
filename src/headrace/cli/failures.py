"""`failures`, `retry`: what went wrong, and another try."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.bulk import agree, in_steps
from headrace.cli.choosing import Choice, check_choice, chosen, report
from headrace.cli.completing import failure_types
from headrace.cli.jobs import show_page
from headrace.cli.opening import opened, server_time
from headrace.cli.options import (
    Count,
    Delay,
    DryRun,
    Ids,
    InQueue,
    Namespace,
    OfFailure,
    Offset,
    Url,
    WithTag,
    Yes,
)
from headrace.cli.show import AsJson, as_line, table
from headrace.cli.words import ago, counted

if TYPE_CHECKING:
    from headrace import Job

AtMost = Annotated[int, typer.Option("--count", min=1, help="The oldest so many, at most.")]
All = Annotated[bool, typer.Option("--all", help="All of them, not only --count.")]


def failures(
    failure: Annotated[
        str | None,
        typer.Argument(
            metavar="TYPE", autocompletion=failure_types, help="List its jobs, newest first."
        ),
    ] = None,
    *,
    offset: Offset = 0,
    count: Count = 25,
    url: Url = None,
    namespace: Namespace = "default",
    as_json: AsJson = False,
) -> None:
    """List types of failures with their newest messages, or the jobs of one."""
    with opened(url, namespace) as client:
        if failure is not None:
            page, now = client.failed(failure, offset=offset, count=count), server_time(client)
            show_page(page, f"failed with {failure}", now, as_json=as_json)
            return
        found = client.failures(offset=offset, count=count)
        newest = {kind: _newest(client.failed(kind, count=1).jobs) for kind in found}
        now = server_time(client)
    rows = [
        (kind, times, job and job.failure and job.failure.at, job and job.id, _message(job))
        for (kind, times), job in zip(found.items(), newest.values(), strict=True)
    ]
    if as_json:
        names = ("failure", "jobs", "newest", "job_id", "message")
        typer.echo(as_line({"failures": [dict(zip(names, row, strict=True)) for row in rows]}))
    elif rows:
        table(
            ("failure", "jobs", "newest", "job", "message"),
            ((kind, times, ago(at or None, now), *rest) for kind, times, at, *rest in rows),
        )
    else:
        typer.echo("nothing is failed")


def _newest(found: list[Job]) -> Job | None:
    return found[0] if found else None


def _message(job: Job | None) -> str | None:
    return job.failure.message if job is not None and job.failure is not None else None


def retry(
    ids: Ids = None,
    *,
    failure: OfFailure = None,
    queue: InQueue = None,
    tag: WithTag = None,
    count: AtMost = 25,
    every: All = False,
    delay: Delay = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    url: Url = None,
    namespace: Namespace = "default",
    as_json: AsJson = False,
) -> None:
    """Try failed jobs again: by their ids, or those of a type of failure."""
    choice = Choice(failure=failure, queue=queue, tag=tag, count=None if every else count)
    check_choice(ids, choice, failure)
    with opened(url, namespace) as client:
        found = list(ids or ()) or chosen(client, choice)
        if not ids and not dry_run:
            agree(f"Retry {counted(len(found), 'job')}?", yes=yes or not found)

        def act(part: Sequence[str]) -> Sequence[object]:
            return client.retry(*part, delay=delay or 0)

        answers = [] if dry_run else in_steps(found, act, "retried")
    report("retried", found, answers, as_json=as_json, dry_run=dry_run)
