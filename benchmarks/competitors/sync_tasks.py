"""The tasks of the comparison as plain functions."""

from __future__ import annotations

import time
from collections.abc import Callable

from benchmarks.competitors.job_log import NAP, STEP, JobLog, compute

job_log = JobLog()


def noop(to: str, subject: str, body: str) -> None:
    job_log.count()


def late(at: float) -> None:
    job_log.late(at)


def nap() -> None:
    job_log.begin()
    time.sleep(NAP)
    job_log.count()


def burn() -> None:
    job_log.begin()
    compute()
    job_log.count()


def step(number: int) -> None:
    job_log.begun(number)
    time.sleep(STEP)
    job_log.ended(number)


TASKS: dict[str, Callable[..., None]] = {
    each.__name__: each for each in (noop, late, nap, burn, step)
}
