"""Change many jobs in steps: ask first, show progress, and count exactly on Ctrl-C."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import TypeVar

from headrace.cli.output import ask, counted, print_json, progress, say, warn
from headrace.errors import HeadraceError

T = TypeVar("T")

STEP = 250


class ChangeStopped(HeadraceError):
    """A change of many jobs failed partway. The jobs of earlier steps remain changed."""


def exit_on_signal(number: int, _frame: FrameType | None) -> None:
    """Exit with code 128 plus the signal number, as shells do."""
    sys.exit(128 + number)


@contextmanager
def handled(
    handler: Callable[[int, FrameType | None], object], *numbers: signal.Signals
) -> Iterator[None]:
    """Set a handler for these signals, and restore the former handlers afterwards."""
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)


class InterruptGuard:
    """Delays Ctrl-C until the current step ends, so that the count of changed jobs is exact.

    A second Ctrl-C ends the step immediately.
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
        with handled(self._on_interrupt, signal.SIGINT):
            yield self

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
        """Raise KeyboardInterrupt if Ctrl-C was pressed during the step."""
        if self._interrupted:
            raise KeyboardInterrupt


@contextmanager
def guarded(done: str, total: int) -> Iterator[tuple[InterruptGuard, Callable[[int], None]]]:
    """Yield a guard that counts changed jobs, and a function that advances the progress display.

    After Ctrl-C, prints the number of changed jobs. Raises ChangeStopped if an error occurs after
    the first change.
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
    """Call a function with 250 job ids at a time, and return the answers for all jobs."""
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
    """Ask whether to continue, if stdin is a terminal and --yes was not passed."""
    if not yes and sys.stdin.isatty():
        ask(question)


@dataclass(frozen=True, slots=True)
class Approval:
    """The user's permission to carry out a plan: --yes, or a confirmation on a terminal."""

    dry_run: bool
    yes: bool

    @property
    def is_possible(self) -> bool:
        """Whether the user can approve: no --dry-run, and either --yes or a terminal as stdin."""
        return not self.dry_run and (self.yes or sys.stdin.isatty())

    def require(self, question: str, refusal: str) -> None:
        """Ask for confirmation, unless --yes was passed.

        If approval is not possible, prints the text `refusal` and exits with 1.
        """
        if not self.is_possible:
            warn(refusal)
            sys.exit(1)
        confirm(question, yes=self.yes)


def report(done: str, ids: Sequence[str], answers: Sequence[object]) -> None:
    """Print the number of changed jobs and every refusal. Exit with 1 if a job was refused."""
    refused = {
        job_id: str(answer)
        for job_id, answer in zip(ids, answers, strict=True)
        if isinstance(answer, HeadraceError)
    }
    changed = [job_id for job_id in ids if job_id not in refused]
    if not print_json({done: changed, "refused": refused}):
        say(f"{counted(len(changed), 'job')} {done}")
        for message in refused.values():
            warn(message)
    if refused:
        sys.exit(1)


def report_dry_run(done: str, ids: Sequence[str]) -> None:
    """Print the jobs that would be changed."""
    if print_json({"dry_run": True, done: list(ids)}):
        return
    for job_id in ids:
        say(job_id)
    say(f"{counted(len(ids), 'job')} would be {done}; nothing was changed", err=True)
