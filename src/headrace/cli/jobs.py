"""`peek`, `jobs`, `tags`: lists of jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial

import click

from headrace import Client, Job, Page
from headrace.cli import options
from headrace.cli.connecting import ServerOptions, existing_queue, open_client, server_time
from headrace.cli.output import ago, counted, data_of, facts_of, hint_at_more, table, to_json

PAGE = 1000
COLUMNS = ("id", "state", "queue", "attempt", "when", "about", "data")


@click.command(epilog="Example: headrace peek mail --count 3")
@options.queue
@options.count(10)
@options.server
@options.as_json
def peek(queue: str, count: int, server: ServerOptions, as_json: bool) -> None:
    """Show the next jobs of a queue in the order workers get them."""
    with open_client(server) as client:
        found = client.queue(queue).peek(count) or existing_queue(client, queue).peek(count)
        now = server_time(client)
    if as_json:
        click.echo(to_json({"queue": queue, "jobs": [facts_of(job) for job in found]}))
    elif found:
        list_jobs(found, now)
    else:
        click.echo(f"no waiting jobs in {queue}")


@click.command(epilog="Example: headrace jobs mail --state failed")
@options.optional_queue
@options.in_state
@options.with_tag
@options.offset
@options.count(25)
@options.server
@options.as_json
def jobs(
    queue: str | None,
    state: str | None,
    tag: str | None,
    offset: int,
    count: int,
    server: ServerOptions,
    as_json: bool,
) -> None:
    """List the jobs of a queue in one state, or the jobs with a tag.

    The default state is waiting.
    """
    if queue is None and tag is None:
        raise click.BadParameter("pass a QUEUE or --tag", param_hint="QUEUE")
    with open_client(server) as client:
        if tag is not None:
            found = _tagged(client, tag, queue, state, offset, count)
            about = f"with tag {tag}"
        else:
            wanted = state or "waiting"
            found = existing_queue(client, queue or "").jobs(wanted, offset=offset, count=count)
            about = f"{wanted} in {queue}"
        now = server_time(client)
    show_page(found, about, now, as_json=as_json)


def _tagged(
    client: Client, tag: str, queue: str | None, state: str | None, offset: int, count: int
) -> Page:
    if queue is None and state is None:
        return client.tags.jobs(tag, offset=offset, count=count)
    found = [job for job in all_tagged(client, tag) if matches(job, queue, state)]
    return Page(len(found), found[offset : offset + count])


def all_tagged(client: Client, tag: str) -> Iterator[Job]:
    """Read all jobs that have a tag."""
    return all_jobs(lambda offset: client.tags.jobs(tag, offset=offset, count=PAGE))


def all_jobs(read: Callable[[int], Page]) -> Iterator[Job]:
    """Read the jobs of all pages; `read` returns the page of PAGE jobs at an offset."""
    offset = 0
    while True:
        page = read(offset)
        yield from page.jobs
        offset += PAGE
        if offset >= page.total:
            return


def matches(job: Job, queue: str | None, state: str | None = None, tag: str | None = None) -> bool:
    """Return whether a job has this queue, state and tag; None accepts any."""
    return (
        queue in (None, job.queue)
        and state in (None, job.state)
        and (tag is None or tag in job.tags)
    )


def show_page(found: Page, about: str, now: datetime, *, as_json: bool) -> None:
    """Print a page of jobs and the total number."""
    if as_json:
        rows = [facts_of(job) for job in found.jobs]
        click.echo(to_json({"total": found.total, "jobs": rows}))
        return
    if found.jobs:
        list_jobs(found.jobs, now)
    shown = f"{len(found.jobs):,} of " if len(found.jobs) < found.total else ""
    click.echo(f"{shown}{counted(found.total, 'job')} {about}")


def list_jobs(found: list[Job], now: datetime) -> None:
    """Print jobs as a table."""
    table(
        COLUMNS,
        (
            (
                job.id,
                job.state,
                job.queue,
                job.attempt,
                ago(_time_of(job), now),
                _about(job),
                data_of(job),
            )
            for job in found
        ),
        cut=True,
    )


def _time_of(job: Job) -> datetime:
    """Return the time that matters most in the state of a job."""
    if job.failure is not None and job.state == "failed":
        return job.failure.at
    if job.state == "scheduled" and job.due is not None:
        return job.due
    last = job.history[-1] if job.history else None
    if job.state in ("running", "complete") and last is not None:
        return last.ended or last.popped or job.put_at
    return job.put_at


def _about(job: Job) -> str:
    if job.failure is not None and job.state == "failed":
        return f"{job.failure.type}: {job.failure.message}".removesuffix(": ")
    if job.state == "running":
        done = "" if job.progress is None else f" {job.progress:.0%} {job.note}".rstrip()
        return f"{job.worker}{done}"
    return " ".join(job.tags)


@click.command(epilog="Example: headrace tags vip")
@click.argument("tag", required=False, help="List the jobs with this tag.")
@options.offset
@options.count(25)
@options.server
@options.as_json
def tags(tag: str | None, offset: int, count: int, server: ServerOptions, as_json: bool) -> None:
    """List tags, most used first, or the jobs with one tag."""
    with open_client(server) as client:
        if tag is not None:
            page, now = client.tags.jobs(tag, offset=offset, count=count), server_time(client)
            show_page(page, f"with tag {tag}", now, as_json=as_json)
            return
        found = client.tags.top(offset=offset, count=count, least=1)
        hint_at_more(len(found), offset, count, partial(client.tags.top, least=1))
    if as_json:
        click.echo(to_json({"tags": found}))
    elif found:
        table(("tag", "jobs"), found.items())
    else:
        click.echo("no job has a tag")
