"""`job`, `why`, `result`: one job."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import click

from headrace import Job
from headrace.cli import options
from headrace.cli.connecting import ServerOptions, existing_job, open_client, server_time
from headrace.cli.output import (
    ago,
    as_words,
    data_of,
    escaped,
    facts_of,
    heading,
    pairs,
    print_json,
    printable,
    show,
    table,
)
from headrace.errors import Unreadable

NOT_STARTED = ("waiting", "scheduled", "blocked")


@options.command("job ada")
@options.job_id
def job(job_id: str, server: ServerOptions) -> None:
    """Show one job: data, attempts, errors, and why it waits."""
    with open_client(server) as client:
        found = existing_job(client, job_id)
        reason = client.why_waiting(job_id) if found.state in NOT_STARTED else None
        now = server_time(client)
    if print_json({**facts_of(found), "why": reason}):
        return
    pairs(_facts(found, reason, now))
    _show_attempts(found, now)
    _show_traceback(found)
    if found.log:
        heading("log")
        for at, line in found.log:
            click.echo(f"{ago(at, now):>10}  {printable(line)}")


def _facts(found: Job, reason: str | None, now: datetime) -> Iterator[tuple[str, object]]:
    yield "job", found.id
    yield "state", found.state
    yield "why", reason
    yield "queue", found.queue
    yield "data", data_of(found)
    yield "put", ago(found.put_at, now)
    yield "due", ago(found.due, now)
    yield "worker", found.worker
    yield "lease ends", ago(found.expires, now)
    yield "progress", _progress(found)
    yield "attempts", f"{found.attempt}{_retries_left(found)}"
    yield "priority", f"{found.priority:g}" if found.priority else None
    yield "tags", ", ".join(found.tags)
    yield "key", found.key
    yield "throttles", ", ".join(found.throttles)
    yield "unique", found.unique
    yield "schedule", found.schedule
    yield "group", found.group
    yield "depends on", ", ".join(_parents(found))
    yield "dependents", ", ".join(found.dependents)
    yield "result", f"headrace result {found.id}" if found.has_result else None
    yield "tracked", "yes" if found.tracked else None


def _progress(found: Job) -> str | None:
    return None if found.progress is None else f"{found.progress:.0%} {found.note}".rstrip()


def _retries_left(found: Job) -> str:
    if found.retries is None:
        return ", unlimited retries"
    return f", {found.remaining} of {found.retries} retries left"


def _parents(found: Job) -> list[str]:
    return found.depends_on + [f"group {name}" for name in found.depends_on_groups]


def _show_attempts(found: Job, now: datetime) -> None:
    stages = [stage for stage in found.history if stage.popped or stage.outcome]
    if not stages:
        return
    heading("attempts")
    table(
        ("queue", "started", "ended", "worker", "outcome", "failure", "message"),
        (
            (
                stage.queue,
                ago(stage.popped, now),
                ago(stage.ended, now),
                stage.worker,
                stage.outcome or found.state,
                stage.failure,
                stage.message,
            )
            for stage in stages
        ),
    )


def _show_traceback(found: Job) -> None:
    traces = [stage.traceback for stage in found.history if stage.traceback]
    if traces:
        heading("traceback")
        for line in traces[-1].splitlines():
            click.echo(printable(line))


@options.command("why ada")
@options.job_id
def why(job_id: str, server: ServerOptions) -> None:
    """Explain why a job is not running yet."""
    with open_client(server) as client:
        reason = client.why_waiting(job_id)
    show({"id": job_id, "why": reason}, printable(reason))


@options.command("result ada --wait 10")
@options.job_id
@options.duration("--wait", help="Wait up to this time for the result.")
@click.option("--take", is_flag=True, help="Delete the result from the server.")
def result(job_id: str, wait: float | None, take: bool, server: ServerOptions) -> None:
    """Print the result of a job as JSON."""
    with open_client(server) as client:
        try:
            found = client.result(job_id, wait=wait or 0, take=take)
        except Unreadable as error:
            facts = {"id": job_id, "value": None, "payload": error.payload}
            show(facts, escaped(error.payload))
            return
    facts = {"id": job_id, "value": found.value, "data": found.data}
    show(facts, as_words(found.value))
