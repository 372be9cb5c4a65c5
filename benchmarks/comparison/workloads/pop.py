"""The time of a pop while a thousand jobs wait, and while a million jobs wait."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import Any

import headrace
from benchmarks.comparison.bench import Bench
from benchmarks.comparison.competitors import Competitor
from benchmarks.comparison.servers import valkey
from benchmarks.competitors.payload import PAYLOAD
from benchmarks.targets import percentiles

FEW = 1_000
BLOCK = 50
CHUNK = 10_000
# The garbage of a million puts is collected during the first pops, which do not count.
FIRST = 6_000


def measure(bench: Bench, _: Competitor) -> dict[str, float]:
    """Return milliseconds; pops with few and with many waiting jobs alternate against drift."""
    waiting = {"few": FEW, "many": bench.effort.backlog}
    with ExitStack() as stack:
        queues = {name: _queue(stack, count) for name, count in waiting.items()}
        found: dict[str, list[float]] = {name: [] for name in waiting}
        for number in range((FIRST + bench.effort.pops) // BLOCK):
            for name, queue in queues.items():
                times = [_pop(queue) for _job in range(BLOCK)]
                if number >= FIRST // BLOCK:
                    found[name] += times
    return {
        f"{name}_{cut}": value * 1000
        for name, times in found.items()
        for cut, value in percentiles(times).items()
    }


def _queue(stack: ExitStack, count: int) -> Any:
    client = stack.enter_context(headrace.connect(stack.enter_context(valkey()).url))
    queue = client.queue("bench")
    for _ in range(0, count, min(CHUNK, count)):
        queue.put_many([PAYLOAD] * min(CHUNK, count))
    return queue


def _pop(queue: Any) -> float:
    """Return the seconds of one pop; leave the number of waiting jobs unchanged."""
    begun = time.perf_counter()
    [lease] = queue.pop("bench")
    seconds = time.perf_counter() - begun
    lease.complete()
    queue.put(PAYLOAD)
    return seconds
