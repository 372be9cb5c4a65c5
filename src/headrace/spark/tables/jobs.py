"""jobs: one row for each life of a job, from its chapters."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from headrace.spark.tables import words
from headrace.spark.tables.chapters import chapters
from headrace.spark.tables.histories import by_job, tag_list

AT_REST = ("complete", "cancelled", "expired", "failed")
"""The states in which a job has ended; one that is put or tried again has not."""


def jobs(events: DataFrame) -> DataFrame:
    """One row per job and life: when it was put and ended, its state by what is known, its path."""
    return lives(chapters(events))


def lives(told: DataFrame) -> DataFrame:
    """Chapters put together. An id may be used again when its job is gone: each is a life."""
    in_order = by_job().orderBy("first")
    life = F.count_if("begins").over(in_order)
    merged = (
        told.withColumn("life", life)
        .groupBy("shard", "job_id", "life")
        .agg(*_merged())
        .drop("life")
    )
    return merged.select(*_columns())


@words.made_once
def _merged() -> list[Column]:
    told_last = ("state", "priority", "tags", "failure", "source", "data", "left_out")
    return [
        F.min("put_at").alias("put_at"),
        F.max("seen_at").alias("seen_at"),
        F.min_by("first_queue", "first").alias("first_queue"),
        F.array_sort(F.flatten(F.collect_list("arrivals"))).alias("arrivals"),
        F.max("attempts").alias("attempts"),
        F.coalesce(F.sum("waited"), F.lit(0)).alias("waited"),
        F.coalesce(F.sum("ran"), F.lit(0)).alias("ran"),
        *(F.max_by(name, f"{name}.number").alias(name) for name in told_last),
    ]


@words.made_once
def _columns() -> list[Column]:
    path = F.transform("arrivals", lambda arrival: arrival["queue"])
    queues = F.when(F.size("arrivals") > 0, path).otherwise(F.array("first_queue"))
    has_ended = F.col("state.state").isin(*AT_REST)
    # A payload that is put again as it is may be left out of the log: only its size is told.
    is_stale = (F.col("left_out.number") > F.col("data.number")) & (
        F.col("left_out.left_out") != F.octet_length("data.data")
    )
    return [
        F.col("job_id"),
        F.col("shard"),
        F.element_at(queues, -1).alias("queue"),
        queues.alias("queues"),
        F.col("state.state").alias("state"),
        F.col("put_at"),
        F.when(has_ended, F.col("state.at")).alias("ended_at"),
        F.col("seen_at"),
        F.col("attempts"),
        (F.col("waited") / 1000).alias("waited"),
        (F.col("ran") / 1000).alias("ran"),
        F.col("priority.priority").alias("priority"),
        tag_list("tags.has_tags").alias("tags"),
        F.col("failure.failure").alias("failure"),
        F.col("failure.message").alias("message"),
        F.col("source.schedule").alias("schedule"),
        F.col("source.origin").alias("origin"),
        F.when(~F.coalesce(is_stale, F.lit(False)), F.col("data.data")).alias("data"),
        words.day_of("put_at").alias("day"),
    ]
