"""The jobs of the field, for those who run coroutines."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable
from typing import Any

from benchmarks.rivals.tally import NAP, STEP, Tally, compute

tally = Tally()


async def noop(to: str, subject: str, body: str) -> None:
    tally.count()


async def late(at: float) -> None:
    tally.late(at)


async def nap() -> None:
    tally.begin()
    await asyncio.sleep(NAP)
    tally.count()


def burn() -> None:
    tally.begin()
    compute()
    tally.count()


async def step(number: int) -> None:
    tally.begun(number)
    await asyncio.sleep(STEP)
    tally.ended(number)


TASKS: dict[str, Callable[..., Any]] = {
    each.__name__: each for each in (noop, late, nap, burn, step)
}


def with_context(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same as a coroutine that is given a context first, of which it makes nothing."""

    @functools.wraps(function)
    async def run(_: Any, **call: Any) -> None:
        answer = function(**call)
        if inspect.isawaitable(answer):
            await answer

    return run
