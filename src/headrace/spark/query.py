"""The history up to now as tables: events of the lake, and newer ones from the server."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from pyspark import StorageLevel
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from headrace.errors import EventsTrimmed, InvalidArgument
from headrace.lake import catalogue
from headrace.lake.catalogue import DayBuild
from headrace.lake.lake import Lake, check_owner
from headrace.lake.manifest import LakeSnapshot
from headrace.spark import offsets
from headrace.spark.error_summary import error_summary, is_caused_by
from headrace.spark.lake_events import lake_events, no_events
from headrace.spark.options import ServerAddress
from headrace.spark.rollup import carried_by, events_by_day, stored_table
from headrace.spark.tables import expressions
from headrace.spark.tables.day_tables import DayTables
from headrace.spark.tables.jobs import merge_job_days

TRIES = 5

VIEWS = ("events", "attempts", "jobs", "daily", "failures", "workers", "throughput")


class QueryRefused(InvalidArgument):
    """The text is not an SQL query, or not one that the tables can answer."""


@dataclass(frozen=True)
class HistoryView:
    """The history at one moment: a snapshot of the lake, and newer events from the server.

    The tables of the days in `built` are stored in the lake. Those of the days in `later` are
    computed when they are used.
    """

    spark: SparkSession
    lake: Lake
    snapshot: LakeSnapshot
    beyond: DataFrame
    built: list[DayBuild]
    later: list[dt.date]

    @property
    def events(self) -> DataFrame:
        """Every event once."""
        return lake_events(self.spark, self.lake, self.snapshot).unionByName(self.beyond)

    def table(self, name: str) -> DataFrame:
        """Return a table over every event; the names are in VIEWS."""
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
        """Return the stored part of a table."""
        return stored_table(self.spark, self.lake, name, self.built)

    def computing_from(self, day: dt.date) -> HistoryView:
        """Return the same view without the stored tables of this day and later ones."""
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
    """Open the present history; without a server, only the part in the lake.

    The view does not change while it is open, whatever the lake takes and the server trims.

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
    """Return a snapshot, the newer events, and the number of these by day."""
    if server is None:
        return lake.snapshot(), no_events(spark), Counter()
    server = server.settled()
    with server.open() as client:
        check_owner(lake, client)
    for left in reversed(range(TRIES)):
        # The snapshot comes first: the server trims only events that a snapshot has. If a sync
        # commits and the server trims in between, the read fails and is repeated.
        snapshot = lake.snapshot()
        beyond = _beyond(spark, server, snapshot).persist(StorageLevel.MEMORY_AND_DISK)
        try:
            # Read now and cached, because the server may trim these events later.
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
    """Create a temporary view for the events and for each table, with their names.

    Given a query, create only the views whose names occur in it: planning each view takes time.
    """
    for name in VIEWS:
        if query is None or name in query.lower():
            history.table(name).createOrReplaceTempView(name)


def run_query(spark: SparkSession, query: str) -> DataFrame:
    """Return the result of an SQL query. Raises QueryRefused for any other statement.

    run_query(spark, "select queue, put from daily where by = 'all'").show()
    """
    text = query.strip().rstrip(";")
    parser = spark._jsparkSession.sessionState().sqlParser()  # noqa: SLF001 - there is no public one
    try:
        parser.parsePlan(text)
    except PySparkException as error:
        raise QueryRefused(error_summary(error)) from None
    try:
        # Only a query can take the place of a table.
        return spark.sql(f"select * from (\n{text}\n)")  # noqa: S608 - the user's own query
    except ParseException:
        raise QueryRefused(
            "only queries are allowed here: select ..., with ..., values ..., or from ..."
        ) from None
    except AnalysisException as error:
        raise QueryRefused(error_summary(error)) from None
