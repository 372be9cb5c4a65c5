"""The table carried_events: events of a day that later days need, open pops and tags."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from headrace.spark.tables import expressions
from headrace.spark.tables.expressions import by_job, has_tags

CARRIED_COLUMNS = (
    "shard",
    "number",
    "at",
    "kind",
    "job_id",
    "queue",
    "attempt",
    "worker",
    "priority",
    "wait",
    "run",
    "tags",
    "delay",
    "failure",
    "message",
    "reason",
    "next_queue",
    "from_queue",
    "was",
)
"""The columns of an event that the tables of later days need."""


def carried_events(
    events: DataFrame, days: Sequence[dt.date], *, tagged: int | None = None
) -> DataFrame:
    """Return the events to carry over after each of these days, which is the column `day`.

    The tables of later days are the same with these events as with all earlier ones. tagged is the
    result of `count_tagged`, if it is known.
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
    """Return the events that open something, with the day on which it closes or opens again."""
    of_both = events.where(opens | closes)
    return of_both.withColumn("until", F.lead("day").over(by_job())).where(opens)
