"""The rollup: rebuild the tables of each day whose events in the lake have changed.

A build is written to a new folder and becomes valid when the catalogue lists the build. A crash
leaves only unreferenced files. A reader sees either the old or the new build of a day.
"""

from __future__ import annotations

import datetime as dt
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name
from pyspark.sql.types import StructType

from headrace.lake import catalogue
from headrace.lake.catalogue import NOTHING, TABLES, Catalogue, DayBuild
from headrace.lake.files import GRACE
from headrace.lake.lake import Lake
from headrace.lake.lock import held
from headrace.lake.manifest import LakeSnapshot
from headrace.spark.lake_events import lake_events, no_events
from headrace.spark.tables import expressions
from headrace.spark.tables.day_tables import CARRIED_COLUMNS, STORED_TABLES, DayTables
from headrace.spark.tables.summaries import workers

# A cache of the schema of each table. The schemas are the same in every session.
_SCHEMAS: dict[str, StructType] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class RollupRun:
    """The result of building the tables of some days together."""

    days: tuple[dt.date, ...]
    events: int
    seconds: float


def rollup(spark: SparkSession, lake: Lake, *, grace: float = GRACE) -> Iterator[RollupRun]:
    """Build the days that have changed since their last build, and yield after each commit.

    A caller may stop after any commit without losing built days. Replaced builds are kept for
    `grace` seconds. Raises LakeBusy if another rollup is running.

        for run in rollup(spark, lake):
            print(run.days, run.events)
    """
    with held(lake.files, "rollup") as lock:
        snapshot = lake.snapshot()
        events = events_by_day(snapshot)
        current = catalogue.newest(lake.files)
        while days := catalogue.next_run(current, events):
            began = time.monotonic()
            built = _build(spark, lake, snapshot, current, days)
            while first := _first_overlap(spark, lake, current, built):
                overlapping = [day for day in sorted(events) if day >= min(first, days[0])]
                if overlapping == days:
                    break
                days, built = overlapping, _build(spark, lake, snapshot, current, overlapping)
            current = catalogue.commit(lake.files, current, built)
            lock.renew()
            yield RollupRun(
                days=tuple(days),
                events=sum(events[day] for day in days),
                seconds=time.monotonic() - began,
            )
        catalogue.sweep(lake.files, grace)


def _first_overlap(
    spark: SparkSession, lake: Lake, current: Catalogue, built: Sequence[DayBuild]
) -> dt.date | None:
    """Return the first day that has an event with a higher number than an event of a later day.

    There is such a day if the clock of the server was set back past midnight. All days from the
    returned day on must be built together. The comparison covers only the built days, the last day
    before the built days and the first day after the built days.
    """
    earlier = [each for each in current.days if each.day < built[0].day][-1:]
    later = [each for each in current.days if each.day > built[-1].day][:1]
    coverage = stored_table(spark, lake, "log_coverage", [*earlier, *built, *later])
    rows = sorted(coverage.collect(), key=lambda row: (row["shard"], row["day"]))
    overlapping: list[dt.date] = [
        row["day"]
        for row, later_row in pairwise(rows)
        if row["shard"] == later_row["shard"] and row["last"] > later_row["first"]
    ]
    return min(overlapping, default=None)


def events_by_day(snapshot: LakeSnapshot) -> Counter[dt.date]:
    """Return the number of events of each day in a snapshot."""
    counts: Counter[dt.date] = Counter()
    for file in snapshot.files:
        counts[file.day] += file.rows
    return counts


def _build(
    spark: SparkSession,
    lake: Lake,
    snapshot: LakeSnapshot,
    current: Catalogue,
    days: list[dt.date],
) -> list[DayBuild]:
    before = [built for built in current.days if built.day < days[0]][-1:]
    events = lake_events(spark, lake, snapshot, days)
    carried = carried_by(spark, lake, before)
    build = catalogue.new_build()
    tables = DayTables(events, carried, days)
    tables = replace(tables, tagged=expressions.count_tagged(tables.all_events()))
    written = {
        name: _write(lake, name, build, _table(spark, lake, build, tables, name))
        for name in STORED_TABLES
    }
    digests = _digests(spark, lake, build, written["carried_events"])
    events_of = events_by_day(snapshot)
    # The tables of a day also need some events of earlier days, such as the start of an attempt
    # that has not ended. These events are carried over from each day to the next day.
    carries = [before[0].after if before else NOTHING, *(digests.get(day, NOTHING) for day in days)]
    return [
        DayBuild(
            day=day,
            events=events_of[day],
            before=carries[at],
            after=carries[at + 1],
            build=build,
            tables=tuple(name for name in STORED_TABLES if day in written[name]),
        )
        for at, day in enumerate(days)
    ]


def _table(spark: SparkSession, lake: Lake, build: str, tables: DayTables, name: str) -> DataFrame:
    if name != "workers":
        return tables.table(name)
    # Reading the attempts that were just written is cheaper than computing the attempts again.
    return workers(_written(spark, lake, "attempts", build))


def _written(spark: SparkSession, lake: Lake, name: str, build: str) -> DataFrame:
    reader = spark.read.schema(_schema_of(spark, name)).option("__globPaths__", "false")
    return reader.parquet(f"{lake.files.root}/{catalogue.folder_of(name, build)}")


def _write(lake: Lake, name: str, build: str, table: DataFrame) -> set[dt.date]:
    """Write a table by day, and return the days that have rows."""
    folder = catalogue.folder_of(name, build)
    writer = table.hint("rebalance", "day").write.partitionBy("day").option("compression", "zstd")
    writer.parquet(f"{lake.files.root}/{folder}")
    files = [found.path for found in lake.files.list(folder)]
    lake.files.flush(files)
    days = {path.partition("/day=")[2].partition("/")[0] for path in files}
    return {dt.date.fromisoformat(day) for day in days if day}


def _digests(spark: SparkSession, lake: Lake, build: str, days: set[dt.date]) -> dict[dt.date, str]:
    """Return, for each day, a digest of the events that are carried over to the next day."""
    if not days:
        return {}
    found = (
        _written(spark, lake, "carried_events", build)
        .groupBy("day")
        .agg(F.count("*").alias("n"), F.bit_xor(F.xxhash64("shard", "number")).alias("digest"))
    )
    return {row["day"]: f"{row['n']}-{row['digest'] & (2**64 - 1):016x}" for row in found.collect()}


# Reading


def stored_table(
    spark: SparkSession, lake: Lake, name: str, built: Sequence[DayBuild]
) -> DataFrame:
    """Return the stored rows of a table for some days."""
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


def carried_by(spark: SparkSession, lake: Lake, built: Sequence[DayBuild]) -> DataFrame | None:
    """Return the events carried over from the last of these days, with the day of each event."""
    if not any("carried_events" in last.tables for last in built[-1:]):
        return None
    carried = stored_table(spark, lake, "carried_events", built[-1:])
    return carried.withColumn("day", expressions.day_of()).select(*CARRIED_COLUMNS, "day")


def _schema_of(spark: SparkSession, name: str) -> StructType:
    if name not in _SCHEMAS:
        some_day = [dt.date(1970, 1, 1)]
        _SCHEMAS[name] = DayTables(no_events(spark), None, some_day).table(name).schema
    return _SCHEMAS[name]
