"""All tables of some days at once, from their events and what the days before have left."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from headrace.spark.tables.attempts import RUNNING, attempts
from headrace.spark.tables.carry import carry
from headrace.spark.tables.chapters import chapters
from headrace.spark.tables.daily import daily
from headrace.spark.tables.failures import failures
from headrace.spark.tables.spans import spans
from headrace.spark.tables.throughput import throughput
from headrace.spark.tables.workers import workers

STORED = (
    "attempts",
    "chapters",
    "daily",
    "failures",
    "workers",
    "throughput",
    "spans",
    "carry",
)
"""What a rollup builds of each day. The attempts are those that have ended."""


@dataclass(frozen=True, slots=True)
class Told:
    """The events of some days, and those that the day before has left for them, if any.

    tagged: what `count_tagged` says of all that is known, if it was asked.
    """

    events: DataFrame
    carried: DataFrame | None
    days: Sequence[dt.date]
    tagged: int | None = None

    def table(self, name: str) -> DataFrame:
        """A table of these days. Only the plan of this one is made, as plans cost time."""
        return _MAKERS[name](self)

    def running(self) -> DataFrame:
        """The attempts that have not ended yet."""
        return self._attempts().where(F.col("outcome") == RUNNING)

    def known(self) -> DataFrame:
        """All that is known."""
        if self.carried is None:
            return self.events
        return self.events.unionByName(self.carried, allowMissingColumns=True)

    def ended(self) -> DataFrame:
        """The attempts that have ended."""
        return self.of_days(self._attempts().where(F.col("outcome") != RUNNING))

    def _attempts(self) -> DataFrame:
        return attempts(self.known(), tagged=self.tagged)

    def of_days(self, table: DataFrame) -> DataFrame:
        """What a table has of these days."""
        return table.where(F.col("day").isin(*self.days))


_MAKERS: dict[str, Callable[[Told], DataFrame]] = {
    "attempts": Told.ended,
    "chapters": lambda told: told.of_days(chapters(told.known())),
    "daily": lambda told: told.of_days(daily(told.known(), tagged=told.tagged)),
    "failures": lambda told: failures(told.events),
    "workers": lambda told: workers(told.ended()),
    "throughput": lambda told: throughput(told.events),
    "spans": lambda told: spans(told.events),
    "carry": lambda told: carry(told.known(), told.days, tagged=told.tagged),
}
