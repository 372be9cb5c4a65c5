"""Puts jobs through a module that knows how, and tells how long that took.

python -m benchmarks.rivals.producer benchmarks.rivals.huey_app put noop 20000 4

A module has `put(task, call)`, and `put_many(task, calls)` if there is a call for many; either may
be awaited. `session()` is the context in which it puts, if it needs one.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from benchmarks.rivals.letter import LETTER

HOME = Path(os.environ["BENCH_HOME"])
CHUNK = 1000
# Of those who await each job: so many at once, where it is about many.
IN_FLIGHT = 50
WARM_UP = 100

EVERY = 0.02
WARM_UP_LATE = 25
PATIENCE = 30.0

Call = dict[str, Any]


def calls(task: str, first: int, count: int) -> list[Call]:
    """What so many jobs of this task are given."""
    if task == "noop":
        return [LETTER] * count
    if task == "step":
        return [{"number": number} for number in range(first, first + count)]
    return [{}] * count


class Producer:
    """A module of a contestant, called in the way that it is called."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.awaited = inspect.iscoroutinefunction(module.put)
        self.has_bulk = hasattr(module, "put_many")

    async def put(self, task: str, count: int, seconds: float, first: int = 0) -> int:
        """One after the other; returns how many there was time for."""
        put, awaited, deadline = self.module.put, self.awaited, time.monotonic() + seconds
        for number, call in enumerate(calls(task, first, count), 1):
            answer = put(task, call)
            if awaited:
                await answer
            if number % 64 == 0 and time.monotonic() > deadline:
                return number
        return count

    async def bulk(self, task: str, count: int, seconds: float, first: int = 0) -> int:
        """By the call for many, else many at once."""
        deadline, done = time.monotonic() + seconds, 0
        while done < count and time.monotonic() < deadline:
            chunk = calls(task, first + done, min(CHUNK, count - done))
            await self._chunk(task, chunk)
            done += len(chunk)
        return done

    async def _chunk(self, task: str, chunk: list[Call]) -> None:
        if self.has_bulk:
            answer = self.module.put_many(task, chunk)
            if inspect.isawaitable(answer):
                await answer
            return
        for begun in range(0, len(chunk), IN_FLIGHT):
            few = chunk[begun : begun + IN_FLIGHT]
            await asyncio.gather(*(self.module.put(task, call) for call in few))

    async def fill(self, task: str, count: int, seconds: float) -> int:
        """By whatever is fastest."""
        way = self.bulk if self.has_bulk or self.awaited else self.put
        return await way(task, count, seconds)

    async def pace(self, count: int) -> int:
        """One job every 20 ms, once the worker has shown that it is there."""
        await self.put_late(0.0)
        await ready()
        begun = time.monotonic()
        for number in range(WARM_UP_LATE + count):
            await asyncio.sleep(max(0.0, begun + number * EVERY - time.monotonic()))
            await self.put_late(time.monotonic() if number >= WARM_UP_LATE else 0.0)
        return count

    async def put_late(self, at: float) -> None:
        answer = self.module.put("late", {"at": at})
        if self.awaited:
            await answer


async def ready() -> None:
    deadline = time.monotonic() + PATIENCE
    while not (HOME / "ready").exists():
        if time.monotonic() > deadline:
            sys.exit("the worker began no job")
        await asyncio.sleep(0.01)


async def timed(way: Callable[..., Any], task: str, count: int, seconds: float) -> dict[str, float]:
    """Jobs, seconds and processor time, after a few jobs that do not count."""
    await way(task, WARM_UP, PATIENCE)
    begun, cpu = time.monotonic(), time.process_time()
    jobs = await way(task, count, seconds)
    return {
        "jobs": jobs,
        "seconds": time.monotonic() - begun,
        "cpu": time.process_time() - cpu,
    }


async def produce(producer: Producer, how: str, words: list[str]) -> dict[str, float]:
    if how == "pace":
        return {"jobs": await producer.pace(int(words[0]))}
    task, count, seconds = words[0], int(words[1]), float(words[2])
    if how == "fill":
        return {"jobs": await producer.fill(task, count, seconds)}
    way = {"put": producer.put, "bulk": producer.bulk}[how]
    return await timed(way, task, count, seconds)


async def main() -> None:
    # The module is imported, not run: its tasks bear its name, as they do in the worker.
    name, how, *rest = sys.argv[1:]
    module = importlib.import_module(name)
    async with module.session() if hasattr(module, "session") else nullcontext():
        found = await produce(Producer(module), how, rest)
        (HOME / "produced").write_text(json.dumps(found))


if __name__ == "__main__":
    asyncio.run(main())
