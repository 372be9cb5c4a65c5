"""Select jobs and change them in steps, with confirmation, progress and a safe Ctrl-C."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from types import FrameType
from typing import Any, TypeVar

import click

from headrace import Bulk, Client, Job
from headrace.cli.connecting import existing_queue
from headrace.cli.jobs import PAGE, all_jobs, all_tagged, matches
from headrace.cli.output import counted, print_json, progress, show, warn
from headrace.errors import HeadraceError

T = TypeVar("T")

STEP = 250


class ChangeStopped(HeadraceError):
    """A bulk change failed part way; the steps before the failure stay done."""


class InterruptGuard:
    """Delays Ctrl-C to the end of a step, so that the count of changed jobs is exact.

    A second Ctrl-C ends the step at once.
    """

    def __init__(self) -> None:
        self._in_step = False
        self._interrupted = False
        self.changed = 0

    def _on_interrupt(self, _number: int, _frame: FrameType | None) -> None:
        if not self._in_step or self._interrupted:
            raise KeyboardInterrupt
        self._interrupted = True

    @contextmanager
    def installed(self) -> Iterator[InterruptGuard]:
        """Handle SIGINT with this guard."""
        before = signal.signal(signal.SIGINT, self._on_interrupt)
        try:
            yield self
        finally:
            signal.signal(signal.SIGINT, before)

    @contextmanager
    def step(self) -> Iterator[None]:
        """Run one step to its end, then raise KeyboardInterrupt if Ctrl-C was pressed."""
        self._in_step = True
        try:
            yield
        finally:
            self._in_step = False
        self.raise_if_interrupted()

    def raise_if_interrupted(self) -> None:
        """Raise KeyboardInterrupt if Ctrl-C was pressed during this step."""
        if self._interrupted:
            raise KeyboardInterrupt


@contextmanager
def guarded(done: str, total: int) -> Iterator[tuple[InterruptGuard, Callable[[int], None]]]:
    """Yield a guard that counts changed jobs, and the function that advances the progress.

    After Ctrl-C, prints the count. Raises ChangeStopped for an error after the first change.
    """
    guard = InterruptGuard()
    try:
        with guard.installed(), progress(done, total) as advance:
            yield guard, advance
    except KeyboardInterrupt:
        warn(f"interrupted, {done} {guard.changed} of {total}")
        raise
    except HeadraceError as error:
        if not guard.changed:
            raise
        raise ChangeStopped(f"{done} {guard.changed} of {total}, then: {error}") from error


def in_steps(ids: Sequence[str], act: Callable[[Sequence[str]], Sequence[T]], done: str) -> list[T]:
    """Apply a function to jobs in steps of 250, and return all its answers."""
    answers: list[T] = []
    with guarded(done, len(ids)) as (guard, advance):
        for first in range(0, len(ids), STEP):
            part = ids[first : first + STEP]
            with guard.step():
                answers += act(part)
                guard.changed = len(answers)
            advance(len(part))
    return answers


def confirm(question: str, *, yes: bool) -> None:
    """Ask whether to continue, if stdin is a terminal and --yes was not given."""
    if not yes and sys.stdin.isatty():
        click.confirm(question, abort=True, err=True)


@dataclass(frozen=True, slots=True)
class Approval:
    """Whether a plan may be carried out: after --yes, or a confirmation on a terminal."""

    dry_run: bool
    yes: bool

    @property
    def is_possible(self) -> bool:
        """Whether the plan can be carried out: it needs --yes or a terminal to confirm it."""
        return not self.dry_run and (self.yes or sys.stdin.isatty())

    def require(self, question: str, refusal: str) -> None:
        """Ask for the confirmation; exit with 1 and the refusal if no terminal can confirm."""
        if not self.is_possible:
            warn(refusal)
            sys.exit(1)
        confirm(question, yes=self.yes)


def report(done: str, ids: Sequence[str], answers: Sequence[object]) -> None:
    """Print the number of changed jobs and every refusal; exit with 1 if there is a refusal."""
    refused = {
        job_id: str(answer)
        for job_id, answer in zip(ids, answers, strict=True)
        if isinstance(answer, HeadraceError)
    }
    changed = [job_id for job_id in ids if job_id not in refused]
    if not print_json({done: changed, "refused": refused}):
        click.echo(f"{counted(len(changed), 'job')} {done}")
        for message in refused.values():
            warn(message)
    if refused:
        sys.exit(1)


def report_dry_run(done: str, ids: Sequence[str]) -> None:
    """Print the jobs that would be changed."""
    if print_json({"dry_run": True, done: list(ids)}):
        return
    for job_id in ids:
        click.echo(job_id)
    click.echo(f"{counted(len(ids), 'job')} would be {done}; nothing was changed", err=True)


@dataclass(frozen=True, slots=True)
class JobFilter:
    """The failure type, queue, tag and state that selected jobs have in common."""

    failure: str | None = None
    queue: str | None = None
    tag: str | None = None
    state: str | None = None

    def is_set(self) -> bool:
        """Return whether any condition was given."""
        return any((self.failure, self.queue, self.tag, self.state))


def check_selection(ids: Sequence[str], job_filter: JobFilter) -> None:
    """Raise BadParameter unless either ids or a filter were given, not both."""
    if bool(ids) == job_filter.is_set():
        raise click.BadParameter("pass ids or filter options, not both", param_hint="ID")


def selected_ids(client: Client, job_filter: JobFilter, count: int | None) -> list[str]:
    """Return the ids of at most `count` jobs that pass a filter."""
    found = dict.fromkeys(
        job.id
        for job in _candidates(client, job_filter)
        if matches(job, job_filter.queue, job_filter.state, job_filter.tag)
    )
    return list(islice(found, count))


def _candidates(client: Client, job_filter: JobFilter) -> Iterator[Job]:
    if job_filter.queue is not None and job_filter.state is not None:
        queue, state = existing_queue(client, job_filter.queue), job_filter.state
        return all_jobs(lambda offset: queue.jobs(state, offset=offset, count=PAGE))
    return all_tagged(client, job_filter.tag or "")


def change_failed(
    change: Callable[..., Bulk],
    job_filter: JobFilter,
    done: str,
    *,
    question: str,
    yes: bool,
    dry_run: bool,
    **options: Any,
) -> None:
    """Retry or cancel the failed jobs that pass a filter, after a confirmation.

    Prints the number of changed jobs. Exits with 1 if the server refused a job.
    """
    options |= {"queue": job_filter.queue, "tag": job_filter.tag}
    plan = change(job_filter.failure, dry_run=True, **options)
    if dry_run:
        sentence = f"{counted(plan.matched, 'job')} would be {done}; nothing was changed"
        show({"dry_run": True, "matched": plan.matched}, sentence)
        return
    confirm(f"{question} {counted(plan.matched, 'job')}?", yes=yes or not plan.matched)
    with guarded(done, plan.matched) as (guard, advance):
        matched = 0

        def notify(so_far: Bulk) -> None:
            nonlocal matched
            advance(so_far.matched - matched)
            matched, guard.changed = so_far.matched, so_far.done
            guard.raise_if_interrupted()

        with guard.step():
            result = change(job_filter.failure, on_progress=notify, **options)
    facts = {"matched": result.matched, done: result.done, "refused": result.refused}
    show(facts, f"{counted(result.done, 'job')} {done}")
    if result.refused:
        warn(f"{counted(result.refused, 'job')} refused: {_REASONS[done]}")
        sys.exit(1)


_REASONS = {
    "retried": "another job has the same unique value; wait for it, or cancel one of the two",
    "cancelled": "other jobs depend on them; cancel them by id with --cascade",
}
