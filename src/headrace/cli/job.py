"""`job`, `why` and `result`: commands about one job."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import click

from headrace import Client, Job
from headrace.cli import options, output
from headrace.cli.connecting import server_time
from headrace.cli.jobs import progress_of
from headrace.errors import JobNotFound, Unreadable

NOT_STARTED = ("waiting", "scheduled", "blocked")


@options.client_command("job ada")
@options.job_id
def job(job_id: str, client: Client) -> None:
    """Show the data, attempts and errors of a job.

    If the job has not started, the command also shows why.
    """
    found = client.job(job_id)
    if found is None:
        raise JobNotFound(job_id)
    reason = client.why_waiting(job_id) if found.state in NOT_STARTED else None
    now = server_time(client)
    if output.print_json({**output.facts_of(found), "why": reason}):
        return
    output.pairs(_facts(found, reason, now))
    _show_attempts(found, now)
    _show_traceback(found)
    if found.log:
        output.heading("log")
        for at, line in found.log:
            output.say(f"{output.ago(at, now):>10}  {line}")


def _facts(found: Job, reason: str | None, now: datetime) -> Iterator[tuple[str, object]]:
    yield "job", found.id
    yield "state", found.state
    yield "why", reason
    yield "queue", found.queue
    yield "data", output.data_of(found)
    yield "put", output.ago(found.put_at, now)
    yield "due", output.ago(found.due, now)
    yield "worker", found.worker
    yield "lease ends", output.ago(found.expires, now)
    yield "progress", progress_of(found)
    left = f"{found.remaining} of {found.retries} retries left"
    yield "attempts", f"{found.attempt}, {'unlimited retries' if found.retries is None else left}"
    yield "priority", f"{found.priority:g}" if found.priority else None
    yield "tags", ", ".join(found.tags)
    yield "key", found.key
    yield "throttles", ", ".join(found.throttles)
    yield "unique", found.unique
    yield "schedule", found.schedule
    yield "group", found.group
    groups = [f"group {name}" for name in found.depends_on_groups]
    yield "depends on", ", ".join(found.depends_on + groups)
    yield "dependents", ", ".join(found.dependents)
    yield "result", f"headrace result {found.id}" if found.has_result else None
    yield "tracked", "yes" if found.tracked else None


def _show_attempts(found: Job, now: datetime) -> None:
    stages = [stage for stage in found.history if stage.popped or stage.outcome]
    if not stages:
        return
    output.heading("attempts")
    output.table(
        ("queue", "started", "ended", "worker", "outcome", "failure", "message"),
        (
            (
                stage.queue,
                output.ago(stage.popped, now),
                output.ago(stage.ended, now),
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
        output.heading("traceback")
        for line in traces[-1].splitlines():
            output.say(line)


@options.client_command("why ada")
@options.job_id
def why(job_id: str, client: Client) -> None:
    """Explain why a job is not running yet."""
    reason = client.why_waiting(job_id)
    output.show({"id": job_id, "why": reason}, reason)


@options.client_command("result ada --wait 10")
@options.job_id
@options.duration("--wait", help="Wait for the result, but not longer than this.")
@click.option("--take", is_flag=True, help="Delete the result from the server after reading it.")
def result(job_id: str, wait: float | None, take: bool, client: Client) -> None:
    """Print the result of a job as JSON."""
    try:
        found = client.result(job_id, wait=wait or 0, take=take)
    except Unreadable as error:
        facts = {"id": job_id, "value": None, "payload": error.payload}
        output.show(facts, output.escaped(error.payload))
        return
    facts = {"id": job_id, "value": found.value, "data": found.data}
    output.show(facts, output.as_words(found.value))
