"""carry: the events of a day that later days need: pops that have no end yet, and tags."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from headrace.spark.tables import words
from headrace.spark.tables.histories import by_job, tells_tags

KEPT = (
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
"""What is kept of an event; the tables need no more of one that happened on an earlier day."""


def carry(events: DataFrame, days: Sequence[dt.date], *, tagged: int | None = None) -> DataFrame:
    """What is to be known after each of these days; `day` is the one after which.

    The tables of what comes later are the same over these events as over all that were before.
    tagged: what `count_tagged` says, if it is known.
    """
    kept = _told(events, words.is_kind("popped"), words.ends_attempt())
    if tagged != 0:
        other_tags = words.is_kind("put", "tagged") | words.ends_life()
        kept = kept.unionByName(_told(events, tells_tags(), other_tags))
    each_day = F.filter(
        F.array(*(F.lit(day) for day in days)),
        lambda day: (day >= F.col("day")) & (F.col("until").isNull() | (day < F.col("until"))),
    )
    return kept.select(*words.columns(*KEPT), F.explode(each_day).alias("day")).distinct()


def _told(events: DataFrame, holds: Column, ends: Column) -> DataFrame:
    """The events of which something holds, until the day on which it ends or holds anew."""
    of_both = events.where(holds | ends)
    return of_both.withColumn("until", F.lead("day").over(by_job())).where(holds)
