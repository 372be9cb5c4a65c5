"""What is done to many jobs, step by step: with a bar, and a Ctrl-C that tells how far it came."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

import typer

from headrace.errors import HeadraceError

T = TypeVar("T")

STEP = 250
FIRST_LINE, NEXT_LINES = 2.0, 10.0


class Stopped(HeadraceError):
    """Something in the middle of many could not be done; what was done before it stays."""


class Gently:
    """Lets a Ctrl-C wait for the end of a step, so that it is known what was done. A second one
    does not wait.
    """

    def __init__(self) -> None:
        self._in_step = False
        self._asked = False

    def _on_interrupt(self, _number: int, _frame: FrameType | None) -> None:
        if not self._in_step or self._asked:
            raise KeyboardInterrupt
        self._asked = True

    @contextmanager
    def at_interrupts(self) -> Iterator[Gently]:
        """From here on Ctrl-C is gentle."""
        before = signal.signal(signal.SIGINT, self._on_interrupt)
        try:
            yield self
        finally:
            signal.signal(signal.SIGINT, before)

    @contextmanager
    def step(self) -> Iterator[None]:
        """What is to be done as a whole."""
        self._in_step = True
        try:
            yield
        finally:
            self._in_step = False
        self.stop_if_asked()

    def stop_if_asked(self) -> None:
        """Where it is known what was done."""
        if self._asked:
            raise KeyboardInterrupt


class Lines:
    """Lines for a log: nothing of what is done soon, then one now and then."""

    def __init__(
        self, what: str, total: int | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._what = what
        self._of = "" if total is None else f" of {total:,}"
        self._done = 0
        self._clock = clock
        self._next = clock() + FIRST_LINE

    def advance(self, more: int) -> None:
        """So many more are done."""
        self._done += more
        now = self._clock()
        if now >= self._next:
            typer.echo(f"headrace: {self._what} {self._done:,}{self._of}", err=True)
            self._next = now + NEXT_LINES


@contextmanager
def progress(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A bar on stderr, if that is a terminal, otherwise a line now and then; it is moved on by
    what it yields.
    """
    if total == 0:
        yield lambda _: None
        return
    if not sys.stderr.isatty():
        yield Lines(what, total).advance
        return
    # Here, because rich takes long to load.
    from headrace.cli import screen  # noqa: PLC0415

    with screen.progress() as bar:
        task = bar.add_task(what, total=total)
        yield lambda more: bar.advance(task, more)


def in_steps(
    ids: Sequence[str], act: Callable[[Sequence[str]], Sequence[T]], doing: str
) -> list[T]:
    """What came of doing something to jobs, a few hundred at a time."""
    done: list[T] = []
    try:
        with Gently().at_interrupts() as gently, progress(doing, len(ids)) as advance:
            for first in range(0, len(ids), STEP):
                part = ids[first : first + STEP]
                with gently.step():
                    done += act(part)
                advance(len(part))
    except KeyboardInterrupt:
        typer.echo(f"headrace: interrupted, {doing} {len(done)} of {len(ids)}", err=True)
        raise
    except HeadraceError as error:
        if not done:
            raise
        raise Stopped(f"{doing} {len(done)} of {len(ids)}, then: {error}") from error
    return done


def agree(question: str, *, yes: bool) -> None:
    """Asks whether to go on, where somebody can answer, unless that was done already."""
    if not yes and sys.stdin.isatty():
        typer.confirm(question, abort=True, err=True)
