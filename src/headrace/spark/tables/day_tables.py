"""Compute the tables of some days from the events of these days and from earlier events.

An event is carried over to later days if the tables of later days need the event.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from headrace.lake.event_columns import EVENTS
from headrace.spark.tables import expressions
from headrace.spark.tables.attempts import RUNNING, attempts
from headrace.spark.tables.daily import daily
from headrace.spark.tables.expressions import by_job, has_tags
from headrace.spark.tables.jobs import job_days
from headrace.spark.tables.summaries import failures, log_coverage, throughput, workers

_OF_FEEDS = ("change", "place", "instance")
_OF_OPERATORS = ("actor", "settings")
_NOT_CARRIED = (
    *_OF_FEEDS,
    *_OF_OPERATORS,
    "version",
    "data",
    "left_out",
    "schedule",
    "origin",
    "missing",
    "more",
)
CARRIED_COLUMNS = tuple(name for name in EVENTS.names if name not in _NOT_CARRIED)
"""The columns of an event that the tables of later days need."""


@dataclass(frozen=True, slots=True)
class DayTables:
    """The tables of some days, computed from these days' events and earlier, carried-over events.

    `tagged` is the result of `count_tagged` over all these events, or None if unknown.
    """

    events: DataFrame
    carried: DataFrame | None
    days: Sequence[dt.date]
    tagged: int | None = None

    def table(self, name: str) -> DataFrame:
        """Return one table. Spark plans only this table, because planning takes time."""
        return _MAKERS[name](self)

    def running(self) -> DataFrame:
        """Return the attempts that have not ended yet."""
        return self._attempts().where(F.col("outcome") == RUNNING)

    def all_events(self) -> DataFrame:
        """Return the events of these days and the events carried over from earlier days."""
        if self.carried is None:
            return self.events
        return self.events.unionByName(self.carried, allowMissingColumns=True)

    def ended(self) -> DataFrame:
        """Return the attempts that have ended."""
        return self.of_days(self._attempts().where(F.col("outcome") != RUNNING))

    def _attempts(self) -> DataFrame:
        return attempts(self.all_events(), tagged=self.tagged)

    def of_days(self, table: DataFrame) -> DataFrame:
        """Return the rows of a table that belong to these days."""
        return table.where(F.col("day").isin(*self.days))


def carried_events(
    events: DataFrame, days: Sequence[dt.date], *, tagged: int | None = None
) -> DataFrame:
    """Return the events to carry over from each of these days.

    The column `day` is the day from which the event is carried over. The tables of later days can
    be computed from these events instead of all earlier events. `tagged` is the result of
    `count_tagged`, or None if unknown.
    """
    kept = _open_events(events, expressions.is_kind("popped"), expressions.ends_attempt())
    if tagged != 0:
        other_tags = expressions.is_kind("put", "tagged") | expressions.finishes_job()
        kept = kept.unionByName(_open_events(events, has_tags(), other_tags))
    each_day = F.filter(
        F.array(*(F.lit(day) for day in days)),
        lambda day: (day >= F.col("day")) & (F.col("until").isNull() | (day < F.col("until"))),
    )
    return kept.select(
        *expressions.columns(*CARRIED_COLUMNS), F.explode(each_day).alias("day")
    ).distinct()


def _open_events(events: DataFrame, opens: Column, closes: Column) -> DataFrame:
    """Return the events that match `opens`.

    The column `until` is the day of the job's next event that matches `opens` or `closes`.
    """
    of_both = events.where(opens | closes)
    return of_both.withColumn("until", F.lead("day").over(by_job())).where(opens)


_MAKERS: dict[str, Callable[[DayTables], DataFrame]] = {
    "attempts": DayTables.ended,
    "job_days": lambda days: days.of_days(job_days(days.all_events())),
    "daily": lambda days: days.of_days(daily(days.all_events(), tagged=days.tagged)),
    "failures": lambda days: failures(days.events),
    "workers": lambda days: workers(days.ended()),
    "throughput": lambda days: throughput(days.events),
    "log_coverage": lambda days: log_coverage(days.events),
    "carried_events": lambda days: carried_events(days.all_events(), days.days, tagged=days.tagged),
}

STORED_TABLES = tuple(_MAKERS)
"""The tables that a rollup stores for each day. The table `attempts` has only ended attempts."""
