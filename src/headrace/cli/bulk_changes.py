"""Change many jobs in steps: ask first, show progress, and after Ctrl-C print an exact count."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import TypeVar

from headrace.cli.output import ask, counted, print_json, progress, say, warn
from headrace.errors import HeadraceError
from headrace.operations.batches import chunks

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


@contextmanager
def interrupts_delayed() -> Iterator[Callable[[], None]]:
    """Delay the KeyboardInterrupt of Ctrl-C until the end of the block.

    Yield a function. The block can call it to raise a delayed KeyboardInterrupt early.
    """
    received: list[int] = []

    def raise_if_received() -> None:
        if received:
            raise KeyboardInterrupt

    with handled(lambda number, _: received.append(number), signal.SIGINT):
        yield raise_if_received
    raise_if_received()


@dataclass(slots=True)
class ChangeCount:
    """The number of jobs that a command has changed, and a function that shows the progress."""

    changed: int = 0
    advance: Callable[[int], None] = field(init=False)


@contextmanager
def counted_changes(done: str, total: int) -> Iterator[ChangeCount]:
    """Show progress while the caller changes many jobs.

    The caller keeps the yielded count up to date.

    After Ctrl-C, print the number of changed jobs. Raises ChangeStopped if an error occurs after
    the first change.
    """
    count = ChangeCount()
    try:
        with progress(done, total) as count.advance:
            yield count
    except KeyboardInterrupt:
        warn(f"interrupted, {done} {count.changed} of {total}")
        raise
    except HeadraceError as error:
        if not count.changed:
            raise
        raise ChangeStopped(f"{done} {count.changed} of {total}, then: {error}") from error


def in_steps(ids: Sequence[str], act: Callable[[Sequence[str]], Sequence[T]], done: str) -> list[T]:
    """Call a function with 250 job ids at a time, and return the answers for all jobs."""
    answers: list[T] = []
    with counted_changes(done, len(ids)) as count:
        for part in chunks(ids, STEP):
            # If Ctrl-C interrupted a step, the number of jobs that the step changed would be
            # unknown.
            with interrupts_delayed():
                answers += act(part)
                count.changed = len(answers)
                count.advance(len(part))
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


def change_jobs(
    ids: Iterable[str], act: Callable[[Sequence[str]], Sequence[object]], done: str
) -> None:
    """Change jobs in steps and report the result; an id that is passed twice counts once."""
    unique = list(dict.fromkeys(ids))
    report(done, unique, in_steps(unique, act, done))


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


def report_dry_run(done: str, ids: Iterable[str]) -> None:
    """Print the jobs that would be changed."""
    unique = list(dict.fromkeys(ids))
    if print_json({"dry_run": True, done: unique}):
        return
    for job_id in unique:
        say(job_id)
    say(f"{counted(len(unique), 'job')} would be {done}; nothing was changed", err=True)
