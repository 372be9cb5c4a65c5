"""The smaller tables: failures, workers, throughput and log_coverage."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from headrace.spark.tables import expressions

COUNTED = ("put", "popped", "completed", "failed")
"""The kinds of events that the table throughput counts."""


def failures(events: DataFrame) -> DataFrame:
    """Return the failures by queue, day and type, with counts and the last example.

    `job_id` and `message` describe the newest failure.

        failures(events).orderBy("failed", ascending=False).show()
    """
    newest = F.struct("at", "shard", "number")
    return expressions.day_last(
        events.where(expressions.is_kind("failed", "retried") & ~expressions.is_imported())
        .groupBy("queue", "failure", "day")
        .agg(
            F.count_if(expressions.is_kind("failed")).alias("failed"),
            F.count_if(expressions.is_kind("retried")).alias("retried"),
            F.count_distinct("job_id").alias("jobs"),
            F.min("at").alias("first"),
            F.max("at").alias("last"),
            F.max_by("job_id", newest).alias("job_id"),
            F.max_by("message", newest).alias("message"),
        )
    )


def workers(attempts: DataFrame) -> DataFrame:
    """Return the work of each worker and day, from the attempts that ended on that day.

    A worker counts as active from its first start to its last end among these attempts. The
    utilisation of a worker is the average number of jobs that the worker held at the same time.

        workers(attempts(events)).select("worker", "day", "completed").show()
    """
    seen = F.unix_millis(F.max("ended")) - F.unix_millis(F.min("began"))
    return expressions.day_last(
        attempts.where(F.col("ended").isNotNull())
        .groupBy("worker", "day")
        .agg(
            F.count("*").alias("attempts"),
            F.count_if(F.col("outcome") == "completed").alias("completed"),
            F.count_if(F.col("outcome") == "failed").alias("failed"),
            F.sum("ran").alias("busy"),
            F.min("began").alias("first"),
            F.max("ended").alias("last"),
            F.when(seen > 0, F.sum("ran") * 1000 / seen).alias("utilisation"),
            F.sort_array(F.collect_set("queue")).alias("queues"),
        )
    )


def throughput(events: DataFrame) -> DataFrame:
    """Return the number of puts, pops, completions and failures by queue and minute.

    A minute without any of these events has no row.

        throughput(events).orderBy("minute").show()
    """
    return expressions.day_last(
        events.where(expressions.is_kind(*COUNTED))
        .groupBy("queue", expressions.minute_of().alias("minute"), "day")
        .agg(*(F.count_if(expressions.is_kind(kind)).alias(kind) for kind in COUNTED))
    )


def log_coverage(events: DataFrame) -> DataFrame:
    """Return the first and last event number by shard and day, and the number of events.

    `missing` is the number of events that were trimmed from the log before they were read. A gap
    row takes the place of such events.
    """
    last = F.col("number") + F.coalesce("missing", F.lit(1)) - 1
    return expressions.day_last(
        events.groupBy("shard", "day").agg(
            F.min("number").alias("first"),
            F.max(last).alias("last"),
            F.count_if(F.col("missing").isNull()).alias("events"),
            F.coalesce(F.sum("missing"), F.lit(0)).alias("missing"),
        )
    )
