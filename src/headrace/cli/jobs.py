"""`peek`, `jobs`, `failures` and `tags`: commands that list jobs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

import click

from headrace import Client, Job, Page
from headrace.cli import options, output
from headrace.cli.connecting import ServerOptions, existing_queue, open_client, server_time
from headrace.cli.shell_completion import failure_types
from headrace.engine.check import PAGE

COLUMNS = ("id", "state", "queue", "attempt", "when", "about", "data")


@options.client_command("peek mail --count 3")
@options.queue
@options.count(10)
def peek(queue: str, count: int, client: Client) -> None:
    """Show the next jobs of a queue in the order in which workers get them."""
    found = client.queue(queue).peek(count) or existing_queue(client, queue).peek(count)
    now = server_time(client)
    facts = {"queue": queue, "jobs": [output.facts_of(job) for job in found]}
    output.show_rows(facts, COLUMNS, _rows(found, now), f"no waiting jobs in {queue}", cut=True)


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

    Without --state and --tag, the command lists the waiting jobs.
    """
    if queue is None and tag is None:
        raise click.BadParameter("pass a QUEUE or --tag", param_hint="QUEUE")
    with open_client(server) as client:
        if tag is not None:
            found = _tagged(client, tag, JobFilter(queue=queue, state=state), offset, count)
            about = f"with tag {tag}"
        else:
            wanted = state or "waiting"
            found = existing_queue(client, queue or "").jobs(wanted, offset=offset, count=count)
            about = f"{wanted} in {queue}"
        now = server_time(client)
    show_page(found, about, now)


@dataclass(frozen=True, slots=True)
class JobFilter:
    """A filter for jobs by failure type, queue, tag and state."""

    failure: str | None = None
    queue: str | None = None
    tag: str | None = None
    state: str | None = None

    def accepts(self, job: Job) -> bool:
        """Return whether a job has the queue, tag and state of the filter.

        A filter value of None accepts every job.
        """
        return (
            self.queue in (None, job.queue)
            and self.state in (None, job.state)
            and (self.tag is None or self.tag in job.tags)
        )


def _tagged(client: Client, tag: str, job_filter: JobFilter, offset: int, count: int) -> Page:
    if job_filter == JobFilter():
        return client.tags.jobs(tag, offset=offset, count=count)
    found = list(filter(job_filter.accepts, all_tagged(client, tag)))
    return Page(len(found), found[offset : offset + count])


def all_tagged(client: Client, tag: str) -> Iterator[Job]:
    """Yield all jobs that have a tag."""
    return all_jobs(partial(client.tags.jobs, tag))


def all_jobs(read: Callable[..., Page]) -> Iterator[Job]:
    """Yield the jobs of all pages. `read` returns the page for an offset and a count."""
    for offset in itertools.count(0, PAGE):
        page = read(offset=offset, count=PAGE)
        yield from page.jobs
        if offset + PAGE >= page.total:
            return


def show_page(found: Page, about: str, now: datetime) -> None:
    """Print a page of jobs and the total number of jobs."""
    if output.print_json(
        {"total": found.total, "jobs": [output.facts_of(job) for job in found.jobs]}
    ):
        return
    if found.jobs:
        output.table(COLUMNS, _rows(found.jobs, now), cut=True)
    shown = f"{len(found.jobs):,} of " if len(found.jobs) < found.total else ""
    output.say(f"{shown}{output.counted(found.total, 'job')} {about}")


def _rows(found: Iterable[Job], now: datetime) -> Iterator[Sequence[object]]:
    for job in found:
        when = output.ago(_time_of(job), now)
        yield job.id, job.state, job.queue, job.attempt, when, _about(job), output.data_of(job)


def _time_of(job: Job) -> datetime:
    """Return the time to show for a job, which depends on the job's state."""
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
        return f"{job.worker} {progress_of(job)}".rstrip()
    return " ".join(job.tags)


def progress_of(job: Job) -> str:
    """Format the progress and the note that a job has reported."""
    return "" if job.progress is None else f"{job.progress:.0%} {job.note}".rstrip()


@options.client_command("failures smtp")
@click.argument(
    "failure",
    metavar="[TYPE]",
    required=False,
    shell_complete=failure_types,
    help="List the jobs that failed with this type, newest first.",
)
@options.offset
@options.count(25, most=100)
def failures(failure: str | None, offset: int, count: int, client: Client) -> None:
    """List failure types, or the jobs that failed with one type.

    Each failure type is shown with its newest message.
    """
    if failure is not None:
        page = client.failures.jobs(failure, offset=offset, count=count)
        show_page(page, f"failed with {failure}", server_time(client))
        return
    found, now = output.read_page(client.failures.groups, offset, count), server_time(client)
    rows = (
        (each.type, each.count, output.ago(each.at, now), each.queue, each.job_id, each.message)
        for each in found
    )
    columns = ("failure", "jobs", "newest", "queue", "job", "message")
    output.show_rows({"failures": found}, columns, rows, "no failed jobs", cut=True)


@options.client_command("tags vip")
@click.argument("tag", required=False, help="List the jobs with this tag.")
@options.offset
@options.count(25)
def tags(tag: str | None, offset: int, count: int, client: Client) -> None:
    """List tags, most used first, or the jobs with one tag."""
    if tag is not None:
        page, now = client.tags.jobs(tag, offset=offset, count=count), server_time(client)
        show_page(page, f"with tag {tag}", now)
        return
    found = output.read_page(partial(client.tags.top, least=1), offset, count)
    output.show_rows({"tags": found}, ("tag", "jobs"), found.items(), "no job has a tag")
