"""Put jobs through the module of a competitor and report how long it took.

    python -m benchmarks.competitors.producer benchmarks.competitors.huey_app put noop 20000 4

A module has `put(task, call)`, and `put_many(task, calls)` if it has a bulk call; either may be
async. `session()` returns the context manager for puts, if the module needs one.
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

from benchmarks.competitors.payload import PAYLOAD

HOME = Path(os.environ["BENCH_HOME"])
CHUNK = 1000
# Concurrent puts of an async client without a bulk call, in the bulk workload.
IN_FLIGHT = 50
WARM_UP = 100

EVERY = 0.02
WARM_UP_LATE = 25
TIMEOUT = 30.0

Call = dict[str, Any]


def calls(task: str, first: int, count: int) -> list[Call]:
    """Return the arguments of `count` jobs of a task."""
    if task == "noop":
        return [PAYLOAD] * count
    if task == "step":
        return [{"number": number} for number in range(first, first + count)]
    return [{}] * count


class Producer:
    """The module of a competitor, called as its API requires."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.awaited = inspect.iscoroutinefunction(module.put)
        self.has_bulk = hasattr(module, "put_many")

    async def put(self, task: str, count: int, seconds: float, first: int = 0) -> int:
        """Put up to `count` jobs one after the other in the given time; return their number."""
        put, awaited, deadline = self.module.put, self.awaited, time.monotonic() + seconds
        for number, call in enumerate(calls(task, first, count), 1):
            answer = put(task, call)
            if awaited:
                await answer
            if number % 64 == 0 and time.monotonic() > deadline:
                return number
        return count

    async def bulk(self, task: str, count: int, seconds: float, first: int = 0) -> int:
        """Put jobs with the bulk call, or concurrently if the client has no bulk call."""
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
        """Put jobs in the fastest way."""
        way = self.bulk if self.has_bulk or self.awaited else self.put
        return await way(task, count, seconds)

    async def pace(self, count: int) -> int:
        """Put one job every 20 ms, after the worker has run its first job."""
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
    deadline = time.monotonic() + TIMEOUT
    while not (HOME / "ready").exists():
        if time.monotonic() > deadline:
            sys.exit("the worker started no job")
        await asyncio.sleep(0.01)


async def timed(way: Callable[..., Any], task: str, count: int, seconds: float) -> dict[str, float]:
    """Return jobs, seconds and CPU time, after some warm-up jobs that do not count."""
    await way(task, WARM_UP, TIMEOUT)
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
    # Import the module instead of running it, so that its tasks have the same names as in the
    # worker.
    name, how, *rest = sys.argv[1:]
    module = importlib.import_module(name)
    async with module.session() if hasattr(module, "session") else nullcontext():
        found = await produce(Producer(module), how, rest)
        (HOME / "produced").write_text(json.dumps(found))


if __name__ == "__main__":
    asyncio.run(main())
