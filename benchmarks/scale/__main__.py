"""Drain the same jobs over 1, 2 and 4 shards, and model a Cluster of 3, 12 and 48 nodes.

The benchmark starts as many server processes as the machine has cores. Servers and workers share
these cores.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import redis
from rich.console import Console

import headrace
from benchmarks.comparison.competitors import HEADRACE, Load
from benchmarks.comparison.servers import HOST
from benchmarks.comparison.trial import Trial
from benchmarks.comparison.workloads.drain import rate, watch
from benchmarks.scale import report
from benchmarks.scale.model import Costs, forecast
from headrace.local_server.scratch import scratch_directory
from tests.support.servers import cluster

SHARDS = (1, 2, 4)
NODES = (3, 12, 48)
CORES = os.cpu_count() or 1
ROUNDS = 3
JOBS = 40_000
SECONDS = 20.0


@dataclass
class Nodes:
    """The nodes of a Cluster, presented as one server of a trial."""

    url: str
    ports: list[int]

    def clear(self) -> None:
        for node in self._each():
            node.execute_command("FLUSHALL", "SYNC")

    def cpu(self) -> float:
        used = [node.info("cpu") for node in self._each()]
        return float(sum(one["used_cpu_user"] + one["used_cpu_sys"] for one in used))

    def memory(self) -> int:
        return sum(int(node.info("memory")["used_memory"]) for node in self._each())

    def _each(self) -> Iterator[redis.Redis]:
        for port in self.ports:
            with redis.Redis(host=HOST, port=port, socket_timeout=60) as node:
                yield node


@contextmanager
def nodes(count: int) -> Iterator[Nodes]:
    with cluster(count) as url:
        with redis.Redis.from_url(url) as first:
            known = first.execute_command("CLUSTER", "SLOTS")
        yield Nodes(url, sorted({int(slots[2][1]) for slots in known}))


def drained(server: Nodes, shards: int, home: Path) -> dict[str, float]:
    """Return the rate and the costs of a drain with this many shards."""
    server.clear()
    headrace.connect(server.url, namespace="bench", shards=shards).close()
    home.mkdir()
    turn = Trial(HEADRACE, server, home, JOBS, Load(CORES))
    before = server.cpu()
    jobs = turn.fill("noop", JOBS, SECONDS)
    put_us = (server.cpu() - before) / jobs * 1e6
    with turn.worker() as worker:
        costs = watch(turn, worker, jobs, SECONDS)
    return {"rate": rate(turn.times(), CORES), "put_server_us": put_us, **costs}


def measure(console: Console, rounds: int) -> report.Measurements:
    """Measure every number of shards in turn, round after round."""
    found: report.Measurements = {str(shards): {} for shards in SHARDS}
    with ExitStack() as stack, scratch_directory() as home:
        servers = {shards: stack.enter_context(nodes(min(shards, CORES))) for shards in SHARDS}
        for number in range(1, rounds + 1):
            for shards, server in servers.items():
                label = (
                    f"round {number} of {rounds}: {shards} shards on {len(server.ports)} servers"
                )
                with console.status(label):
                    figures = drained(server, shards, home / f"{number}-{shards}")
                console.print(f"{label}  {figures['rate']:,.0f} jobs/s", highlight=False)
                for name, figure in figures.items():
                    found[str(shards)].setdefault(name, []).append(figure)
    return found


def costs_of(found: report.Measurements) -> Costs:
    """Return the cost of a job with many shards."""
    most = {name: median(figures) for name, figures in found[str(max(SHARDS))].items()}
    return Costs(most["put_server_us"], most["server_us"], most["cpu_us"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    console = Console()
    found = measure(console, rounds)
    told = [forecast(costs_of(found), count) for count in NODES]
    kept = report.made(datetime.now(UTC), CORES, JOBS, found, told)
    console.print(kept.measured().for_terminal())
    console.print(kept.modelled().for_terminal())
    console.print(f"written to benchmarks/results/{kept.write().name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
