"""Jobs that do nothing, that tell how late they are, and that are held."""

from __future__ import annotations

import asyncio
import os

import headrace
from benchmarks.rivals.tally import Tally

app = headrace.App("bench", url=os.environ["HEADRACE_URL"])
tally = Tally()


@app.task(queue="noop")
async def noop() -> None:
    tally.count()


@app.task(queue="late")
async def late(at: float) -> None:
    tally.late(at)


@app.task(queue="held")
async def held(number: int) -> None:
    """Say who began which job when, then hold it until this process is killed."""
    tally.held(number)
    await asyncio.sleep(3600)


def fill(count: int) -> None:
    noop.put_many([{}] * count)


def put(at: float) -> None:
    late.put(at=at)


def hold(count: int) -> None:
    held.put_many([{"number": number} for number in range(count)])
