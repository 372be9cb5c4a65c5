"""`peek`, `jobs`, `failures`, `tags`: lists of jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial

import click

from headrace import Client, Job, Page
from headrace.cli import options
from headrace.cli.connecting import ServerOptions, existing_queue, open_client, server_time
from headrace.cli.output import (
    ago,
    counted,
    data_of,
    facts_of,
    hint_at_more,
    print_json,
    show_rows,
    table,
)
from headrace.cli.shell_completion import failure_types

PAGE = 1000
COLUMNS = ("id", "state", "queue", "attempt", "when", "about", "data")


@options.command("peek mail --count 3")
@options.queue
@options.count(10)
def peek(queue: str, count: int, server: ServerOptions) -> None:
    """Show the next jobs of a queue in the order workers get them."""
    with open_client(server) as client:
        found = client.queue(queue).peek(count) or existing_queue(client, queue).peek(count)
        now = server_time(client)
    facts = {"queue": queue, "jobs": [facts_of(job) for job in found]}
    show_rows(facts, COLUMNS, _rows(found, now), f"no waiting jobs in {queue}", cut=True)


@options.command("jobs mail --state failed")
@options.optional_queue
@options.in_state
@options.with_tag
@options.offset
@options.count(25)
def jobs(
    queue: str | None,
    state: str | None,
    tag: str | None,
    offset: int,
    count: int,
    server: ServerOptions,
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
    show_page(found, about, now)


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


def show_page(found: Page, about: str, now: datetime) -> None:
    """Print a page of jobs and the total number."""
    if print_json({"total": found.total, "jobs": [facts_of(job) for job in found.jobs]}):
        return
    if found.jobs:
        table(COLUMNS, _rows(found.jobs, now), cut=True)
    shown = f"{len(found.jobs):,} of " if len(found.jobs) < found.total else ""
    click.echo(f"{shown}{counted(found.total, 'job')} {about}")


def _rows(found: Iterable[Job], now: datetime) -> Iterator[Sequence[object]]:
    for job in found:
        when = ago(_time_of(job), now)
        yield job.id, job.state, job.queue, job.attempt, when, _about(job), data_of(job)


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


@options.command("failures smtp")
@click.argument(
    "failure",
    metavar="[TYPE]",
    required=False,
    shell_complete=failure_types,
    help="List the jobs that failed with this type, newest first.",
)
@options.offset
@options.count(25, most=100)
def failures(failure: str | None, offset: int, count: int, server: ServerOptions) -> None:
    """List failure types with their newest message, or the jobs of one type."""
    with open_client(server) as client:
        if failure is not None:
            page = client.failures.jobs(failure, offset=offset, count=count)
            show_page(page, f"failed with {failure}", server_time(client))
            return
        found, now = client.failures.groups(offset=offset, count=count), server_time(client)
        hint_at_more(len(found), offset, count, client.failures.groups)
    rows = (
        (each.type, each.count, ago(each.at, now), each.queue, each.job_id, each.message)
        for each in found
    )
    columns = ("failure", "jobs", "newest", "queue", "job", "message")
    show_rows({"failures": found}, columns, rows, "no failed jobs", cut=True)


@options.command("tags vip")
@click.argument("tag", required=False, help="List the jobs with this tag.")
@options.offset
@options.count(25)
def tags(tag: str | None, offset: int, count: int, server: ServerOptions) -> None:
    """List tags, most used first, or the jobs with one tag."""
    with open_client(server) as client:
        if tag is not None:
            page, now = client.tags.jobs(tag, offset=offset, count=count), server_time(client)
            show_page(page, f"with tag {tag}", now)
            return
        found = client.tags.top(offset=offset, count=count, least=1)
        hint_at_more(len(found), offset, count, partial(client.tags.top, least=1))
    show_rows({"tags": found}, ("tag", "jobs"), found.items(), "no job has a tag")
