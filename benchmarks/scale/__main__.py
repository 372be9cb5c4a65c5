"""The same drain over 1, 2 and 4 shards, on as many server processes as there are cores for, and
what that says of 3, 12 and 48 nodes. Servers and workers share the cores of this machine.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import redis
from rich.console import Console
from rich.table import Table

import headrace
from benchmarks.field.contestants import OURS, Load
from benchmarks.field.servers import HOST
from benchmarks.field.turn import Turn
from benchmarks.field.workloads.drain import rate, watch
from benchmarks.scale.model import Costs, Forecast, forecast
from headrace.client.scratch import scratch_directory
from tests.servers import cluster

RESULTS = Path(__file__).parent.parent / "results"
SHARDS = (1, 2, 4)
NODES = (3, 12, 48)
CORES = os.cpu_count() or 1
ROUNDS = 3
JOBS = 40_000
SECONDS = 20.0


@dataclass
class Nodes:
    """The nodes of a Cluster, as the one server of a turn."""

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
    """What a drain of a namespace of so many shards did, and cost on every side."""
    server.clear()
    headrace.connect(server.url, namespace="bench", shards=shards).close()
    home.mkdir()
    turn = Turn(OURS, server, home, JOBS, Load(CORES))
    before = server.cpu()
    jobs = turn.fill("noop", JOBS, SECONDS)
    put_us = (server.cpu() - before) / jobs * 1e6
    with turn.worker() as worker:
        costs = watch(turn, worker, jobs, SECONDS)
    return {"rate": rate(turn.times(), CORES), "put_server_us": put_us, **costs}


def measure(console: Console, rounds: int) -> dict[int, dict[str, list[float]]]:
    """Every number of shards in turn, again and again."""
    found: dict[int, dict[str, list[float]]] = {shards: {} for shards in SHARDS}
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
                    found[shards].setdefault(name, []).append(figure)
    return found


def costs_of(found: dict[int, dict[str, list[float]]]) -> Costs:
    """What a job costs where shards are many."""
    most = {name: median(figures) for name, figures in found[max(SHARDS)].items()}
    return Costs(most["put_server_us"], most["server_us"], most["cpu_us"])


def show(console: Console, found: dict[int, dict[str, list[float]]], told: list[Forecast]) -> None:
    measured = Table("shards", "servers", "drain, jobs/s", "server us/job", "worker us/job")
    for shards, figures in found.items():
        cells = (median(figures[name]) for name in ("rate", "server_us", "cpu_us"))
        measured.add_row(str(shards), str(min(shards, CORES)), *(f"{cell:,.0f}" for cell in cells))
    console.print(measured)
    modelled = Table("nodes (model)", "shards", "on the fullest", "jobs/s", "cores of workers")
    for one in told:
        modelled.add_row(
            *(str(one.nodes), str(one.shards), str(one.fullest)),
            *(f"{one.jobs_a_second:,.0f}", f"{one.worker_cores:.0f}"),
        )
    console.print(modelled)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    console = Console()
    found = measure(console, rounds)
    told = [forecast(costs_of(found), count) for count in NODES]
    show(console, found, told)
    now = datetime.now(UTC)
    kept = {
        "at": now.isoformat(timespec="seconds"),
        "cpus": CORES,
        "jobs": JOBS,
        "shards": found,
        "model": [asdict(one) for one in told],
    }
    path = RESULTS / f"scale-{now:%Y-%m-%d}.json"
    path.write_text(json.dumps(kept, indent=2) + "\n")
    console.print(f"written to benchmarks/results/{path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
