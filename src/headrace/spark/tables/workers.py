"""workers: what each worker did on a day, and how busy it was."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it


def workers(attempts: DataFrame) -> DataFrame:
    """By worker and day, of the attempts that ended on it.

    A worker is seen from the first of these pops to the last of these ends. Its utilisation is how
    many jobs it held at a time, on average.
    """
    seen = F.unix_millis("last") - F.unix_millis("first")
    return (
        attempts.where(F.col("ended").isNotNull())
        .groupBy("day", "worker")
        .agg(
            F.count("*").alias("attempts"),
            F.count_if(F.col("outcome") == "completed").alias("completed"),
            F.count_if(F.col("outcome") == "failed").alias("failed"),
            F.sum("ran").alias("busy"),
            F.min("began").alias("first"),
            F.max("ended").alias("last"),
            F.sort_array(F.collect_set("queue")).alias("queues"),
        )
        .withColumn("utilisation", F.when(seen > 0, F.col("busy") * 1000 / seen))
        .select(
            "worker",
            "attempts",
            "completed",
            "failed",
            "busy",
            "first",
            "last",
            "utilisation",
            "queues",
            "day",
        )
    )
