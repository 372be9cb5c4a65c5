"""spans: which events of each shard a day has, to see whether any are missing."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it


def spans(events: DataFrame) -> DataFrame:
    """By shard and day: the first and last number, how many there are, how many known to miss."""
    last = F.col("number") + F.coalesce("missing", F.lit(1)) - 1
    return (
        events.groupBy("day", "shard")
        .agg(
            F.min("number").alias("first"),
            F.max(last).alias("last"),
            F.count_if(F.col("missing").isNull()).alias("events"),
            F.coalesce(F.sum("missing"), F.lit(0)).alias("missing"),
        )
        .select("shard", "first", "last", "events", "missing", "day")
    )
