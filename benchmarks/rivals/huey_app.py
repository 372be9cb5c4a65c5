"""Huey on a plain list with a blocking pop, results off: its fastest storage."""

from __future__ import annotations

import os

from huey import RedisHuey

from benchmarks.rivals.tally import Tally

huey = RedisHuey("bench", url=os.environ["BENCH_URL"], results=False)
tally = Tally()


@huey.task()
def noop() -> None:
    tally.count()


@huey.task()
def late(at: float) -> None:
    tally.late(at)


def fill(count: int) -> None:
    for _ in range(count):
        noop()


def put(at: float) -> None:
    late(at)
