"""The floor of latency: LPUSH in one process, BLPOP in another, and nothing else."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import redis

from benchmarks.rivals.tally import Tally

LIST = "bare"


@cache
def server() -> Any:
    # Without a word on timeouts an idle BLPOP ends after redis-py's own five seconds.
    return redis.Redis.from_url(os.environ["BENCH_URL"], socket_timeout=None)


def put(_: str, call: dict[str, float]) -> None:
    server().lpush(LIST, call["at"])


def work() -> None:
    tally = Tally()
    while True:
        _, at = server().blpop(LIST)
        tally.late(float(at))


if __name__ == "__main__":
    work()
