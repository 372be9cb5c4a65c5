"""Compare the engine with hand-written code on the same server.

The baseline is redis-py with minimal Lua that maintains a hash, a sorted set and a stream event per
job. Every ratio comes from interleaved rounds of one run.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import redis
from rich.console import Console
from rich.table import Table

import headrace
from headrace.local_server.scratch import private_server

PAYLOAD = {"to": "ada@example.org", "subject": "hello", "body": "x" * 46}
JOBS = 20_000
BATCH = 100
SINGLES = 3_000

BASELINE_PUT = """
for i = 2, #ARGV, 2 do
  redis.call('HSET', KEYS[1] .. 'j:' .. ARGV[i], 'data', ARGV[i + 1], 'state', 'waiting')
  redis.call('ZADD', KEYS[1] .. 'w', 0, ARGV[i])
  redis.call('XADD', KEYS[1] .. 'e', '*', 'kind', 'put', 'id', ARGV[i], 'data', ARGV[i + 1])
end
return 1
"""
BASELINE_POP = """
local out = {}
for _, id in ipairs(redis.call('ZRANGE', KEYS[1] .. 'w', 0, ARGV[1] - 1)) do
  redis.call('HSET', KEYS[1] .. 'j:' .. id, 'state', 'running', 'worker', ARGV[2])
  redis.call('ZREM', KEYS[1] .. 'w', id)
  redis.call('ZADD', KEYS[1] .. 'r', ARGV[3], id)
  redis.call('XADD', KEYS[1] .. 'e', '*', 'kind', 'popped', 'id', id, 'worker', ARGV[2])
  out[#out + 1] = id
  out[#out + 1] = redis.call('HGET', KEYS[1] .. 'j:' .. id, 'data')
end
return out
"""
BASELINE_COMPLETE = """
for i = 1, #ARGV do
  redis.call('HSET', KEYS[1] .. 'j:' .. ARGV[i], 'state', 'complete')
  redis.call('ZREM', KEYS[1] .. 'r', ARGV[i])
  redis.call('ZADD', KEYS[1] .. 'c', i, ARGV[i])
  redis.call('XADD', KEYS[1] .. 'e', '*', 'kind', 'completed', 'id', ARGV[i])
end
return 1
"""


class Baseline:
    """A careful hand-written queue on redis-py."""

    def __init__(self, url: str) -> None:
        self.redis = redis.Redis.from_url(url)
        self.put, self.pop, self.complete = (
            str(self.redis.script_load(text))
            for text in (BASELINE_PUT, BASELINE_POP, BASELINE_COMPLETE)
        )
        self.bare = str(self.redis.script_load("return 1"))
        self.payload = json.dumps(PAYLOAD)

    def put_all(self, size: int, jobs: int) -> None:
        for _ in range(jobs // size):
            items: list[Any] = []
            for _ in range(size):
                items += (os.urandom(12).hex(), self.payload)
            self.redis.evalsha(self.put, 1, "{f}", "q", *items)

    def drain(self, size: int, jobs: int) -> tuple[float, float]:
        popping = completing = 0.0
        for _ in range(jobs // size):
            start = time.perf_counter()
            found: Any = self.redis.evalsha(self.pop, 1, "{f}", size, "w", 60)
            middle = time.perf_counter()
            self.redis.evalsha(self.complete, 1, "{f}", *found[::2])
            popping += middle - start
            completing += time.perf_counter() - middle
        return popping, completing


class Engine:
    """The same operations in Headrace, with history, statistics, events and books."""

    def __init__(self, url: str) -> None:
        self.client = headrace.connect(url, namespace="bench")
        self.queue = self.client.queue("q")

    def put_all(self, size: int, jobs: int) -> None:
        for _ in range(jobs // size):
            if size == 1:
                self.queue.put(PAYLOAD)
            else:
                self.queue.put_many([PAYLOAD] * size)

    def drain(self, size: int, jobs: int) -> tuple[float, float]:
        popping = completing = 0.0
        for _ in range(jobs // size):
            start = time.perf_counter()
            leases = self.queue.pop("w", count=size)
            middle = time.perf_counter()
            self.client.leases.complete(leases)
            popping += middle - start
            completing += time.perf_counter() - middle
        return popping, completing


def rates(side: Baseline | Engine, size: int, jobs: int) -> dict[str, float]:
    """Return the jobs per second of put, pop and complete in batches of `size`."""
    start = time.perf_counter()
    side.put_all(size, jobs)
    putting = time.perf_counter() - start
    popping, completing = side.drain(size, jobs)
    return {"put": jobs / putting, "pop": jobs / popping, "complete": jobs / completing}


def bare_rate(baseline: Baseline, calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        baseline.redis.evalsha(
            baseline.bare, 1, "{f}", "q", "0123456789abcdef01234567", baseline.payload
        )
    return calls / (time.perf_counter() - start)


def compare(url: str, rounds: int) -> list[tuple[str, float, float, float]]:
    """Return the name, both rates, and the median of the ratios of all rounds."""
    baseline, engine = Baseline(url), Engine(url)
    rows: dict[str, list[tuple[float, float]]] = {}
    for _ in range(rounds + 1):
        for size, jobs, label in ((BATCH, JOBS, f"x{BATCH}"), (1, SINGLES, "x1")):
            theirs = rates(baseline, size, jobs)
            mine = rates(engine, size, jobs)
            for name, rate in mine.items():
                rows.setdefault(f"{name} {label}", []).append((rate, theirs[name]))
        start = time.perf_counter()
        engine.put_all(1, SINGLES)
        one = SINGLES / (time.perf_counter() - start)
        engine.drain(BATCH, SINGLES)
        rows.setdefault("put x1 / bare EVALSHA", []).append((one, bare_rate(baseline, SINGLES)))
        baseline.redis.execute_command("FLUSHALL", "SYNC")
        engine = Engine(url)
    return [
        (
            name,
            statistics.median(mine for mine, _ in measured[1:]),
            statistics.median(theirs for _, theirs in measured[1:]),
            statistics.median(mine / theirs for mine, theirs in measured[1:]),
        )
        for name, measured in rows.items()
    ]


def bytes_per_job(url: str, jobs: int = JOBS) -> float:
    """Return the server memory of a waiting job with a payload of 100 bytes, without its event."""
    server = redis.Redis.from_url(url)
    server.execute_command("FLUSHALL", "SYNC")
    client = headrace.connect(url, namespace="memory", codec="raw")
    client.config.set("events_count", 0)
    queue = client.queue("q")
    queue.put(b"x" * 100)
    before = _used(server)
    queue.put_many([b"x" * 100] * jobs)
    server.delete("hr:{memory:0}:events")
    return (_used(server) - before) / jobs


def _used(server: redis.Redis) -> int:
    """Return the memory in use after the server has freed memory in the background."""
    while server.info("memory")["lazyfree_pending_objects"]:
        time.sleep(0.01)
    return int(server.info("memory")["used_memory"])


def growth(url: str) -> list[tuple[float, ...]]:
    """Return the microseconds per job, in batches of 100, for several numbers of waiting jobs."""
    redis.Redis.from_url(url).execute_command("FLUSHALL", "SYNC")
    client = headrace.connect(url, namespace="growth", codec="raw")
    client.config.set("events_count", 1000)
    queue = client.queue("q")
    found: list[tuple[float, ...]] = []
    waiting = 0
    for wanted in (1_000, 10_000, 100_000, 1_000_000):
        while waiting < wanted:
            queue.put_many([b"x" * 100] * 1000)
            waiting += 1000
        found.append((wanted, *_costs(client, queue)))
    return found


def _costs(
    client: headrace.Client, queue: headrace.Queue, repetitions: int = 60
) -> tuple[float, ...]:
    spent: dict[str, list[float]] = {"put": [], "pop": [], "complete": []}

    def timed(name: str, act: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        answer = act()
        spent[name].append((time.perf_counter() - start) / BATCH * 1e6)
        return answer

    for _ in range(repetitions):
        timed("put", lambda: queue.put_many([b"x" * 100] * BATCH))
        leases = timed("pop", partial(queue.pop, "w", count=BATCH))
        timed("complete", partial(client.leases.complete, leases))
    return tuple(statistics.median(values) for values in spent.values())


def import_ms(repeats: int = 7) -> float:
    """Return the duration of `import headrace`, without the start of the interpreter."""

    def once(code: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return time.perf_counter() - start

    return 1000 * (
        min(once("import headrace") for _ in range(repeats))
        - min(once("pass") for _ in range(repeats))
    )


TARGETS = {
    f"put x{BATCH}": 0.6,
    f"pop x{BATCH}": 0.6,
    f"complete x{BATCH}": 0.6,
    "put x1 / bare EVALSHA": 0.8,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--url", help="a server whose data may be deleted (default: a private Valkey)"
    )
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    chosen = parser.parse_args()
    if chosen.url:
        return report(chosen.url, chosen.rounds, chosen.json)
    with private_server() as url:
        return report(url, chosen.rounds, chosen.json)


def report(url: str, rounds: int, to_file: Path | None) -> int:
    console = Console()
    with console.status("comparing with the baseline..."):
        rows = compare(url, rounds)
    table = Table("", "headrace /s", "baseline /s", "ratio", "at least")
    for name, mine, theirs, ratio in rows:
        least = TARGETS.get(name)
        table.add_row(
            name, f"{mine:,.0f}", f"{theirs:,.0f}", f"{ratio:.2f}", f"{least}" if least else ""
        )
    console.print(table)
    with console.status("memory and growth..."):
        memory, costs, importing = bytes_per_job(url), growth(url), import_ms()
    console.print(f"{memory:.0f} bytes per waiting job (at most 600)")
    console.print(f"import headrace: {importing:.0f} ms (at most 150)")
    grown = Table("waiting", "put us/job", "pop us/job", "complete us/job")
    for waiting, *spent in costs:
        grown.add_row(f"{waiting:,}", *(f"{value:.1f}" for value in spent))
    console.print(grown)
    missed = [name for name, *_, ratio in rows if ratio < TARGETS.get(name, 0)]
    if memory > 600:
        missed.append("memory")
    if importing > 150:
        missed.append("import")
    if to_file:
        found = {"rates": rows, "bytes": memory, "growth": costs, "import_ms": importing}
        to_file.write_text(json.dumps(found, indent=2) + "\n")
    console.print(f"missed: {', '.join(missed)}" if missed else "all targets are reached")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
