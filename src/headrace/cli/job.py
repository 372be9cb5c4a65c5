"""`job`, `why`, `result`: everything about one job."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.opening import existing_job, opened, server_time
from headrace.cli.options import Id, Namespace, Url, seconds
from headrace.cli.show import (
    AsJson,
    as_line,
    as_words,
    data_of,
    escaped,
    facts_of,
    heading,
    pairs,
    printable,
    show,
    table,
)
from headrace.cli.words import ago
from headrace.errors import Unreadable

if TYPE_CHECKING:
    from headrace import Job


def job(
    job_id: Id, *, url: Url = None, namespace: Namespace = "default", as_json: AsJson = False
) -> None:
    """Show everything about a job: data, attempts, errors, why it waits."""
    with opened(url, namespace) as client:
        found = existing_job(client, job_id)
        why = client.why_waiting(job_id) if found.state in _WAITS else None
        now = server_time(client)
    if as_json:
        typer.echo(as_line({**facts_of(found), "why": why}))
        return
    pairs(_facts(found, why, now))
    _attempts(found, now)
    _trace(found)
    if found.log:
        heading("log")
        for at, line in found.log:
            typer.echo(f"{ago(at, now):>10}  {printable(line)}")


_WAITS = ("waiting", "scheduled", "blocked")


def _facts(found: Job, why: str | None, now: datetime) -> Iterator[tuple[str, object]]:
    yield "job", found.id
    yield "state", found.state
    yield "why", why
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
        return ", tried again without limit"
    return f", {found.remaining} of {found.retries} retries left"


def _parents(found: Job) -> list[str]:
    return found.depends_on + [f"group {name}" for name in found.depends_on_groups]


def _attempts(found: Job, now: datetime) -> None:
    stages = [stage for stage in found.history if stage.popped or stage.outcome]
    if not stages:
        return
    heading("attempts")
    table(
        ("queue", "began", "ended", "worker", "outcome", "failure", "message"),
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


def _trace(found: Job) -> None:
    """The newest traceback there is."""
    traces = [stage.traceback for stage in found.history if stage.traceback]
    if traces:
        heading("traceback")
        for line in traces[-1].splitlines():
            typer.echo(printable(line))


def why(
    job_id: Id, *, url: Url = None, namespace: Namespace = "default", as_json: AsJson = False
) -> None:
    """Say why a job does not run yet."""
    with opened(url, namespace) as client:
        reason = client.why_waiting(job_id)
    show({"id": job_id, "why": reason}, printable(reason), as_json=as_json)


def result(
    job_id: Id,
    *,
    wait: Annotated[
        float | None,
        typer.Option("--wait", parser=seconds, metavar="SPAN", help="Wait for it so long."),
    ] = None,
    take: Annotated[bool, typer.Option("--take", help="Remove it for others.")] = False,
    url: Url = None,
    namespace: Namespace = "default",
    as_json: AsJson = False,
) -> None:
    """Print the result of a job as JSON."""
    with opened(url, namespace) as client:
        try:
            found = client.result(job_id, wait=wait or 0, take=take)
        except Unreadable as error:
            facts = {"id": job_id, "value": None, "payload": error.payload}
            show(facts, escaped(error.payload), as_json=as_json)
            return
    facts = {"id": job_id, "value": found.value, "data": found.data}
    show(facts, as_words(found.value), as_json=as_json)
