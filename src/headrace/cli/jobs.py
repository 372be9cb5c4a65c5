"""`peek`, `jobs`, `tags`: jobs in a list."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.opening import existing, opened, server_time
from headrace.cli.options import Count, InState, Namespace, Offset, Queue, SomeQueue, Url, WithTag
from headrace.cli.show import AsJson, as_line, data_of, facts_of, table, tell_more
from headrace.cli.words import ago, counted

if TYPE_CHECKING:
    from headrace import Client, Job, Page

PAGE = 1000
COLUMNS = ("id", "state", "queue", "attempt", "when", "about", "data")


def peek(
    queue: Queue,
    *,
    count: Annotated[int, typer.Option("--count", min=1, max=1000, help="How many.")] = 10,
    url: Url = None,
    namespace: Namespace = "default",
    as_json: AsJson = False,
) -> None:
    """Show the next jobs of a queue, as workers would get them."""
    with opened(url, namespace) as client:
        found = client.queue(queue).peek(count) or existing(client, queue).peek(count)
        now = server_time(client)
    if as_json:
        typer.echo(as_line({"queue": queue, "jobs": [facts_of(job) for job in found]}))
    elif found:
        list_jobs(found, now)
    else:
        typer.echo(f"nothing waits in {queue}")


def jobs(
    queue: SomeQueue = None,
    *,
    state: InState = None,
    tag: WithTag = None,
    offset: Offset = 0,
    count: Count = 25,
    url: Url = None,
    namespace: Namespace = "default",
    as_json: AsJson = False,
) -> None:
    """List the jobs of a queue in one state, or those with a tag.

    Without a state or a tag, those that wait.
    """
    if queue is None and tag is None:
        raise typer.BadParameter("give a QUEUE, or a --tag", param_hint="QUEUE")
    with opened(url, namespace) as client:
        if tag is not None:
            found = _tagged(client, tag, queue, state, offset, count)
            about = f"with tag {tag}"
        else:
            asked = state or "waiting"
            found = existing(client, queue or "").jobs(asked, offset=offset, count=count)
            about = f"{asked} in {queue}"
        now = server_time(client)
    show_page(found, about, now, as_json=as_json)


def _tagged(
    client: Client, tag: str, queue: str | None, state: str | None, offset: int, count: int
) -> Page:
    from headrace import Page  # noqa: PLC0415  redis takes long to load

    if queue is None and state is None:
        return client.tags.jobs(tag, offset=offset, count=count)
    found = [job for job in every_tagged(client, tag) if is_one(job, queue, state)]
    return Page(len(found), found[offset : offset + count])


def every_tagged(client: Client, tag: str) -> Iterator[Job]:
    """All jobs that have a tag."""
    return every(lambda offset: client.tags.jobs(tag, offset=offset, count=PAGE))


def every(read: Callable[[int], Page]) -> Iterator[Job]:
    """The jobs of all pages."""
    offset = 0
    while True:
        page = read(offset)
        yield from page.jobs
        offset += PAGE
        if offset >= page.total:
            return


def is_one(job: Job, queue: str | None, state: str | None = None, tag: str | None = None) -> bool:
    """Whether a job is one of those that were asked for."""
    return (
        queue in (None, job.queue)
        and state in (None, job.state)
        and (tag is None or tag in job.tags)
    )


def show_page(found: Page, about: str, now: datetime, *, as_json: bool) -> None:
    """A page of jobs, and how many there are in all."""
    if as_json:
        jobs_found = [facts_of(job) for job in found.jobs]
        typer.echo(as_line({"total": found.total, "jobs": jobs_found}))
        return
    if found.jobs:
        list_jobs(found.jobs, now)
    shown = f"{len(found.jobs):,} of " if len(found.jobs) < found.total else ""
    typer.echo(f"{shown}{counted(found.total, 'job')} {about}")


def list_jobs(found: list[Job], now: datetime) -> None:
    """Jobs for people, a line each."""
    table(
        COLUMNS,
        (
            (
                job.id,
                job.state,
                job.queue,
                job.attempt,
                ago(when_of(job), now),
                about_of(job),
                data_of(job),
            )
            for job in found
        ),
        cut=True,
    )


def when_of(job: Job) -> datetime:
    """The moment that matters most in its state."""
    if job.failure is not None and job.state == "failed":
        return job.failure.at
    if job.state == "scheduled" and job.due is not None:
        return job.due
    last = job.history[-1] if job.history else None
    if job.state in ("running", "complete") and last is not None:
        return last.ended or last.popped or job.put_at
    return job.put_at


def about_of(job: Job) -> str:
    """What matters most of it in its state, in a word or two."""
    if job.failure is not None and job.state == "failed":
        return f"{job.failure.type}: {job.failure.message}".removesuffix(": ")
    if job.state == "running":
        done = "" if job.progress is None else f" {job.progress:.0%} {job.note}".rstrip()
        return f"{job.worker}{done}"
    return " ".join(job.tags)


def tags(
    tag: Annotated[str | None, typer.Argument(metavar="TAG", help="List its jobs.")] = None,
    *,
    offset: Offset = 0,
    count: Count = 25,
    url: Url = None,
    namespace: Namespace = "default",
    as_json: AsJson = False,
) -> None:
    """List tags, the most used first, or the jobs of one tag."""
    with opened(url, namespace) as client:
        if tag is not None:
            page, now = client.tags.jobs(tag, offset=offset, count=count), server_time(client)
            show_page(page, f"with tag {tag}", now, as_json=as_json)
            return
        found = client.tags.top(offset=offset, count=count, least=1)
        tell_more(len(found), offset, count, partial(client.tags.top, least=1))
    if as_json:
        typer.echo(as_line({"tags": found}))
    elif found:
        table(("tag", "jobs"), found.items())
    else:
        typer.echo("no job has a tag")
