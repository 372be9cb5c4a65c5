"""How long a pop of one job takes while a thousand wait, and while a million do."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import Any

import headrace
from benchmarks.bars import percentiles
from benchmarks.field.bench import Bench
from benchmarks.field.contestants import Contestant
from benchmarks.field.servers import valkey
from benchmarks.rivals.letter import LETTER

FEW = 1_000
BLOCK = 50
CHUNK = 10_000
# What a million puts leave behind is collected during the first pops; these do not count.
FIRST = 6_000


def measure(bench: Bench, _: Contestant) -> dict[str, float]:
    """Milliseconds; a few pops of one and a few of the other in turn, so that drift hits both."""
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
        queue.put_many([LETTER] * min(CHUNK, count))
    return queue


def _pop(queue: Any) -> float:
    """Seconds; as many wait afterwards as before."""
    begun = time.perf_counter()
    [lease] = queue.pop("bench")
    seconds = time.perf_counter() - begun
    lease.complete()
    queue.put(LETTER)
    return seconds
