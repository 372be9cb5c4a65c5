"""The smaller tables: failures, workers, throughput and log_coverage."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from headrace.spark.tables import expressions

COUNTED = ("put", "popped", "completed", "failed")
"""The kinds of events that the table throughput counts."""


def failures(events: DataFrame) -> DataFrame:
    """Return the failures by queue, day and type, with counts and the last example."""
    newest = F.struct("at", "shard", "number")
    return (
        events.where(expressions.is_kind("failed", "retried") & ~expressions.is_imported())
        .groupBy("day", "queue", "failure")
        .agg(
            F.count_if(expressions.is_kind("failed")).alias("failed"),
            F.count_if(expressions.is_kind("retried")).alias("retried"),
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


def workers(attempts: DataFrame) -> DataFrame:
    """Return the work of each worker and day, from the attempts that ended on this day.

    A worker is seen from the first pop of these attempts to the last end. Its utilisation is the
    average number of jobs that it held at a time.
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


def throughput(events: DataFrame) -> DataFrame:
    """Return the number of puts, pops, completions and failures by queue and minute."""
    return (
        events.where(expressions.is_kind(*COUNTED))
        .groupBy("day", "queue", expressions.minute_of().alias("minute"))
        .agg(*(F.count_if(expressions.is_kind(kind)).alias(kind) for kind in COUNTED))
        .select("queue", "minute", *COUNTED, "day")
    )


def log_coverage(events: DataFrame) -> DataFrame:
    """Return the first and last event number by shard and day, with the events and the gaps.

    `missing` counts the events that gap rows stand for.
    """
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
