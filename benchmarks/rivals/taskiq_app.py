"""taskiq on a stream, the broker that it recommends for work that must not be lost."""

from __future__ import annotations

import asyncio
import os
from functools import cache

from taskiq_redis import RedisStreamBroker

from benchmarks.rivals.tally import Tally

broker = RedisStreamBroker(os.environ["BENCH_URL"])
tally = Tally()

IN_FLIGHT = 50


@broker.task
async def noop() -> None:
    tally.count()


@broker.task
async def late(at: float) -> None:
    tally.late(at)


@cache
def runner() -> asyncio.Runner:
    """For the producer. It makes the consumer group: what is put before there is one is lost."""
    made = asyncio.Runner()
    made.run(broker.startup())
    return made


def fill(count: int) -> None:
    runner().run(put_all(count))


def put(at: float) -> None:
    runner().run(late.kiq(at))


async def put_all(count: int) -> None:
    for begun in range(0, count, IN_FLIGHT):
        await asyncio.gather(*(noop.kiq() for _ in range(min(IN_FLIGHT, count - begun))))
