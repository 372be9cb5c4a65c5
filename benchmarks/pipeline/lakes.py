"""Events into a lake, compared with a plain loop that writes them to Parquet."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from benchmarks.pipeline.loops import log_to_parquet
from headrace.lake.files import LocalFiles
from headrace.lake.lake import Lake
from headrace.spark.lake_events import lake_events
from headrace.spark.options import ServerAddress
from headrace.spark.pipeline import sync
from headrace.spark.rollup import rollup
from headrace.spark.tables.daily import daily
from headrace.spark.tables.expressions import count_tagged


def sync_rate(spark: SparkSession, server: ServerAddress, lake: Path) -> tuple[int, float]:
    """Sync the events into a lake; return their number and the events per second."""
    began = time.perf_counter()
    events = sum(batch.events for batch in sync(spark, server, LocalFiles(lake)))
    return events, events / (time.perf_counter() - began)


def loop_rate(server: ServerAddress, folder: Path) -> tuple[int, float]:
    """Export the events with a plain loop in one process; return number and rate."""
    folder.mkdir()
    began = time.perf_counter()
    events = log_to_parquet(server.url, f"hr:{{{server.namespace}:0}}:events", folder)
    return events, events / (time.perf_counter() - began)


def write_daily(spark: SparkSession, lake: Lake, folder: Path) -> None:
    """Build the table daily of a whole lake, as Parquet."""
    events = lake_events(spark, lake, lake.snapshot())
    daily(events, tagged=count_tagged(events)).write.parquet(str(folder))


def roll_up(spark: SparkSession, lake: Lake) -> None:
    """Build all tables of all days."""
    for _ in rollup(spark, lake):
        pass


def driver_memory(spark: SparkSession) -> tuple[float, float]:
    """Return the driver's memory in MiB: resident in Python, used in Java after a collection."""
    status = Path("/proc/self/status").read_text()
    [resident] = [line.split()[1] for line in status.splitlines() if line.startswith("VmRSS")]
    java: Any = spark.sparkContext._jvm  # noqa: SLF001 - Spark has no public call for this
    java.System.gc()
    runtime = java.Runtime.getRuntime()
    used = runtime.totalMemory() - runtime.freeMemory()
    return int(resident) / 1024, used / 2**20
