"""Measure what `durability=` adds to the time of a put, on this machine's disk.

The rounds of all cases are interleaved in one run, so the ratios do not depend on a changing load.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

import headrace
from headrace.engine.check import Durability
from headrace.local_server import server_process
from headrace.local_server.scratch import NO_PERSISTENCE, private_server, running_server

PUTS = 30
BULK = 1_000
ROUNDS = 9


class Case(NamedTuple):
    """A server and a durability."""

    server: str
    durability: Durability


CASES = (
    Case("AOF, everysec", 0),
    Case("AOF, everysec", "aof"),
    Case("AOF, always", 0),
    Case("AOF, always", "aof"),
    Case("no AOF, one replica", 0),
    Case("no AOF, one replica", 1),
)


def started(servers: ExitStack) -> dict[str, str]:
    """Start the servers and return their URLs by name."""
    aof = ("--appendonly", "yes", "--appendfsync")
    return {
        "AOF, everysec": servers.enter_context(private_server(*aof, "everysec")),
        "AOF, always": servers.enter_context(private_server(*aof, "always")),
        "no AOF, one replica": replicated(servers),
    }


def replicated(servers: ExitStack) -> str:
    """Start a primary and a replica on loopback, and return the URL of the primary."""
    port = 17_411
    for number, options in ((port, ()), (port + 1, ("--replicaof", f"127.0.0.1 {port}"))):
        home = Path(servers.enter_context(tempfile.TemporaryDirectory(prefix="headrace-")))
        command = [
            *(str(server_process.binary()), "--port", str(number), "--bind", "127.0.0.1"),
            *("--unixsocket", server_process.SOCKET, "--repl-diskless-sync-delay", "0"),
            *(*NO_PERSISTENCE, *options),
        ]
        socket = server_process.reachable_socket(home)
        servers.enter_context(running_server(home, command, socket))
    return f"redis://127.0.0.1:{port}"


def seconds(act: Callable[[], object]) -> float:
    """Return how long a call takes."""
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def measure(urls: dict[str, str]) -> dict[Case, tuple[float, float]]:
    """Return the median time of a put, and of a job in a bulk put, for each case."""
    single: dict[Case, list[float]] = {case: [] for case in CASES}
    bulk: dict[Case, list[float]] = {case: [] for case in CASES}
    with ExitStack() as clients:
        queues = {
            case: clients.enter_context(
                headrace.connect(urls[case.server], durability=case.durability, timeout=20)
            ).queue("mail")
            for case in CASES
        }
        for queue in queues.values():
            queue.put(0)
        for _ in range(ROUNDS):
            for case, queue in queues.items():
                single[case] += [seconds(lambda: queue.put(1)) for _ in range(PUTS)]  # noqa: B023
                bulk[case].append(seconds(lambda: queue.put_many(range(BULK))) / BULK)  # noqa: B023
    return {
        case: (statistics.median(single[case]), statistics.median(bulk[case])) for case in CASES
    }


def main() -> None:
    """Measure and print the times, and the ratios to the same server without `durability`."""
    with ExitStack() as servers:
        found = measure(started(servers))
    table = Table("server", "durability", "put, us", "ratio", "put_many, us per job", "ratio")
    for case, (put, many) in found.items():
        bare_put, bare_many = found[Case(case.server, 0)]
        table.add_row(
            case.server,
            repr(case.durability),
            f"{put * 1e6:,.0f}",
            f"{put / bare_put:.1f}",
            f"{many * 1e6:,.1f}",
            f"{many / bare_many:.1f}",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
