"""The history up to now as tables: events of the lake, and newer events from the server."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from pyspark import StorageLevel
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from headrace.errors import EventsTrimmed
from headrace.lake import catalogue
from headrace.lake.catalogue import DayBuild
from headrace.lake.lake import Lake, check_owner
from headrace.lake.manifest import LakeSnapshot
from headrace.spark import offsets
from headrace.spark.error_summary import error_summary, is_caused_by
from headrace.spark.lake_events import lake_events, no_events
from headrace.spark.options import ServerAddress
from headrace.spark.query_check import QueryRefused, check_query, subquery
from headrace.spark.rollup import carried_by, events_by_day, stored_table
from headrace.spark.tables import expressions
from headrace.spark.tables.day_tables import DayTables
from headrace.spark.tables.jobs import merge_job_days

__all__ = ["VIEWS", "HistoryView", "QueryRefused", "create_views", "open_history", "run_query"]

TRIES = 5

VIEWS = ("events", "attempts", "jobs", "daily", "failures", "workers", "throughput")


@dataclass(frozen=True)
class HistoryView:
    """The history at a point in time: a snapshot of the lake, and newer events from the server.

    For the days in `built`, the lake stores the tables. For the days in `later`, a query computes
    the tables that it uses.
    """

    spark: SparkSession
    lake: Lake
    snapshot: LakeSnapshot
    beyond: DataFrame
    built: list[DayBuild]
    later: list[dt.date]

    @property
    def events(self) -> DataFrame:
        """All events of the history, without duplicates."""
        return lake_events(self.spark, self.lake, self.snapshot).unionByName(self.beyond)

    def table(self, name: str) -> DataFrame:
        """Return a table over all events. The name must be in VIEWS."""
        if name == "events":
            return self.events
        if name == "jobs":
            return merge_job_days(self.table("job_days"))
        whole = self.stored(name)
        tables = self.later_tables()
        if self.later:
            whole = whole.unionByName(tables.table(name))
        return whole.unionByName(tables.running()) if name == "attempts" else whole

    def stored(self, name: str) -> DataFrame:
        """Return the rows of a table that the lake stores."""
        return stored_table(self.spark, self.lake, name, self.built)

    def computing_from(self, day: dt.date) -> HistoryView:
        """Return a view that computes the tables from this day on, even if they are stored."""
        built = [each for each in self.built if each.day < day]
        days = {*self.later, *(each.day for each in self.built[len(built) :])}
        return replace(self, built=built, later=sorted(days))

    def later_tables(self) -> DayTables:
        """Return the tables of the days that are not stored."""
        of_lake = lake_events(self.spark, self.lake, self.snapshot, self.later)
        carried = carried_by(self.spark, self.lake, self.built)
        return DayTables(of_lake.unionByName(self.beyond), carried, self.later)


@contextmanager
def open_history(
    spark: SparkSession, lake: Lake, server: ServerAddress | None = None
) -> Iterator[HistoryView]:
    """Open the history up to now. Without a server, the history has only the events of the lake.

    The view does not change while it is open, even if a sync commits or the server trims events.

        with open_history(spark, lake, server) as history:
            history.table("daily").where("by = 'all'").show()
    """
    snapshot, beyond, counts = _read_now(spark, lake, server)
    try:
        events = events_by_day(snapshot) + counts
        built = catalogue.fresh(catalogue.newest(lake.files), events)
        yield HistoryView(spark, lake, snapshot, beyond, built, sorted(events)[len(built) :])
    finally:
        beyond.unpersist()


def _read_now(
    spark: SparkSession, lake: Lake, server: ServerAddress | None
) -> tuple[LakeSnapshot, DataFrame, Counter[dt.date]]:
    """Return a snapshot, the newer events, and the number of newer events by day."""
    if server is None:
        return lake.snapshot(), no_events(spark), Counter()
    server = server.settled()
    with server.open() as client:
        check_owner(lake, client)
    for left in reversed(range(TRIES)):
        # Read the snapshot first, because the server trims only events that are in a snapshot. If a
        # sync commits a newer snapshot now, the server may trim events before they are read here.
        # Then the read fails and is repeated.
        snapshot = lake.snapshot()
        beyond = _beyond(spark, server, snapshot).persist(StorageLevel.MEMORY_AND_DISK)
        try:
            # The query reads and caches the events now, because the server may trim them later.
            rows = beyond.groupBy("day").count().collect()
        except PySparkException as error:
            beyond.unpersist()
            if not left or not is_caused_by(error, EventsTrimmed):
                raise
            continue
        return snapshot, beyond, Counter({row["day"]: row["count"] for row in rows})
    raise AssertionError("the last try returns or raises")


def _beyond(spark: SparkSession, server: ServerAddress, snapshot: LakeSnapshot) -> DataFrame:
    reader = spark.read.format("headrace").options(
        url=server.url,
        namespace=server.namespace,
        startingOffsets=offsets.offsets_text(snapshot.offsets),
    )
    return reader.load().withColumn("day", expressions.day_of())


def create_views(history: HistoryView, query: str | None = None) -> None:
    """Create a temporary view for each table in VIEWS.

    Given a query, create only the views whose names occur in the query, because planning each view
    takes time.
    """
    for name in VIEWS:
        if query is None or name in query.lower():
            history.table(name).createOrReplaceTempView(name)


def run_query(spark: SparkSession, query: str, *, unrestricted: bool = False) -> DataFrame:
    """Return the result of an SQL query. Raises QueryRefused if the statement is not a query.

    The query can read the tables in VIEWS and call functions of Spark that read no files and run no
    code. With `unrestricted`, the query can read any file and run programs.

    run_query(spark, "select queue, put from daily where by = 'all'").show()
    """
    whole = subquery(spark, query)
    if not unrestricted:
        check_query(spark, whole, VIEWS)
    try:
        return spark.sql(whole)
    except AnalysisException as error:
        raise QueryRefused(error_summary(error)) from None
