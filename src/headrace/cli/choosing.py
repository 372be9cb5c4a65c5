"""Which jobs a command is to change, and what became of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import typer

from headrace.cli.jobs import PAGE, every, every_tagged, is_one
from headrace.cli.opening import existing
from headrace.cli.show import as_line
from headrace.cli.words import counted
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from headrace import Client, Job


@dataclass(frozen=True, slots=True)
class Choice:
    """What jobs must have in common to be chosen, and how many at most."""

    failure: str | None = None
    queue: str | None = None
    tag: str | None = None
    state: str | None = None
    count: int | None = None


def check_choice(ids: Sequence[str] | None, choice: Choice, by: str | None) -> None:
    """Raises unless jobs are chosen in exactly one way: by ids, or by what `by` says."""
    if bool(ids) == (by is not None):
        raise typer.BadParameter("give ids, or say which by options, one of them", param_hint="ID")
    if ids and (choice.queue or choice.tag or choice.state):
        raise typer.BadParameter("ids need no --queue, --tag or --state", param_hint="ID")


def chosen(client: Client, choice: Choice) -> list[str]:
    """The ids of the jobs that are meant, the oldest first where it is about failures."""
    found = dict.fromkeys(
        job.id
        for job in _candidates(client, choice)
        if is_one(job, choice.queue, choice.state, choice.tag)
    )
    # Failures are listed newest first, and those that have waited longest are to go first.
    oldest_first = reversed(found) if choice.failure is not None else iter(found)
    return list(islice(oldest_first, choice.count))


def _candidates(client: Client, choice: Choice) -> Iterator[Job]:
    if choice.failure is not None:
        failure = choice.failure
        return every(lambda offset: client.failed(failure, offset=offset, count=PAGE))
    if choice.queue is not None and choice.state is not None:
        queue, state = existing(client, choice.queue), choice.state
        return every(lambda offset: queue.jobs(state, offset=offset, count=PAGE))
    return every_tagged(client, choice.tag or "")


def report(
    done: str,
    ids: Sequence[str],
    answers: Sequence[object],
    *,
    as_json: bool,
    dry_run: bool,
) -> None:
    """Says what became of each; exit code 1 if something was refused."""
    if dry_run:
        _report_plan(done, ids, as_json=as_json)
        return
    refused = {
        job_id: str(answer)
        for job_id, answer in zip(ids, answers, strict=True)
        if isinstance(answer, HeadraceError)
    }
    well = [job_id for job_id in ids if job_id not in refused]
    if as_json:
        typer.echo(as_line({done: well, "refused": refused}))
    else:
        typer.echo(f"{counted(len(well), 'job')} {done}")
        for message in refused.values():
            typer.echo(f"headrace: {message}", err=True)
    if refused:
        raise typer.Exit(1)


def _report_plan(done: str, ids: Sequence[str], *, as_json: bool) -> None:
    if as_json:
        typer.echo(as_line({"dry_run": True, done: list(ids)}))
        return
    for job_id in ids:
        typer.echo(job_id)
    typer.echo(f"{counted(len(ids), 'job')} would be {done}; nothing was changed", err=True)
