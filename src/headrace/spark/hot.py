"""The hot view: the history up to this moment, from the lake and, beyond it, from the server."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from headrace.errors import EventsTrimmed
from headrace.lake import catalogue
from headrace.lake.catalogue import Built
from headrace.lake.lake import Lake
from headrace.lake.manifest import Snapshot
from headrace.lake.opening import check_whose
from headrace.spark import plan
from headrace.spark.gist import is_of
from headrace.spark.options import Server
from headrace.spark.rollup import carried_by, events_by_day, stored_table
from headrace.spark.stored import lake_events, no_events
from headrace.spark.tables import words
from headrace.spark.tables.every import Told
from headrace.spark.tables.jobs import lives

TRIES = 5

VIEWS = ("events", "attempts", "jobs", "daily", "failures", "workers", "throughput")


@dataclass(frozen=True)
class Look:
    """What was known at one moment: what the lake had, and what only the server had.

    `built` are the days whose tables are as the events are; the later ones are computed.
    """

    spark: SparkSession
    lake: Lake
    snapshot: Snapshot
    beyond: DataFrame
    built: list[Built]
    later: list[dt.date]

    @property
    def events(self) -> DataFrame:
        """Every event once."""
        return lake_events(self.spark, self.lake, self.snapshot).unionByName(self.beyond)

    def table(self, name: str) -> DataFrame:
        """A table over every event."""
        if name == "events":
            return self.events
        if name == "jobs":
            return lives(self.table("chapters"))
        whole = self.stored(name)
        told = self.told()
        if self.later:
            whole = whole.unionByName(told.table(name))
        return whole.unionByName(told.running()) if name == "attempts" else whole

    def stored(self, name: str) -> DataFrame:
        """A table of the days that are built."""
        return stored_table(self.spark, self.lake, name, self.built)

    def computing_from(self, day: dt.date) -> Look:
        """The same, with what was built of this day and later ones left aside."""
        earlier = [each for each in self.built if each.day < day]
        built = catalogue.up_to_a_seam(earlier, self.built)
        days = {*self.later, *(each.day for each in self.built[len(built) :])}
        return replace(self, built=built, later=sorted(days))

    def told(self) -> Told:
        """The events of the days that are not built, and what those before have left."""
        of_lake = lake_events(self.spark, self.lake, self.snapshot, self.later)
        carried = carried_by(self.spark, self.lake, self.built)
        return Told(of_lake.unionByName(self.beyond), carried, self.later)


@contextmanager
def look(spark: SparkSession, lake: Lake, server: Server | None = None) -> Iterator[Look]:
    """The history as it is now; without a server, as far as the lake has it.

    What the lake takes and the server trims in the meantime changes nothing in it.
    """
    snapshot, beyond, counts = _taken(spark, lake, server)
    try:
        events = events_by_day(snapshot) + counts
        built = catalogue.fresh(catalogue.newest(lake.files), events)
        yield Look(spark, lake, snapshot, beyond, built, sorted(events)[len(built) :])
    finally:
        beyond.unpersist()


def _taken(
    spark: SparkSession, lake: Lake, server: Server | None
) -> tuple[Snapshot, DataFrame, Counter[dt.date]]:
    """A snapshot, the events beyond it, and how many of these there are of each day."""
    if server is None:
        return lake.snapshot(), no_events(spark), Counter()
    server = server.settled()
    with server.open() as client:
        check_whose(lake, client)
    for left in reversed(range(TRIES)):
        # The snapshot comes first: what it does not have cannot have been trimmed, unless a later
        # one has it.
        snapshot = lake.snapshot()
        beyond = _beyond(spark, server, snapshot).persist(StorageLevel.MEMORY_AND_DISK)
        try:
            # Asked for at once, and kept: the server trims what the lake has taken.
            rows = beyond.groupBy("day").count().collect()
        except PySparkException as error:
            beyond.unpersist()
            if not left or not is_of(error, EventsTrimmed):
                raise
            continue
        return snapshot, beyond, Counter({row["day"]: row["count"] for row in rows})
    raise AssertionError("the last try returns or raises")


def _beyond(spark: SparkSession, server: Server, snapshot: Snapshot) -> DataFrame:
    reader = spark.read.format("headrace").options(
        url=server.url,
        namespace=server.namespace,
        startingOffsets=plan.offsets_text(snapshot.offsets),
    )
    return reader.load().withColumn("day", words.day_of())


def make_views(look: Look, question: str | None = None) -> None:
    """Temporary views of the events and of each table, by their names.

    For a question only those whose names stand in it: making the plan of each costs time.
    """
    for name in VIEWS:
        if question is None or name in question.lower():
            look.table(name).createOrReplaceTempView(name)
