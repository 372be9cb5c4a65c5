"""Compare the pipeline with plain Python, in one run on this machine.

The benchmark runs a million events through sync, rollup and query. It also measures writes of
DataFrames as jobs, and executors as workers. Every ratio comes from rounds of one run, with a warm
Spark session.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

import headrace
from benchmarks.pipeline import jobs, lakes, tables
from benchmarks.pipeline.history import make_history
from benchmarks.targets import Target
from headrace.lake.files import LocalFiles
from headrace.lake.lake import Lake
from headrace.local_server.scratch import private_server
from headrace.spark import session
from headrace.spark.compare_with_server import compare
from headrace.spark.options import ServerAddress
from headrace.spark.query import create_views, open_history
from tests.support import servers

RESULTS = Path(__file__).parent.parent / "results"
FEW, MICRO_BATCH = 100_000, 50_000
SHARDS = 4
# Warm-up rounds, which do not count, because Java first has to compile hot code.
WARM = 1
NAMESPACE = "history"

Figures = dict[str, Any]


class Run:
    """A run of the benchmark: its Spark session, server, scratch directory and figures."""

    def __init__(self, spark: SparkSession, url: str, scratch: Path, console: Console) -> None:
        self.spark = spark
        self.server = ServerAddress(url=url, namespace=NAMESPACE)
        self.scratch = scratch
        self.console = console
        self.found: Figures = {}

    def make(self, namespace: str, events: int, days_ago: float = 2.5) -> ServerAddress:
        """Return a new namespace with its own history."""
        make_history(self.server.url, namespace, events, days_ago=days_ago)
        return ServerAddress(url=self.server.url, namespace=namespace)

    def note(self, name: str, **figures: float) -> None:
        """Store figures and print them."""
        self.found[name] = figures
        said = ", ".join(f"{what} {value:,.4g}" for what, value in figures.items())
        self.console.print(f"[bold]{name}[/]: {said}")


def warm_up(run: Run) -> None:
    """Run everything once with little data."""
    server = run.make("warm", 30_000)
    lakes.sync_rate(run.spark, server, run.scratch / "warm")
    lakes.roll_up(run.spark, Lake.open(LocalFiles(run.scratch / "warm")))
    jobs.put_by_spark(run.spark, run.server.url, 1000)
    jobs.work_by_spark(run.spark, run.server.url, 1000)


def events_to_parquet(run: Run, events: int, rounds: int) -> None:
    """Measure a sync against a loop with XRANGE, Arrow and Parquet, and the driver's memory."""
    few = run.make("few", FEW)
    lakes.sync_rate(run.spark, few, run.scratch / "few")
    before = lakes.driver_memory(run.spark)
    make_history(run.server.url, NAMESPACE, events)
    pairs = []
    for at in range(rounds + WARM):
        _, loop = lakes.loop_rate(run.server, run.scratch / f"loop-{at}")
        _, ours = lakes.sync_rate(run.spark, run.server, run.scratch / f"lake-{at}")
        pairs.append((ours, loop))
    after = lakes.driver_memory(run.spark)
    run.note("events to Parquet", **_medians(pairs))
    run.note(
        "driver memory, MiB",
        python_after_few=before[0],
        python_after_all=after[0],
        java_after_few=before[1],
        java_after_all=after[1],
    )


def micro_batches(run: Run, rounds: int) -> None:
    """Measure repeated syncs of one lake, with 50,000 new events each time."""
    seconds = []
    lake = run.scratch / "follow"
    for at in range(rounds + WARM):
        server = run.make("follow", MICRO_BATCH, days_ago=6.5 - 2.1 * at)
        began = time.perf_counter()
        lakes.sync_rate(run.spark, server, lake)
        seconds.append(time.perf_counter() - began)
        run.console.print(f"[dim]micro-batch {at}: {seconds[-1]:.2f} s[/]")
    run.note("micro-batch of 50,000, s", seconds=statistics.median(seconds[WARM:]))


def rollups(run: Run, rounds: int) -> None:
    """Measure the table daily, and then all tables, against loops over the same files."""
    daily_pairs, pairs = [], []
    for at in range(rounds + WARM):
        root = run.scratch / f"lake-{at}"
        lake = Lake.open(LocalFiles(root))
        snapshot = lake.snapshot()
        acts = (
            partial(lakes.write_daily, run.spark, lake, run.scratch / f"daily-{at}"),
            partial(tables.daily_by_loop, snapshot, root),
            partial(lakes.roll_up, run.spark, lake),
            partial(tables.by_loop, snapshot, root, run.scratch / f"tables-{at}"),
        )
        rates = [snapshot.rows / jobs.seconds_of(act) for act in acts]
        daily_pairs.append((rates[0], rates[1]))
        pairs.append((rates[2], rates[3]))
    run.note("rollup", **_medians(daily_pairs))
    run.note("all tables", **_medians(pairs))
    _ask(run, lake, tables.daily_by_loop(snapshot, root))


def _ask(run: Run, lake: Lake, by_hand: tables.Tables) -> None:
    """Run one query on the tables, and check that the audit finds no difference."""
    with open_history(run.spark, lake) as now:
        create_views(now)
        began = time.perf_counter()
        rows = run.spark.sql(
            "select queue, sum(wait_count) as waits from daily where by = 'all' group by queue"
        ).collect()
        seconds = time.perf_counter() - began
    waits = {row["queue"]: row["waits"] for row in rows}
    counted = {queue: by_hand.waits(queue) for queue in waits}
    if waits != counted:
        raise AssertionError(f"the tables contain {waits}, the loop counted {counted}")
    with headrace.connect(run.server.url, namespace=NAMESPACE) as client:
        found = compare(run.spark, lake, run.server, client)
        audit = client.audit()
    if not found.equal or not audit.balanced:
        raise AssertionError(f"the books do not balance: {found.differences} {audit.problems}")
    run.note("query", seconds=seconds, values_equal_to_the_server=found.values)


def frames_to_jobs(run: Run, rounds: int) -> None:
    """Measure df.write against put_many, then with four shards on four servers."""
    url = run.server.url
    pairs = [
        (jobs.put_by_spark(run.spark, url, jobs.ROWS), jobs.put_by_loop(url, jobs.ROWS))
        for _ in range(rounds + WARM)
    ]
    run.note("DataFrame to jobs", **_medians(pairs))
    with servers.cluster(SHARDS) as nodes:
        jobs.put_by_spark(run.spark, nodes, 1000, SHARDS)
        pairs = [
            (
                jobs.put_by_spark(run.spark, nodes, jobs.ROWS, SHARDS),
                jobs.put_by_spark(run.spark, url, jobs.ROWS),
            )
            for _ in range(rounds + WARM)
        ]
    run.note("four shards compared with one", **_medians(pairs))


def executors(run: Run, rounds: int) -> None:
    """Measure a vectorised function on executors against one worker process, row by row."""
    url = run.server.url
    pairs = [
        (jobs.work_by_spark(run.spark, url, jobs.ROWS), jobs.work_by_row(url, jobs.ROWS // 20))
        for _ in range(rounds + WARM)
    ]
    run.note("executors as workers", **_medians(pairs))


def _medians(pairs: list[tuple[float, float]]) -> dict[str, float]:
    """Return the medians of the rounds after the warm-up."""
    pairs = pairs[WARM:]
    return {
        "ours": statistics.median(ours for ours, _ in pairs),
        "beside": statistics.median(other for _, other in pairs),
        "ratio": statistics.median(ours / other for ours, other in pairs),
    }


def targets(found: Figures) -> list[Target]:
    """Return the targets."""

    def ratio(name: str, limit: float) -> Target:
        return Target(name, found[name]["ratio"], limit, "x", at_least=True)

    memory = found["driver memory, MiB"]
    return [
        ratio("events to Parquet", 0.5),
        Target("micro-batch of 50,000", found["micro-batch of 50,000, s"]["seconds"], 1.0, "s"),
        Target(
            "driver, Python", memory["python_after_all"] - memory["python_after_few"], 50, "MiB"
        ),
        Target("driver, Java", memory["java_after_all"] - memory["java_after_few"], 50, "MiB"),
        ratio("DataFrame to jobs", 0.5),
        ratio("four shards compared with one", 1.0),
        ratio("executors as workers", 10),
        ratio("rollup", 3),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=2)
    chosen = parser.parse_args()
    console = Console()
    spark = session("local[2]", spark_driver_memory="2g", spark_sql_shuffle_partitions="2")
    with private_server() as url, tempfile.TemporaryDirectory() as scratch:
        run = Run(spark, url, Path(scratch), console)
        steps: list[Callable[[], None]] = [
            lambda: warm_up(run),
            lambda: events_to_parquet(run, chosen.events, chosen.rounds),
            lambda: micro_batches(run, chosen.rounds),
            lambda: rollups(run, chosen.rounds),
            lambda: frames_to_jobs(run, chosen.rounds),
            lambda: executors(run, chosen.rounds),
        ]
        for step in steps:
            step()
    return report(console, run.found, chosen.events)


def report(console: Console, found: Figures, events: int) -> int:
    table = Table("", "found", "limit", "")
    for target in targets(found):
        sign = "at least" if target.at_least else "below"
        value = "-" if target.found is None else f"{target.found:.2f} {target.unit}"
        verdict = "" if target.reached else "[red]missed[/]"
        table.add_row(target.name, value, f"{sign} {target.limit:g} {target.unit}", verdict)
    console.print(table)
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"pipeline-{datetime.now(UTC):%Y-%m-%d}.json"
    path.write_text(json.dumps({"events": events, **found}, indent=2) + "\n")
    return 0 if all(target.reached for target in targets(found)) else 1


if __name__ == "__main__":
    sys.exit(main())
