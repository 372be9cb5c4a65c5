"""The cost of each operation: round trips, commands, bytes, time in the script, and instructions.

Round trips, commands and bytes are the same on every machine. The time in the script depends on
the machine. callgrind counts the instructions; without valgrind, the command skips these counts.
With `--source`, the command also counts another version of the package and compares both.
"""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import redis
from rich.console import Console
from rich.table import Column, Table

import headrace
from benchmarks.cost_report import Cost, CostReport
from benchmarks.instructions.callgrind import is_available
from benchmarks.instructions.measure import (
    CALLS,
    TURNS,
    Effort,
    Instructions,
    count_instructions,
)
from headrace.local_server.scratch import private_server

PAYLOAD = {"to": "ada@example.org", "subject": "hello", "body": "x" * 46}
WORKER = "worker-1"
BATCH = 100
OPTIONS: dict[str, Any] = {"priority": 5, "tags": ["mail", "nightly"], "retries": 3}
REPETITIONS = 200
# Commands that are not executed inside a script.
AROUND = {"cmdstat_fcall", "cmdstat_info", "cmdstat_function|load", "cmdstat_client|info"}


class Meter:
    """Counts the round trips of a client, and reads the server's statistics of its connection."""

    def __init__(self, client: headrace.Client, url: str) -> None:
        self._client = client
        self._server = redis.Redis.from_url(url)
        self.trips = 0
        transport = client.core.transport
        exchange = transport.exchange

        def counting(*given: Any) -> Any:
            self.trips += 1
            return exchange(*given)

        transport.exchange = counting

    def cost(self, operation: str, act: Callable[[], int]) -> Cost:
        """Return the cost per job of `act`, which returns its number of jobs."""
        act()
        own_sent, own_received = self._asking()
        sent, received = self._bytes()
        commands, micros = self._done()
        self.trips = 0
        jobs = sum(act() for _ in range(REPETITIONS))
        trips = self.trips
        commands_after, micros_after = self._done()
        sent_after, received_after = self._bytes()
        return Cost(
            operation,
            trips / jobs,
            (commands_after - commands) / jobs,
            (sent_after - sent - own_sent) / jobs,
            (received_after - received - own_received) / jobs,
            (micros_after - micros) / jobs,
        )

    def _asking(self) -> tuple[int, int]:
        """Return how many bytes a read of the byte counters sends and receives."""
        before, after = self._bytes(), self._bytes()
        return after[0] - before[0], after[1] - before[1]

    def _bytes(self) -> tuple[int, int]:
        """Return the bytes that this client has sent and received so far."""
        [reply] = self._client.core.transport.send([(0, ("CLIENT", "INFO"))])
        said = dict(word.split("=", 1) for word in reply.decode().split())
        return int(said["tot-net-in"]), int(said["tot-net-out"])

    def _done(self) -> tuple[int, int]:
        """Return the commands that functions have run so far, and the functions' microseconds."""
        stats: Any = self._server.info("commandstats")
        within = sum(each["calls"] for name, each in stats.items() if name not in AROUND)
        return within, stats["cmdstat_fcall"]["usec"]


class Work:
    """The measured operations, on one job or on a batch; each returns its number of jobs."""

    def __init__(self, client: headrace.Client) -> None:
        self.client = client
        self.queue = client.queue("q")
        self.limited = client.queue("limited")
        self.limited.configure(key_concurrency=10**6, fair=True)
        self.session = client.session(WORKER, ttl=3600)
        self.held: list[headrace.Lease] = []
        self.limited_held: list[headrace.Lease] = []

    def fill(self) -> None:
        """Put enough jobs for all pops, and pop enough leases for all other operations."""
        for _ in range(2 * REPETITIONS):
            self.put_many()
        for _ in range(REPETITIONS // 10):
            self.pop_many()

    def put(self) -> int:
        self.queue.put(PAYLOAD)
        return 1

    def put_many(self) -> int:
        return len(self.queue.put_many([PAYLOAD] * BATCH))

    def put_with_options(self) -> int:
        self.queue.put(PAYLOAD, **OPTIONS)
        return 1

    def put_with_key(self) -> int:
        self.limited.put(PAYLOAD, key="customer")
        return 1

    def pop(self, count: int = 1) -> int:
        self.held += self.queue.pop(WORKER, count=count)
        return count

    def pop_with_key(self) -> int:
        self.limited_held += self.limited.pop(WORKER)
        return 1

    def complete_with_key(self) -> int:
        self.limited_held.pop().complete()
        return 1

    def pop_many(self) -> int:
        return self.pop(BATCH)

    def heartbeat(self) -> int:
        self.held[0].heartbeat()
        return 1

    def complete(self, count: int = 1) -> int:
        self.client.leases.complete(self._first(count))
        return count

    def complete_many(self) -> int:
        return self.complete(BATCH)

    def complete_and_pop(self) -> int:
        _, leases = self.queue.complete_and_pop(self._first(BATCH), WORKER, count=BATCH)
        self.held += leases
        return BATCH

    def fail(self) -> int:
        [lease] = self._first(1)
        lease.fail("Timeout", "no answer", retry_in=3600)
        return 1

    def release(self) -> int:
        [lease] = self._first(1)
        lease.release(position="back")
        return 1

    def renew(self) -> int:
        self.session.renew()
        return 1

    def _first(self, count: int) -> list[headrace.Lease]:
        taken, self.held = self.held[:count], self.held[count:]
        return taken


def measure(url: str) -> list[Cost]:
    """Measure all operations, in an order that leaves enough jobs for each operation."""
    with headrace.connect(url, namespace="costs") as client:
        meter, work = Meter(client, url), Work(client)
        work.fill()
        return [
            meter.cost("put", work.put),
            meter.cost("put with options", work.put_with_options),
            meter.cost(f"put_many of {BATCH}", work.put_many),
            meter.cost("pop", work.pop),
            meter.cost(f"pop of {BATCH}", work.pop_many),
            meter.cost("heartbeat", work.heartbeat),
            meter.cost("complete", work.complete),
            meter.cost("fail with retry_in", work.fail),
            meter.cost("release", work.release),
            meter.cost("session.renew", work.renew),
            meter.cost(f"complete_and_pop of {BATCH}", work.complete_and_pop),
            meter.cost(f"complete_many of {BATCH}", work.complete_many),
            meter.cost("put with a key under limits", work.put_with_key),
            meter.cost("pop with a key under limits", work.pop_with_key),
            meter.cost("complete with a key under limits", work.complete_with_key),
        ]


def server_version(url: str) -> str:
    with redis.Redis.from_url(url) as server:
        found: Any = server.info("server")
    return f"Valkey {found['valkey_version']}"


def show_instructions(console: Console, counted: list[Instructions]) -> None:
    table = Table("instructions", "client", "server")
    for each in counted:
        table.add_row(each.operation, f"{each.client:,.0f}", f"{each.server:,.0f}")
    console.print(table)


def show_comparison(
    console: Console, counted: list[Instructions], others: list[Instructions]
) -> None:
    """Print both counts and their ratio; above 1, this version executes more instructions."""
    table = Table(
        *(
            Column(name, no_wrap=True)
            for name in ("instructions", "client", "other", "ratio", "server", "other", "ratio")
        ),
    )
    for own, other in zip(counted, others, strict=True):
        table.add_row(
            own.operation,
            *(f"{own.client:,.0f}", f"{other.client:,.0f}", f"{own.client / other.client:.3f}"),
            *(f"{own.server:,.0f}", f"{other.server:,.0f}", f"{own.server / other.server:.3f}"),
        )
    console.print(table)


def parsed_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks.costs", description=__doc__)
    parser.add_argument(
        "--instructions", action="store_true", help="only count instructions, and store nothing"
    )
    parser.add_argument(
        "--source", type=Path, help="folder src of another version to compare instructions with"
    )
    parser.add_argument(
        "--calls", type=int, default=CALLS, help="calls of each operation (%(default)s)"
    )
    parser.add_argument(
        "--turns", type=int, default=TURNS, help="turns of the worker (%(default)s)"
    )
    return parser.parse_args()


def main() -> int:
    arguments = parsed_arguments()
    console = Console()
    effort = Effort(arguments.calls, arguments.turns)
    if not is_available():
        console.print("valgrind is not installed: instructions are not counted")
        if arguments.instructions or arguments.source:
            return 1
    if arguments.source:
        counted = count_instructions(effort)
        show_comparison(console, counted, count_instructions(effort, arguments.source))
        return 0
    if arguments.instructions:
        show_instructions(console, count_instructions(effort))
        return 0
    with private_server() as url:
        costs, server = measure(url), server_version(url)
    report = CostReport(
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        processor=platform.machine(),
        python=platform.python_version(),
        server=server,
        costs=costs,
        instructions=count_instructions(effort) if is_available() else [],
    )
    for sheet in report.sheets(with_times=True):
        console.print(sheet.for_terminal())
    report.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
