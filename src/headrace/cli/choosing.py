"""Which jobs a command is to change, and what became of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import typer

from headrace.cli.bulk import Gently, Stopped, agree, progress
from headrace.cli.jobs import PAGE, every, every_tagged, is_one
from headrace.cli.opening import existing
from headrace.cli.show import as_line
from headrace.cli.words import counted
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from headrace import Bulk, Client, Job


@dataclass(frozen=True, slots=True)
class Choice:
    """What jobs must have in common to be chosen."""

    failure: str | None = None
    queue: str | None = None
    tag: str | None = None
    state: str | None = None

    def is_made(self) -> bool:
        return any((self.failure, self.queue, self.tag, self.state))


def check_choice(ids: Sequence[str] | None, *, chosen_otherwise: bool) -> None:
    """Raises unless jobs are chosen in one way: by their ids or otherwise."""
    if bool(ids) == chosen_otherwise:
        raise typer.BadParameter("give ids, or say which by options, one of them", param_hint="ID")


def chosen(client: Client, choice: Choice, count: int | None) -> list[str]:
    """The ids of the jobs that are meant, up to so many."""
    found = dict.fromkeys(
        job.id
        for job in _candidates(client, choice)
        if is_one(job, choice.queue, choice.state, choice.tag)
    )
    return list(islice(found, count))


def _candidates(client: Client, choice: Choice) -> Iterator[Job]:
    if choice.queue is not None and choice.state is not None:
        queue, state = existing(client, choice.queue), choice.state
        return every(lambda offset: queue.jobs(state, offset=offset, count=PAGE))
    return every_tagged(client, choice.tag or "")


def report(done: str, ids: Sequence[str], answers: Sequence[object], *, as_json: bool) -> None:
    """Says what became of each; exit code 1 if something was refused."""
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


def report_plan(done: str, ids: Sequence[str], *, as_json: bool) -> None:
    """Says which jobs it would be."""
    if as_json:
        typer.echo(as_line({"dry_run": True, done: list(ids)}))
        return
    for job_id in ids:
        typer.echo(job_id)
    typer.echo(f"{counted(len(ids), 'job')} would be {done}; nothing was changed", err=True)


def change_failed(
    change: Callable[..., Bulk],
    choice: Choice,
    done: str,
    *,
    question: str,
    yes: bool,
    dry_run: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Changes failed jobs step by step, after asking, and says how many it was."""
    options |= {"queue": choice.queue, "tag": choice.tag}
    plan = change(choice.failure, dry_run=True, **options)
    if dry_run:
        sentence = f"{counted(plan.matched, 'job')} would be {done}; nothing was changed"
        typer.echo(as_line({"dry_run": True, "matched": plan.matched}) if as_json else sentence)
        return
    agree(f"{question} {counted(plan.matched, 'job')}?", yes=yes or not plan.matched)
    told = _carried_out(
        lambda tell: change(choice.failure, on_progress=tell, **options), plan.matched, done
    )
    if as_json:
        typer.echo(as_line({"matched": told.matched, done: told.done, "refused": told.refused}))
    else:
        typer.echo(f"{counted(told.done, 'job')} {done}")
    if told.refused:
        typer.echo(f"headrace: {counted(told.refused, 'job')} refused: {_WHY[done]}", err=True)
        raise typer.Exit(1)


_WHY = {
    "retried": "another job has the same unique value; wait for it, or cancel one of them",
    "cancelled": "others depend on them; cancel them by their ids, with --cascade",
}


def _carried_out(change: Callable[[Callable[[Bulk], None]], Bulk], total: int, done: str) -> Bulk:
    seen = well = 0
    try:
        with Gently().at_interrupts() as gently, progress(done, total) as advance:

            def tell(told: Bulk) -> None:
                nonlocal seen, well
                advance(told.matched - seen)
                seen, well = told.matched, told.done
                gently.stop_if_asked()

            with gently.step():
                return change(tell)
    except KeyboardInterrupt:
        typer.echo(f"headrace: interrupted, {done} {well} of {total}", err=True)
        raise
    except HeadraceError as error:
        raise Stopped(f"{done} {well} of {total}, then: {error}") from error
