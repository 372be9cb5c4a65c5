"""The rollup: tables of each day of a lake, built when its events have changed.

A build is written to a folder of its own and counts when the catalogue names it: whoever dies
leaves files that do not count, and a reader sees a day as it was before, or as it is after.
"""

from __future__ import annotations

import datetime as dt
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import StructType

from headrace.lake import catalogue
from headrace.lake.catalogue import NOTHING, TABLES, Built, Catalogue
from headrace.lake.lake import Lake
from headrace.lake.lock import held
from headrace.lake.manifest import Snapshot
from headrace.spark.stored import lake_events, no_events
from headrace.spark.tables import words
from headrace.spark.tables.carry import KEPT
from headrace.spark.tables.every import STORED, Told
from headrace.spark.tables.histories import count_tagged
from headrace.spark.tables.workers import workers

# The columns of each table, which are the same in every session.
_SCHEMAS: dict[str, StructType] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Days that were built together."""

    days: tuple[dt.date, ...]
    events: int
    seconds: float


def rollup(spark: SparkSession, lake: Lake, *, grace: float = catalogue.GRACE) -> Iterator[Run]:
    """Builds the days that have changed since they were built, and says which.

    What it has said counts; who asks no more loses nothing.
    """
    with held(lake.files, "rollup") as lock:
        snapshot = lake.snapshot()
        events = events_by_day(snapshot)
        counts = catalogue.newest(lake.files)
        while days := catalogue.next_run(counts, events):
            began = time.monotonic()
            built = _build(spark, lake, snapshot, counts, days)
            while (whole := catalogue.whole_run(counts, built)) != days:
                days, built = whole, _build(spark, lake, snapshot, counts, whole)
            counts = catalogue.commit(lake.files, counts, built)
            lock.renew()
            yield Run(
                days=tuple(days),
                events=sum(events[day] for day in days),
                seconds=time.monotonic() - began,
            )
        catalogue.sweep(lake.files, grace)


def events_by_day(snapshot: Snapshot) -> Counter[dt.date]:
    """How many events of each day are in a lake."""
    counts: Counter[dt.date] = Counter()
    for file in snapshot.files:
        counts[file.day] += file.rows
    return counts


def _build(
    spark: SparkSession, lake: Lake, snapshot: Snapshot, counts: Catalogue, days: list[dt.date]
) -> list[Built]:
    before = [built for built in counts.days if built.day < days[0]][-1:]
    events = lake_events(spark, lake, snapshot, days)
    carried = carried_by(spark, lake, before)
    build = catalogue.new_build()
    told = Told(events, carried, days)
    told = replace(told, tagged=count_tagged(told.known()))
    there = {
        name: _write(lake, name, build, _table(spark, lake, build, told, name)) for name in STORED
    }
    digests = _digests(spark, lake, build, there["carry"])
    events_of, numbers_of = events_by_day(snapshot), _numbers(lake, build)
    # What each day leaves is what the next one begins with.
    left = [before[0].after if before else NOTHING, *(digests.get(day, NOTHING) for day in days)]
    return [
        Built(
            day=day,
            events=events_of[day],
            before=left[at],
            after=left[at + 1],
            build=build,
            tables=tuple(name for name in STORED if day in there[name]),
            numbers=numbers_of[day],
        )
        for at, day in enumerate(days)
    ]


def _table(spark: SparkSession, lake: Lake, build: str, told: Told, name: str) -> DataFrame:
    if name != "workers":
        return told.table(name)
    # The attempts are written by now: to make them again costs more than to read them.
    return workers(_written(spark, lake, "attempts", build))


def _written(spark: SparkSession, lake: Lake, name: str, build: str) -> DataFrame:
    reader = spark.read.schema(_schema_of(spark, name)).option("__globPaths__", "false")
    return reader.parquet(f"{lake.files.root}/{catalogue.folder_of(name, build)}")


def _write(lake: Lake, name: str, build: str, table: DataFrame) -> set[dt.date]:
    """Writes a table by day; returns the days of which there is anything."""
    folder = catalogue.folder_of(name, build)
    writer = table.hint("rebalance", "day").write.partitionBy("day").option("compression", "zstd")
    writer.parquet(f"{lake.files.root}/{folder}")
    files = [found.path for found in lake.files.list(folder)]
    lake.files.flush(files)
    return {day for path in files if (day := _day_of(path))}


def _day_of(path: str) -> dt.date | None:
    _, _, day = path.partition("/day=")
    return dt.date.fromisoformat(day.partition("/")[0]) if day else None


def _numbers(lake: Lake, build: str) -> dict[dt.date, dict[int, tuple[int, int]]]:
    """The first and the last event of each day and shard. A few rows, so Spark is not asked."""
    found: dict[dt.date, dict[int, tuple[int, int]]] = defaultdict(dict)
    for file in lake.files.list(catalogue.folder_of("spans", build)):
        day = _day_of(file.path)
        # Beside the files there may be sums to check them with.
        if day is not None and file.path.endswith(".parquet"):
            spans = pq.read_table(pa.BufferReader(lake.files.read(file.path)))
            for row in spans.to_pylist():
                found[day][row["shard"]] = (row["first"], row["last"])
    return found


def _digests(spark: SparkSession, lake: Lake, build: str, days: set[dt.date]) -> dict[dt.date, str]:
    """What each day leaves for later ones, in short: events are known by shard and number."""
    if not days:
        return {}
    found = (
        _written(spark, lake, "carry", build)
        .groupBy("day")
        .agg(F.count("*").alias("n"), F.bit_xor(F.xxhash64("shard", "number")).alias("digest"))
    )
    return {row["day"]: f"{row['n']}-{row['digest'] & (2**64 - 1):016x}" for row in found.collect()}


# reading


def stored_table(spark: SparkSession, lake: Lake, name: str, built: Sequence[Built]) -> DataFrame:
    """A table of some days, as they were built."""
    schema = _schema_of(spark, name)
    folders = [
        f"{lake.files.root}/{catalogue.folder_of(name, each.build)}/day={each.day}"
        for each in built
        if name in each.tables
    ]
    if not folders:
        return spark.createDataFrame([], schema)
    reader = spark.read.schema(schema).options(
        basePath=f"{lake.files.root}/{TABLES}/{name}", __globPaths__="false"
    )
    return reader.parquet(*folders).select(*schema.names)


def carried_by(spark: SparkSession, lake: Lake, built: Sequence[Built]) -> DataFrame | None:
    """The events that the last of some days leaves for later ones, each with its own day."""
    if not any("carry" in last.tables for last in built[-1:]):
        return None
    left = stored_table(spark, lake, "carry", built[-1:])
    return left.withColumn("day", words.day_of()).select(*KEPT, "day")


def _schema_of(spark: SparkSession, name: str) -> StructType:
    if name not in _SCHEMAS:
        some_day = [dt.date(1970, 1, 1)]
        _SCHEMAS[name] = Told(no_events(spark), None, some_day).table(name).schema
    return _SCHEMAS[name]
