"""chapters: what one day says of a job. The chapters of a job, one after another, are its life."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from headrace.engine.events import OF_JOBS
from headrace.spark.tables import words
from headrace.spark.tables.histories import so_far, tags_told

OF_ANOTHER = -1
"""The size of a payload that was left out and is not the one that is known."""


def chapters(events: DataFrame) -> DataFrame:
    """One row for each job and day, and for each life of its id on that day.

    Each fact stands with the number of the event that tells it, so that the last one is known
    wherever chapters are put together.
    """
    return (
        events.where(words.is_kind(*OF_JOBS))
        .withColumns(_before())
        .groupBy("job_id", "shard", "life", "day")
        .agg(*_facts())
        .drop("life")
    )


@words.made_once
def _before() -> dict[str, Column]:
    """What is known of a job from the events up to each: in which of its lives it is, and since
    when it is with a worker.
    """
    popped_at = F.when(words.is_kind("popped"), words.milliseconds_of())
    return {
        "life": F.count_if(words.begins_life()).over(so_far()),
        "popped_at": F.last(popped_at, ignorenulls=True).over(so_far()),
    }


@words.made_once
def _facts() -> list[Column]:
    is_end = words.ends_attempt()
    held = words.milliseconds_of() - F.col("popped_at")
    fails = words.is_kind("failed", "retried")
    return [
        F.bool_or(words.begins_life()).alias("begins"),
        F.min("number").alias("first"),
        F.max("number").alias("last"),
        F.min_by("queue", "number").alias("first_queue"),
        F.min(F.when(words.begins_life(), F.col("at"))).alias("put_at"),
        F.max("at").alias("seen_at"),
        _last(_state().isNotNull(), _state().alias("state"), F.col("at")).alias("state"),
        _arrivals().alias("arrivals"),
        F.max("attempt").alias("attempts"),
        F.sum(F.when(words.is_kind("popped"), words.at_least_zero(F.col("wait")))).alias("waited"),
        F.sum(F.when(is_end, words.at_least_zero(F.coalesce("run", held)))).alias("ran"),
        _last(F.lit(True), F.col("priority")).alias("priority"),
        _last(tags_told().isNotNull(), tags_told().alias("has_tags")).alias("tags"),
        _last(fails, F.col("failure"), F.col("message")).alias("failure"),
        _last(words.begins_life(), F.col("schedule"), F.col("origin")).alias("source"),
        _last(F.col("data").isNotNull(), F.col("data")).alias("data"),
        _last(F.col("left_out").isNotNull(), _size_left_out()).alias("left_out"),
    ]


def _last(holds: Column, *facts: Column) -> Column:
    """The facts of the last event for which this holds, with its number before them."""
    return F.max_by(F.struct("number", *facts), F.when(holds, F.col("number")))


def _size_left_out() -> Column:
    """Only a put may leave out a payload that is known; any other event does so with a new one."""
    size = F.when(words.is_kind("put"), F.col("left_out"))
    return F.coalesce(size, F.lit(OF_ANOTHER).cast("bigint")).alias("left_out")


def _state() -> Column:
    """The state that an event brings its job into; null if it stays in its own."""
    in_line = F.when(F.col("delay") > 0, "scheduled").otherwise("waiting")
    keeps_place = words.was(words.REPLACED) & ~(F.col("delay") > 0)
    moves_on = words.is_kind("completed") & F.col("next_queue").isNotNull()
    return (
        F.when(words.is_kind("put") & keeps_place, F.lit(None).cast("string"))
        .when(words.is_kind("put", "unlocked", "unfailed", "retried") | moves_on, in_line)
        .when(words.is_kind("due", "released", "lost"), "waiting")
        .when(words.is_kind("popped"), "running")
        .when(words.is_kind("completed"), "complete")
        .when(words.is_kind("blocked", "failed", "cancelled", "expired"), F.col("kind"))
    )


def _arrivals() -> Column:
    """The queues that the job came into, each with the number of the event."""
    comes = F.when(words.is_kind("put") & ~words.was(words.REPLACED), F.col("queue")).when(
        words.is_kind("completed"), F.col("next_queue")
    )
    return F.array_sort(
        F.collect_list(F.when(comes.isNotNull(), F.struct("number", comes.alias("queue"))))
    )
