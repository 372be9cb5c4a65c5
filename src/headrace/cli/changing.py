"""Change many jobs in steps, with confirmation, progress and a safe Ctrl-C."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import TypeVar

import click

from headrace.cli.output import counted, print_json, progress, warn
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
