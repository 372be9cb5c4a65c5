"""`failures`, `retry`: failed jobs."""

from __future__ import annotations

from collections.abc import Sequence

import click

from headrace.cli import options
from headrace.cli.changing import in_steps, report, report_dry_run
from headrace.cli.connecting import ServerOptions, open_client, server_time
from headrace.cli.jobs import show_page
from headrace.cli.output import ago, hint_at_more, table, to_json
from headrace.cli.selection import JobFilter, change_failed, check_selection
from headrace.cli.shell_completion import failure_types


@click.command(epilog="Example: headrace failures smtp")
@click.argument(
    "failure",
    metavar="[TYPE]",
    required=False,
    shell_complete=failure_types,
    help="List the jobs that failed with this type, newest first.",
)
@options.offset
@options.count(25, most=100)
@options.server
@options.as_json
def failures(
    failure: str | None, offset: int, count: int, server: ServerOptions, as_json: bool
) -> None:
    """List failure types with their newest message, or the jobs of one type."""
    with open_client(server) as client:
        if failure is not None:
            page, now = (
                client.failures.jobs(failure, offset=offset, count=count),
                server_time(client),
            )
            show_page(page, f"failed with {failure}", now, as_json=as_json)
            return
        found, now = client.failures.groups(offset=offset, count=count), server_time(client)
        hint_at_more(len(found), offset, count, client.failures.groups)
    if as_json:
        click.echo(to_json({"failures": found}))
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
        click.echo("no failed jobs")


@click.command(epilog="Example: headrace retry --failure smtp --queue mail --all")
@options.job_ids
@options.of_failure
@options.in_queue
@options.with_tag
@click.option(
    "--count",
    type=click.IntRange(1),
    metavar="NUMBER",
    default=25,
    help="Retry at most this many, oldest first; default: 25.",
)
@click.option("--all", "every", is_flag=True, help="Retry all matching jobs; ignore --count.")
@options.delay
@click.option("--pace", metavar="RATE", help="Spread the retries over time: 100/s, 5/m.")
@options.yes
@options.dry_run
@options.server
@options.as_json
def retry(
    ids: Sequence[str],
    failure: str | None,
    queue: str | None,
    tag: str | None,
    count: int,
    every: bool,
    delay: float | None,
    pace: str | None,
    yes: bool,
    dry_run: bool,
    server: ServerOptions,
    as_json: bool,
) -> None:
    """Retry failed jobs, by id or by failure type, queue and tag.

    The oldest jobs are retried first. With --pace the jobs become due one after the other.
    """
    job_filter = JobFilter(failure=failure, queue=queue, tag=tag)
    check_selection(ids, job_filter)
    if ids and pace:
        raise click.BadParameter("cannot be combined with ids", param_hint="--pace")
    with open_client(server) as client:
        if not ids:
            change_failed(
                client.failures.retry, job_filter, "retried", question="Retry", yes=yes,
                dry_run=dry_run, as_json=as_json, count=None if every else count,
                delay=delay or 0, pace=pace,
            )  # fmt: skip
            return
        unique = list(dict.fromkeys(ids))
        if dry_run:
            report_dry_run("retried", unique, as_json=as_json)
            return

        def act(part: Sequence[str]) -> Sequence[object]:
            return client.retry(*part, delay=delay or 0)

        answers = in_steps(unique, act, "retried")
    report("retried", unique, answers, as_json=as_json)
