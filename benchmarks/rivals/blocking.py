"""The jobs of the field, for those who run plain functions."""

from __future__ import annotations

import time
from collections.abc import Callable

from benchmarks.rivals.tally import NAP, STEP, Tally, compute

tally = Tally()


def noop(to: str, subject: str, body: str) -> None:
    tally.count()


def late(at: float) -> None:
    tally.late(at)


def nap() -> None:
    tally.begin()
    time.sleep(NAP)
    tally.count()


def burn() -> None:
    tally.begin()
    compute()
    tally.count()


def step(number: int) -> None:
    tally.begun(number)
    time.sleep(STEP)
    tally.ended(number)


TASKS: dict[str, Callable[..., None]] = {
    each.__name__: each for each in (noop, late, nap, burn, step)
}
