"""Provoke the calls that keep the server busy longest, and measure how long.

Each case runs on a private server. The benchmark shows the CPU time of the longest script of the
case, and the longest gap between two replies to PING on a connection of another process. The gap
also contains the work of other processes on this machine.

python -m benchmarks.stalls [--only dead] [--scale 0.1]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import multiprocessing
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cached_property
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Self

import redis
from rich.console import Console
from rich.table import Table

import headrace
from headrace.engine import keys
from headrace.engine.script import Library
from headrace.local_server.scratch import private_server

RESULTS = Path(__file__).parent / "results"
BOUND_MS = 25.0
MIB = 1 << 20
PART = 10_000
WAITING_CLIENTS = 200
LATE, LOST, OTHER, FAIR, DOOMED = "late", "lost", "other", "fair", "doomed"
YEAR_MS = 365 * 86_400_000

# Lua code that runs each function, and remembers the CPU time of its longest run.
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
local function metered(name, callback)
  return function(keys, arguments)
    local before = cpu()
    local reply = callback(keys, arguments)
    longest[name] = math.max(longest[name] or 0, cpu() - before)
    return reply
  end
end
"""
REGISTERED = "callback = callback }"


class MeteredLibrary(Library):
    """The function library, with functions that measure their own CPU time."""

    @cached_property
    def text(self) -> str:
        """The text for FUNCTION LOAD."""
        first, _, body = super().text.partition("\n")
        return f"{first}\n{METERED}" + body.replace(
            REGISTERED, "callback = metered(name, callback) }"
        )


METERED_LIBRARY = MeteredLibrary()


@dataclass(frozen=True)
class Stall:
    """The CPU time of the longest script of a case, and the longest gap between two PINGs."""

    case: str
    script: str
    script_ms: float
    ping_ms: float
    seconds: float


class Bench:
    """A private server, a client, and the meters of one case."""

    def __init__(self, url: str, scale: float) -> None:
        self.url = url
        self.client = headrace.connect(url, namespace="bench", library=METERED_LIBRARY)
        self.server = redis.Redis.from_url(url)
        self._scale = scale

    def many(self, number: int) -> int:
        """Return a number of jobs, scaled down for a quick run."""
        return max(1, round(number * self._scale))

    def fill(self, queue: str, count: int, **options: Any) -> None:
        """Put jobs without data."""
        for first in range(0, count, PART):
            self.client.queue(queue).put_many([None] * min(PART, count - first), **options)

    def drain(self, queue: str, worker: str = "drain", lease: float | None = None) -> None:
        """Pop all jobs of a queue that may start."""
        while self.client.queue(queue).pop(worker, count=500, lease=lease):
            pass

    def die(self, *workers: str) -> None:
        """Let the sessions of workers expire, as if the workers had died."""
        # Otherwise the time before the server started would count as an outage.
        self.client.config.set("grace", 0)
        self.server.zadd(self.client.core.key(0, keys.SESSIONS), dict.fromkeys(workers, 1))

    def measure(self, case: str, act: Callable[[Bench], object]) -> Stall:
        """Run the measured part of a case."""
        self.server.fcall_ro("longest", 0)
        with Pinging(self.url) as pinging:
            started = time.monotonic()
            act(self)
            seconds = time.monotonic() - started
        reply: Any = self.server.fcall_ro("longest", 0)
        spent = {op: 1000 * float(ms) for op, ms in zip(reply[::2], reply[1::2], strict=True)}
        script = max(spent, key=lambda op: spent[op])
        ms = round(spent[script], 1)
        return Stall(case, script.decode(), ms, pinging.longest_ms, round(seconds, 1))


class Pinging:
    """A process that sends PING without pause, and knows the longest gap between two replies."""

    def __init__(self, url: str) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=ping, args=(url, theirs))
        self.longest_ms = 0.0

    def __enter__(self) -> Self:
        self._process.start()
        self._pipe.recv()
        return self

    def __exit__(self, *_: object) -> None:
        self._pipe.send(None)
        self.longest_ms = round(1000 * self._pipe.recv(), 1)
        self._process.join()


def ping(url: str, pipe: Connection) -> None:
    """Send PING until the other end of the pipe asks for the longest gap, in seconds."""
    server = redis.Redis.from_url(url)
    server.ping()
    pipe.send(None)
    longest, before = 0.0, time.monotonic()
    while not pipe.poll():
        with suppress(redis.ConnectionError):
            server.ping()
        longest, before = max(longest, time.monotonic() - before), time.monotonic()
    pipe.send(longest)


@dataclass(frozen=True)
class Case:
    """A state of the server, and the calls that are measured in this state."""

    name: str
    prepare: Callable[[Bench], object]
    act: Callable[[Bench], object]


def expired_leases(bench: Bench) -> None:
    bench.fill(LATE, bench.many(20_000))
    bench.drain(LATE, lease=0.01)
    time.sleep(0.02)


def pop_late_jobs(bench: Bench) -> None:
    queue = bench.client.queue(LATE)
    for _ in range(200):
        queue.pop("peer", lease=60)
    queue.pop("peer", count=500, lease=60)


def dead_worker(bench: Bench) -> None:
    bench.client.session("dead", ttl=3600)
    bench.fill(LOST, bench.many(50_000))
    bench.drain(LOST, "dead", lease=math.inf)
    bench.fill(OTHER, 2000)
    bench.die("dead")


def pop_other_queue(bench: Bench) -> None:
    for _ in range(1000):
        bench.client.queue(OTHER).pop("peer")


def pop_own_queue(bench: Bench) -> None:
    bench.client.queue(LOST).pop("peer")


def wait_in_many_clients(bench: Bench) -> None:
    """Let many clients pop at the same time, as after a restart of the server."""

    async def pop_once(client: Any, number: int) -> None:
        await client.queue((LOST, OTHER)[number % 2]).pop(f"waiting-{number}", wait=20)

    async def pop_all() -> None:
        clients = [
            await headrace.connect_async(bench.url, namespace="bench", library=METERED_LIBRARY)
            for _ in range(WAITING_CLIENTS)
        ]
        await asyncio.gather(*map(pop_once, clients, range(WAITING_CLIENTS)))
        await asyncio.gather(*(client.close() for client in clients))

    asyncio.run(pop_all())


def dead_fleet(bench: Bench) -> None:
    names = [f"dead-{number}" for number in range(1000)]
    bench.fill(LOST, 10_000)
    for name in names:
        bench.client.session(name, ttl=3600)
        bench.client.queue(LOST).pop(name, count=10, lease=math.inf)
    bench.die(*names)


def nothing(_: Bench) -> None:
    """Measure on an empty server."""


def put_large_jobs(bench: Bench) -> None:
    for _ in range(bench.many(5)):
        bench.client.queue("large").put_many(["x" * (MIB - 100)] * 50)


def finish_large_jobs(bench: Bench) -> None:
    queue = bench.client.queue("large")
    while leases := queue.pop("peer", count=250):
        bench.client.leases.complete(leases, results=["x" * (MIB - 100)] * len(leases))


def keys_in_turn(bench: Bench) -> None:
    """Put two jobs for each key, and let one job of each key run."""
    queue = bench.client.queue(FAIR)
    queue.configure(fair=True, key_concurrency=1)
    for _ in range(2):
        queue.put_many([headrace.Put(None, key=str(n)) for n in range(bench.many(100_000))])
    bench.drain(FAIR)


def change_limits_of_keys(bench: Bench) -> None:
    queue = bench.client.queue(FAIR)
    queue.configure(key_concurrency=2)
    for count in (1, 10, 500):
        queue.pop("peer", count=count)
    queue.configure(key_concurrency=3, key_rate="1/h")
    queue.pop("peer", count=500)
    queue.configure(key_rate="2/h")


def doomed_queue(bench: Bench) -> None:
    queue = bench.client.queue(DOOMED)
    queue.configure(keep_count=10**9)
    count = bench.many(500_000)
    bench.fill(DOOMED, count)
    for _ in range(count // 500):
        bench.client.leases.complete(queue.pop("peer", count=500))
    bench.fill(DOOMED, count)


def delete_queue(bench: Bench) -> None:
    bench.client.queue(DOOMED).delete()


def due_at_once(bench: Bench) -> None:
    bench.fill(LATE, bench.many(20_000), delay=0.5)
    bench.fill(LATE, bench.many(20_000), start_within=0.5, tags=["a", "b"])
    for number in range(20):
        queue = bench.client.queue(f"old-{number}")
        queue.configure(keep_age=0.5)
        bench.fill(f"old-{number}", 2500)
        for _ in range(10):
            bench.client.leases.complete(queue.pop("peer", count=250))
    time.sleep(0.6)


def pop_and_sweep(bench: Bench) -> None:
    bench.client.queue(LATE).pop("peer", count=500)
    bench.client.queue(LATE).put_many([None] * 250)
    bench.client.sweep()


def long_outage(bench: Bench) -> None:
    """Let two schedules without a limited backlog miss the runs of a year."""
    queue = bench.client.queue("runs")
    queue.schedule("every", None, every=1, backlog=None)
    queue.schedule("cron", None, cron="* * * * *", backlog=None)
    year_ago = round(time.time() * 1000) - YEAR_MS
    for schedule in ("every", "cron"):
        where = bench.client.core.key(0, keys.schedule(schedule))
        bench.server.hset(where, mapping={"next": year_ago, "after": year_ago})
        for name in ("runs", ""):
            index = bench.client.core.key(0, keys.schedules(name))
            bench.server.zadd(index, {schedule: year_ago})


def pop_missed_runs(bench: Bench) -> None:
    for _ in range(100):
        bench.client.queue("runs").pop("peer")


def pushed_elements(bench: Bench) -> None:
    where = bench.client.core.key(0, keys.ingress("pushed"))
    bench.client.queue("pushed").configure()
    for element, count in ((b"x" * MIB, 50), (b"1", bench.many(50_000))):
        bench.server.lpush(where, *[element] * count)


def sweep_pushed_elements(bench: Bench) -> None:
    bench.client.queue("pushed").pop("peer")
    bench.client.sweep()


CASES = [
    Case("20,000 expired leases", expired_leases, pop_late_jobs),
    Case("dead worker with 50,000 jobs, another queue", dead_worker, pop_other_queue),
    Case("dead worker with 50,000 jobs, its queue", dead_worker, pop_own_queue),
    Case("dead worker with 50,000 jobs, 200 clients", dead_worker, wait_in_many_clients),
    Case("1,000 dead workers", dead_fleet, pop_own_queue),
    Case("put 250 jobs of 1 MiB", nothing, put_large_jobs),
    Case("pop and complete 250 jobs of 1 MiB", put_large_jobs, finish_large_jobs),
    Case("100,000 keys with fair turns", keys_in_turn, change_limits_of_keys),
    Case("delete a queue of a million jobs", doomed_queue, delete_queue),
    Case("110,000 jobs due at once", due_at_once, pop_and_sweep),
    Case("schedules that missed a year", long_outage, pop_missed_runs),
    Case("50,000 pushed elements, 50 of 1 MiB", pushed_elements, sweep_pushed_elements),
]


def measured(case: Case, scale: float) -> Stall:
    """Run one case on a server of its own."""
    with private_server() as url:
        bench = Bench(url, scale)
        with bench.client:
            case.prepare(bench)
            return bench.measure(case.name, case.act)


def write(stalls: list[Stall]) -> None:
    now = datetime.now(UTC)
    found = {
        "at": now.isoformat(timespec="seconds"),
        "bound_ms": BOUND_MS,
        "stalls": [asdict(stall) for stall in stalls],
    }
    path = RESULTS / f"stalls-{now:%Y-%m-%d}.json"
    path.write_text(json.dumps(found, indent=2) + "\n")


def main() -> int:
    """Measure, print and store the figures; return 1 if a script exceeds the bound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="run only the cases whose name contains this text")
    parser.add_argument("--scale", type=float, default=1.0, help="a factor for numbers of jobs")
    chosen = parser.parse_args()
    console = Console()
    table = Table("case", "script", "CPU ms", "PING ms", "seconds")
    stalls = []
    for case in CASES:
        if (chosen.only or "") in case.name:
            with console.status(case.name):
                stalls.append(measured(case, chosen.scale))
            table.add_row(*map(str, asdict(stalls[-1]).values()))
    console.print(table)
    if not chosen.only and chosen.scale == 1:
        write(stalls)
    longest = max(stall.script_ms for stall in stalls)
    console.print(f"longest script: {longest} ms of CPU time (at most {BOUND_MS:.0f})")
    return int(longest > BOUND_MS)


if __name__ == "__main__":
    sys.exit(main())
