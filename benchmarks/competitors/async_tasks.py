"""The tasks of the comparison as coroutines."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable
from typing import Any

from benchmarks.competitors.job_log import NAP, STEP, JobLog, compute

job_log = JobLog()


async def noop(to: str, subject: str, body: str) -> None:
    job_log.count()


async def late(at: float) -> None:
    job_log.late(at)


async def nap() -> None:
    job_log.begin()
    await asyncio.sleep(NAP)
    job_log.count()


def burn() -> None:
    job_log.begin()
    compute()
    job_log.count()


async def step(number: int) -> None:
    job_log.begun(number)
    await asyncio.sleep(STEP)
    job_log.ended(number)


TASKS: dict[str, Callable[..., Any]] = {
    each.__name__: each for each in (noop, late, nap, burn, step)
}


def with_context(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the task as a coroutine that takes and ignores a context."""

    @functools.wraps(function)
    async def run(_: Any, **call: Any) -> None:
        answer = function(**call)
        if inspect.isawaitable(answer):
            await answer

    return run
