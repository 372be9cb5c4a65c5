"""throughput: what happened in each queue, minute by minute."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from headrace.spark.tables import words

COUNTED = ("put", "popped", "completed", "failed")


def throughput(events: DataFrame) -> DataFrame:
    """By queue and minute: how many events of the most telling kinds there were."""
    return (
        events.where(words.is_kind(*COUNTED))
        .groupBy("day", "queue", words.minute_of().alias("minute"))
        .agg(*(F.count_if(words.is_kind(kind)).alias(kind) for kind in COUNTED))
        .select("queue", "minute", *COUNTED, "day")
    )
