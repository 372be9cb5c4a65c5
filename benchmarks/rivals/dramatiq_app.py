"""dramatiq without results, as it comes."""

from __future__ import annotations

import os

import dramatiq
from dramatiq.brokers.redis import RedisBroker

from benchmarks.rivals.tally import Tally

dramatiq.set_broker(RedisBroker(url=os.environ["BENCH_URL"]))
tally = Tally()


@dramatiq.actor
def noop() -> None:
    tally.count()


@dramatiq.actor
def late(at: float) -> None:
    tally.late(at)


def fill(count: int) -> None:
    for _ in range(count):
        noop.send()


def put(at: float) -> None:
    late.send(at)
