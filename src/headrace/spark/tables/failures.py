"""failures: what jobs fail with, by queue, day and type."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from headrace.spark.tables import words


def failures(events: DataFrame) -> DataFrame:
    """By queue, day and type: how often jobs were set aside and tried again, and the last one."""
    newest = F.struct("at", "shard", "number")
    return (
        events.where(words.is_kind("failed", "retried") & ~words.is_imported())
        .groupBy("day", "queue", "failure")
        .agg(
            F.count_if(words.is_kind("failed")).alias("failed"),
            F.count_if(words.is_kind("retried")).alias("retried"),
            F.count_distinct("job_id").alias("jobs"),
            F.min("at").alias("first"),
            F.max("at").alias("last"),
            F.max_by(F.struct("job_id", "message"), newest).alias("example"),
        )
        .select(
            "queue",
            "failure",
            "failed",
            "retried",
            "jobs",
            "first",
            "last",
            F.col("example.job_id").alias("job_id"),
            F.col("example.message").alias("message"),
            "day",
        )
    )
