"""`failures`, `retry`: what went wrong, and another try."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from headrace.cli.bulk import in_steps
from headrace.cli.choosing import Choice, change_failed, check_choice, report, report_plan
from headrace.cli.completing import failure_types
from headrace.cli.jobs import show_page
from headrace.cli.opening import opened, server_time
from headrace.cli.options import (
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
from headrace.cli.show import AsJson, as_line, table, tell_more
from headrace.cli.words import ago

AtMost = Annotated[int, typer.Option("--count", min=1, help="The oldest so many, at most.")]
Pace = Annotated[
    str | None,
    typer.Option("--pace", metavar="RATE", help="Start them one after the other: 100/s, 5/m."),
]
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
    count: Annotated[int, typer.Option("--count", min=1, max=100, help="Show up to so many.")] = 25,
    url: Url = None,
    namespace: Namespace = "default",
    as_json: AsJson = False,
) -> None:
    """List types of failures with their newest messages, or the jobs of one."""
    with opened(url, namespace) as client:
        if failure is not None:
            page, now = (
                client.failures.jobs(failure, offset=offset, count=count),
                server_time(client),
            )
            show_page(page, f"failed with {failure}", now, as_json=as_json)
            return
        found, now = client.failures.groups(offset=offset, count=count), server_time(client)
        tell_more(len(found), offset, count, client.failures.groups)
    if as_json:
        typer.echo(as_line({"failures": found}))
    elif found:
        table(
            ("failure", "jobs", "newest", "queue", "job", "message"),
            (
                (each.type, each.count, ago(each.at, now), each.queue, each.job_id, each.message)
                for each in found
            ),
            cut=True,
        )
    else:
        typer.echo("nothing is failed")


def retry(
    ids: Ids = None,
    *,
    failure: OfFailure = None,
    queue: InQueue = None,
    tag: WithTag = None,
    count: AtMost = 25,
    every: All = False,
    delay: Delay = None,
    pace: Pace = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    url: Url = None,
    namespace: Namespace = "default",
    as_json: AsJson = False,
) -> None:
    """Try failed jobs again: by their ids, or by failure, queue, tag.

    The oldest are tried first; with --pace they are due one after the other.
    """
    choice = Choice(failure=failure, queue=queue, tag=tag)
    check_choice(ids, chosen_otherwise=choice.is_made())
    if ids and pace:
        raise typer.BadParameter("not with ids", param_hint="--pace")
    with opened(url, namespace) as client:
        if not ids:
            change_failed(
                client.failures.retry, choice, "retried", question="Retry", yes=yes,
                dry_run=dry_run, as_json=as_json, count=None if every else count,
                delay=delay or 0, pace=pace,
            )  # fmt: skip
            return
        meant = list(dict.fromkeys(ids))
        if dry_run:
            report_plan("retried", meant, as_json=as_json)
            return

        def act(part: Sequence[str]) -> Sequence[object]:
            return client.retry(*part, delay=delay or 0)

        answers = in_steps(meant, act, "retried")
    report("retried", meant, answers, as_json=as_json)
