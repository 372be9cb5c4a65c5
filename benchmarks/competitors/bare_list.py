"""The lower bound of latency: LPUSH in one process, BLPOP in another."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import redis

from benchmarks.competitors.job_log import JobLog

LIST = "bare"


@cache
def server() -> Any:
    # The default timeout of redis-py would end an idle BLPOP after five seconds.
    return redis.Redis.from_url(os.environ["BENCH_URL"], socket_timeout=None)


def put(_: str, call: dict[str, float]) -> None:
    server().lpush(LIST, call["at"])


def work() -> None:
    job_log = JobLog()
    while True:
        _, at = server().blpop(LIST)
        job_log.late(float(at))


if __name__ == "__main__":
    work()
