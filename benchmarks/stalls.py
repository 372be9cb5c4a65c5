"""Provoke the most expensive calls, and measure how long they keep the server busy.

Each case runs on a private server. The benchmark shows the CPU time of the case's longest script,
and the longest gap between two replies to PING on a connection of another process.

python -m benchmarks.stalls [--only "dead worker"] [--scale 0.1]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cached_property
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import redis
from rich.console import Console
from rich.table import Table

import headrace
from headrace.client.client import Client
from headrace.engine.call import Call
from headrace.engine.script import Library
from headrace.local_server.scratch import private_server
from headrace.operations.requests import unchanged

RESULTS = Path(__file__).parent / "results"
BOUND_MS = 25.0
MIB = 1 << 20
WORKER, PEER = "worker", "peer"
# Jobs to put at once while a case is prepared.
PART = 10_000
CLIENTS = 200

# Lua code that runs a function, and remembers the CPU time of the longest run by operation.
METERED = """
local longest = {}
local function cpu()
  local info = redis.call('INFO', 'cpu')
  return string.match(info, 'used_cpu_sys_main_thread:([%d.]+)')
    + string.match(info, 'used_cpu_user_main_thread:([%d.]+)')
end
redis.register_function({ function_name = 'longest', flags = { 'no-writes' }, callback = function()
  local found = {}
  for op, spent in pairs(longest) do
    found[#found + 1] = op
    found[#found + 1] = string.format('%.6f', spent)
  end
  longest = {}
  return found
end })
local function register(name, flags, callback)
  redis.register_function({ function_name = '{name}_' .. name, flags = flags,
    callback = function(keys, arguments)
      local before = cpu()
      local reply = callback(keys, arguments)
      longest[name] = math.max(longest[name] or 0, cpu() - before)
      return reply
    end })
end
"""


class MeteredLibrary(Library):
    """The function library, with functions that measure their own CPU time."""

    @cached_property
    def text(self) -> str:
        first, _, body = super().text.split("\n", 2)
        return f"{first}\n{METERED.replace('{name}', self.name)}{body}"


@dataclass(frozen=True)
class Stall:
    """The longest script of a case, its CPU time, and the longest gap between two PINGs, in ms."""

    case: str
    script: str
    script_ms: float
    ping_ms: float
    seconds: float


class Bench:
    """A private server, a client, and the meters of one case."""

    def __init__(self, url: str, scale: float) -> None:
        self.url = url
        self.scale = scale
        self.client = self.connect()
        self._server = redis.Redis.from_url(url)
        self._started = 0.0

    def connect(self) -> Client:
        return headrace.connect(self.url, namespace="bench", library=MeteredLibrary())

    def many(self, number: int) -> int:
        """Return a number of jobs, scaled down for a quick run."""
        return max(1, round(number * self.scale))

    def fill(self, queue: str, count: int, **options: Any) -> None:
        """Put jobs without data."""
        for first in range(0, count, PART):
            self.client.queue(queue).put_many([None] * min(PART, count - first), **options)

    def hold(self, queue: str, count: int, worker: str, lease: float = math.inf) -> None:
        """Let a worker hold jobs of a queue."""
        held = 0
        while held < count:
            held += len(self.client.queue(queue).pop(worker, count=500, lease=lease))

    def restart(self) -> None:
        """Let the server forget its library and its connections, as after a restart."""
        self._server.function_flush()
        self._server.client_kill_filter(skipme=True)

    def measure(self, case: str, act: Callable[[Bench], object]) -> Stall:
        """Run the part of a case that is measured."""
        self._server.fcall_ro("longest", 0)
        with Pinging(self.url) as pinging:
            started = time.monotonic()
            act(self)
            seconds = time.monotonic() - started
        reply: Any = self._server.fcall_ro("longest", 0)
        spent = {
            op.decode(): 1000 * float(one) for op, one in zip(reply[::2], reply[1::2], strict=True)
        }
        script = max(spent, key=lambda op: spent[op])
        return Stall(case, script, round(spent[script], 1), pinging.longest_ms, round(seconds, 1))


class Pinging:
    """A process that sends PING without pause and knows the longest gap between two replies."""

    def __init__(self, url: str) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=ping, args=(url, theirs))
        self.longest_ms = 0.0

    def __enter__(self) -> Pinging:
        self._process.start()
        self._pipe.recv()
        return self

    def __exit__(self, *_: object) -> None:
        self._pipe.send(None)
        self.longest_ms = round(1000 * self._pipe.recv(), 1)
        self._process.join()


def ping(url: str, pipe: Connection) -> None:
    server = redis.Redis.from_url(url)
    server.ping()
    pipe.send(None)
    longest, before = 0.0, time.monotonic()
    while not pipe.poll():
        time.sleep(0.0005)
        with suppress(redis.ConnectionError):
            server.ping()
        longest, before = max(longest, time.monotonic() - before), time.monotonic()
    pipe.send(longest)


def drained(client: Client, queue: str, worker: str = PEER) -> int:
    """Pop and complete all jobs of a queue; return their number."""
    popped = 0
    while leases := client.queue(queue).pop(worker, count=250):
        client.leases.complete(leases)
        popped += len(leases)
    return popped


@dataclass(frozen=True)
class Case:
    """A state of the server, and the calls whose longest script is measured in this state."""

    name: str
    prepare: Callable[[Bench], object]
    act: Callable[[Bench], object]


def expired_leases(bench: Bench) -> None:
    count = bench.many(20_000)
    bench.fill("late", count)
    bench.hold("late", count, WORKER, lease=0.001)
    bench.fill("late", 100)


def pop_singly(bench: Bench) -> None:
    queue = bench.client.queue("late")
    for _ in range(200):
        queue.pop(PEER, lease=60)
    drained(bench.client, "late")


def dead_worker(bench: Bench) -> None:
    count = bench.many(50_000)
    session = bench.client.session(WORKER, ttl=3600)
    bench.fill("lost", count)
    bench.hold("lost", count, WORKER)
    bench.fill("other", 2000)
    bench.client.config.get("lease")
    end_session(bench, WORKER)
    assert session.worker == WORKER


def end_session(bench: Bench, worker: str) -> None:
    """Let the session of a worker end now, as if the worker had died."""
    server = redis.Redis.from_url(bench.url)
    server.zadd(bench.client.core.key(0, "sessions"), {worker: 1})


def pop_elsewhere(bench: Bench) -> None:
    queue = bench.client.queue("other")
    slowest = 0.0
    for _ in range(1000):
        before = time.monotonic()
        [lease] = queue.pop(PEER)
        slowest = max(slowest, time.monotonic() - before)
        lease.complete()
    print(f"slowest pop on another queue: {1000 * slowest:.1f} ms", file=sys.stderr)


def pop_own(bench: Bench) -> None:
    before = time.monotonic()
    bench.client.queue("lost").pop(PEER)
    print(f"first pop of the queue: {1000 * (time.monotonic() - before):.1f} ms", file=sys.stderr)


async def _wait_all(bench: Bench, queues: Sequence[str], count: int = 1) -> None:
    async def wait_one(number: int) -> None:
        name = f"waiter-{number}"
        client = await headrace.connect_async(
            bench.url, namespace="bench", library=MeteredLibrary()
        )
        async with client:
            for lease in await client.queue(queues[number % len(queues)]).pop(
                name, count=count, wait=20
            ):
                await lease.complete()

    await asyncio.gather(*(wait_one(number) for number in range(CLIENTS)))


def many_waiting(bench: Bench) -> None:
    asyncio.run(_wait_all(bench, ["lost", "other"]))


CASES = [
    Case("expired leases", expired_leases, pop_singly),
    Case("dead worker, other queue", dead_worker, pop_elsewhere),
    Case("dead worker, own queue", dead_worker, pop_own),
    Case("dead worker, 200 clients", dead_worker, many_waiting),
]


def measured(case: Case, scale: float) -> Stall:
    with private_server() as url:
        bench = Bench(url, scale)
        case.prepare(bench)
        with bench.client:
            return bench.measure(case.name, case.act)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="run only the cases whose name contains this text")
    parser.add_argument("--scale", type=float, default=1.0, help="a factor for numbers of jobs")
    arguments = parser.parse_args()
    chosen = [case for case in CASES if (arguments.only or "") in case.name]
    for case in chosen:
        print(measured(case, arguments.scale), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
